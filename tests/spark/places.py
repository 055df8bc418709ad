"""A folder with deliveries and a store, and reports over them that are planned and executed.

All of it through files, pins, manifests, plans, executor and commits, on the engine that it is
given. With the statistics of a dozen rows nothing would be kept, so sources claim to be large, and
to start applications costs nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.past.repair import Repair, begin_repair, find_repair
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs import day_request
from forerun.include.runs import prepare as days
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.sources.statistics import to_source
from forerun.include.state.layout import Generation
from forerun.include.state.records import Pin, RunCommit
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import Settings, Source, TimePoint
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.executor import execute
from tests.oracles.bags import compare_bags
from tests.oracles.values import Row
from tests.planner.starts import OPEN
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session
from tests.spark.days import rows_of

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, 1, 0, tzinfo=dt.UTC)
ROWS = 50_000_000
SALES = (
    ColumnSpec(name="o", type="BIGINT"),
    ColumnSpec(name="cat", type="STRING"),
    ColumnSpec(name="price", type="BIGINT"),
)
RETURNS = (ColumnSpec(name="o", type="BIGINT"), ColumnSpec(name="cost", type="BIGINT"))
FIRST = """
SELECT s.cat, sum(s.price) AS price, sum(r.cost) AS cost
FROM sales s JOIN returns r ON s.o = r.o WHERE s.price > 0 GROUP BY s.cat
"""


@dataclass
class Place:
    """A folder with deliveries and a store; reports are made of their SQL."""

    folder: Path
    engine: Engine
    delivered: dict[str, list[Row]] = field(default_factory=dict)
    changes: dict[str, dict[str, object]] = field(default_factory=dict)
    arrived: tuple[float, ...] = (0.9, 1.0)
    settings: Settings = field(default_factory=lambda: Settings(buckets=2, prices=OPEN))

    @property
    def uri(self) -> str:
        return str(self.folder / "store")

    def delivery(self, table: str) -> str:
        """The folder in which a table's files arrive."""
        return str(self.folder / "in" / table)

    def deliver(self, number: int, sales: list[Row], returns: list[Row]) -> None:
        for name, columns, rows in (("sales", SALES, sales), ("returns", RETURNS, returns)):
            self.write(number, name, columns, rows)
            self.delivered.setdefault(name, []).extend(rows)

    def write(
        self, number: int, table: str, columns: Sequence[ColumnSpec], rows: Sequence[Row]
    ) -> None:
        kinds = {"BIGINT": pa.int64(), "STRING": pa.string()}
        schema = pa.schema([(c.name, kinds[c.type]) for c in columns])
        values = [[row[i] for row in rows] for i in range(len(columns))]
        data = pa.BufferOutputStream()
        pq.write_table(pa.table(values, schema=schema), data)
        arrived = open_store(self.delivery(table))
        arrived.put(f"{number}.parquet", data.getvalue().to_pybytes())

    def spec(self, name: str, sql: str) -> ReportSpec:
        sources = tuple(
            SourceSpec(
                name=table,
                path=self.delivery(table),
                **{
                    "columns": columns,
                    "complete_when": ClockTime(),
                    **self.changes.get(f"{name}.{table}", {}),
                },
            )
            for table, columns in (("sales", SALES), ("returns", RETURNS))
        )
        early = (
            RunTime(at=f"{12 + i}:00", weight=0.25 * (i + 1)) for i in range(len(self.arrived) - 1)
        )
        policy = RunPolicy(runs=(*early, RunTime(at="24:00")))
        more = {"policy": policy, **self.changes.get(name, {})}
        return ReportSpec(name=name, sql=sql, sources=sources, **more)

    def open(self, name: str, sql: str, trigger: str = "first") -> Generation:
        spec = self.spec(name, sql)
        return days.open_generation(self.uri, spec, DAY, trigger=trigger, now=NOW).at

    def plan(self, at: Generation, sql: str, run: int, **more: object) -> days.PreparedRun:
        points = tuple(
            TimePoint(weight=run.weight, arrived=share)
            for run, share in zip(self.spec(at.report, sql).policy.runs, self.arrived, strict=True)
        )
        with mock.patch.object(day_request, "to_source", pretended):
            return days.prepare_run(
                Day(open_store(self.uri), self.spec(at.report, sql), at), run,
                now=NOW, points=points, settings=self.settings, **more,
            )  # fmt: skip

    def do(self, prepared: days.PreparedRun, attempt: str = "a1") -> RunCommit:
        return execute(self.engine, StoredPlan.read(prepared.plan_uri), attempt)

    def run(self, at: Generation, sql: str, run: int, **more: object) -> RunCommit | None:
        """Plan and do a run; None for one with nothing to do, such as one before which nothing
        came."""
        prepared = self.plan(at, sql, run, **more)
        return None if prepared.skip_reason else self.do(prepared)

    def check(self, commit: RunCommit, sql: str, *, least: int = 2) -> None:
        """The result is that of the plain query over all that was delivered."""
        plain = PlainSailEngine(sail_session())
        for name, columns in (("sales", SALES), ("returns", RETURNS)):
            typed = tuple((c.name, c.type) for c in columns)
            plain.bind(name, typed, tuple(self.delivered[name]))
        expected = plain.query(sql)
        assert len(expected) >= least
        compare_bags(expected, rows_of(open_store(self.uri), commit.result), magnitude=1e4)


def published(place: Place, **declared: object) -> None:
    """Run a day of ``FIRST`` twice, over sources as declared, keep what a repair needs, publish."""
    place.changes = {f"sold.{name}": declared for name in ("sales", "returns")}
    place.changes["sold"] = {"policy": RunPolicy(
        runs=(RunTime(at="12:00", weight=0.3), RunTime(at="24:00")), expected_repairs=1.0
    )}  # fmt: skip
    at = place.open("sold", FIRST)
    for run in (1, 2):
        place.deliver(run, [(1, "a", 5), (2, "b", 7), (run, "c", 1)], [(1, 10), (2, 20)])
        place.run(at, FIRST, run, method="progressive")
    days.publish_result(Day(open_store(place.uri), place.spec("sold", FIRST), at), now=NOW)


def found_repair(place: Place) -> Repair:
    """The repair of the published day, over what its sources hold by now."""
    settings = Settings(temporal="early", buckets=2, prices=replace(SPARK, buckets=False))
    with mock.patch.object(day_request, "to_source", pretended):
        return find_repair(
            open_store(place.uri), place.spec("sold", FIRST), DAY, now=NOW, settings=settings
        )


def check_repaired(place: Place, repair: Repair) -> None:
    """What goes on from what was kept gives what the plain query over all rows gives."""
    by_delta = replace(repair, plans=tuple(way for way in repair.plans if way.is_delta))
    assert by_delta.plans, "what was kept cannot be gone on from"
    place.check(place.do(begin_repair(by_delta, now=NOW), "r1"), FIRST, least=1)


def pretended(source: SourceSpec, pin: Pin, arrived: float) -> Source:
    found = to_source(source, pin, arrived)
    rows = ROWS if source.name == "sales" else ROWS // 5
    return replace(found, rows=rows, bytes=rows * 24, stats=())
