"""A store as many reports leave it after many nights: real plans, and records that the real code
encodes. Only what runs measured is made up, from their estimates.

``python -m tests.benchmarks stored_nights FOLDER --reports 200 --days 90`` makes one and says how
long the pages take over it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path

from fastapi import FastAPI

from forerun.include.reports.run_policy import Retries, RunPolicy, RunTime
from forerun.include.reports.spec import MarkerFile, ReportSpec, SourceSpec
from forerun.include.runs.prepare import open_generation
from forerun.include.state.layout import history_key, pin_key, pointer_key, source_id
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import (
    ArtifactFile,
    ArtifactPartition,
    CheckRecord,
    Manifest,
    ManifestSource,
    OpenedBy,
    Pin,
    PinnedFile,
    RunCommit,
    RunMetrics,
    StageMetrics,
    encode,
)
from forerun.include.stores import file_store
from forerun.include.stores.file_store import FileStore
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract import ColumnSpec, Plan, encode_plan
from forerun.planner.contract.plan_v1 import ArtifactOutput
from forerun.planner.request import Committed, PlanRequest, Source, SourceColumn, TimePoint
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table

WEIGHTS = (0.25, 0.3, 1.0)
POLICY = RunPolicy(
    runs=tuple(
        RunTime(at=at, weight=w) for at, w in zip(("14:00", "20:00", "26:00"), WEIGHTS, strict=True)
    ),
    cores=8,
)
ARRIVED = (0.56, 0.81, 1.0)
ROWS = {"clicks": 240_000_000, "orders": 18_000_000, "customers": 1_500_000}
COLUMNS = {
    "clicks": ("click_id BIGINT", "customer BIGINT", "page STRING", "spent DECIMAL(15,2)"),
    "orders": ("order_id BIGINT", "customer BIGINT", "amount DECIMAL(15,2)", "channel STRING"),
    "customers": ("id BIGINT", "segment STRING", "country STRING"),
}
QUERIES = {
    "revenue_by_channel": "SELECT channel, sum(amount) AS revenue, count(*) AS n FROM orders "
    "GROUP BY channel",
    "clicks_by_segment": "SELECT segment, sum(spent) AS spent, count(*) AS clicks FROM clicks "
    "JOIN customers ON customer = id GROUP BY segment",
    "buyers_by_country": "SELECT country, count(*) AS buyers, sum(total) AS total FROM (SELECT "
    "customer, sum(amount) AS total FROM orders GROUP BY customer) AS o JOIN customers ON "
    "o.customer = id GROUP BY country",
}
SUBJECTS = ("web", "app", "shop", "partner", "nordics", "dach", "iberia", "b2b", "loyalty", "ads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """How far a day has come by now: ``runs`` are committed; the final one is ``published``, or
    not. ``marked``: the sources say that they are complete. ``critical`` and ``warnings`` count
    expectations that did not hold; ``late`` is what the final run took more, in seconds."""

    runs: int = 3
    published: bool = True
    marked: bool = True
    critical: int = 0
    warnings: int = 0
    incomplete: tuple[tuple[str, str], ...] = ()
    late: float = 0.0
    planned: bool = True
    """The run after the committed ones is planned."""


def source_of(folder: Path, name: str) -> SourceSpec:
    return SourceSpec(
        name=name,
        path=str(folder / "arrived" / name / "{ds}"),
        columns=tuple(ColumnSpec(name=c.split()[0], type=c.split()[1]) for c in COLUMNS[name]),
        complete_when=MarkerFile(),
        arrival="static" if name == "customers" else "growing",
    )


def report_of(folder: Path, kind: str, name: str) -> ReportSpec:
    sql = QUERIES[kind]
    return ReportSpec(
        name=name,
        description=f"{kind.replace('_', ' ').capitalize()}.",
        sources=tuple(source_of(folder, s) for s in COLUMNS if f" {s}" in sql),
        policy=POLICY,
        sql=sql,
        deadline="30:00",
        store=str(folder / "store"),
    )


@cache
def plans(kind: str) -> tuple[Plan, ...]:
    """The plans of the runs of a day, as the planner makes them from what is committed."""
    sql = QUERIES[kind]
    committed: list[Committed] = []
    found = []
    for run in range(1, 4):
        sources = tuple(
            Source(
                name=name,
                columns=tuple(
                    SourceColumn(name=c.split()[0], type=parse_type(c.split()[1]), nullable=True)
                    for c in columns
                ),
                changing=name != "customers",
                rows=round(ROWS[name] * (ARRIVED[run - 1] if name != "customers" else 1)),
                bytes=ROWS[name] * 40,
            )
            for name, columns in COLUMNS.items()
            if f" {name}" in sql
        )
        points = tuple(
            TimePoint(weight=w, arrived=a) for w, a in zip(WEIGHTS, ARRIVED, strict=True)
        )
        made = plan(
            PlanRequest(
                report="kind",
                sql=sql,
                sources=sources,
                points=points,
                current=run,
                committed=tuple(committed),
            )
        ).plan
        found.append(made)
        wrote = {s.output.family for s in made.run.stages if isinstance(s.output, ArtifactOutput)}
        if made.run.opened and made.run.stages:
            families = tuple(f for f in made.families if f.id in wrote)
            committed.append(Committed(index=run, families=families, bytes=10**8))
    return tuple(found)


class DayWriter:
    """Writes a day of a report, run by run, as planning, running and publishing leave it."""

    def __init__(
        self, store: FileStore, spec: ReportSpec, kind: str, day: date, fate: Fate
    ) -> None:
        self.store, self.spec, self.kind, self.day, self.fate = store, spec, kind, day, fate
        self.random = random.Random(f"{spec.name}{day}")
        self.scale = self.random.uniform(0.92, 1.08)
        self.points = spec.points(day)

    def write(self, group: str) -> None:
        spec, midnight = self.spec, self.points[0] - timedelta(hours=14)
        run_id = f"scheduled__{midnight.isoformat()}"
        opened_by = OpenedBy(
            dag_id=group or spec.name,
            run_id=run_id,
            mode="auto",
            group=group,
            retries=Retries(count=2, pauses_s=60.0),
        )
        trigger = f"{opened_by.dag_id}/{run_id}/1"
        self.at = open_generation(
            spec.store, spec, self.day, trigger=trigger, now=midnight, opened_by=opened_by
        ).at
        base = 0
        for run in range(1, 4):
            done, planned = run <= self.fate.runs, self.fate.planned and run == self.fate.runs + 1
            made = replace(plans(self.kind)[run - 1], report=spec.name)
            if not (done or planned):
                continue
            key = self.at.plan(run, f"{self.random.getrandbits(48):012x}")
            self._manifest(run, base)
            self.store.put(key, encode_plan(made))
            stored = self.points[run - 1].timestamp() + 10
            os.utime(self.store.path(key), (stored, stored))
            if done and made.run.opened and made.run.stages:
                commit = self._commit(run, base, made, key)
                base = run
        if self.fate.runs == 3 and self.fate.published:
            self._publish(commit)

    def _manifest(self, run: int, base: int) -> None:
        sources = tuple(
            ManifestSource(
                name=s.name,
                pin=self._pin(s, run),
                base_pin=self._pin(s, base) if base else "",
                columns=s.columns,
                changing=s.arrival == "growing",
            )
            for s in self.spec.sources
        )
        manifest = Manifest(
            report=self.at.report,
            day=self.at.day,
            generation=self.at.generation,
            run=run,
            base=base,
            final=run == 3,
            created_at=self.points[run - 1].isoformat(),
            sources=sources,
            incomplete=self.fate.incomplete if run == 3 else (),
        )
        self.store.put(self.at.manifest(run), encode(manifest))

    def _pin(self, source: SourceSpec, run: int) -> str:
        name, day = source_id(source.name, source.path, source.format), self.day.isoformat()
        key = pin_key(name, day, run)
        share = ARRIVED[run - 1] if source.arrival == "growing" else 1.0
        rows = round(ROWS[source.name] * share * random.Random(day).uniform(0.9, 1.1))
        file = PinnedFile(uri=f"file:///{name}/{day}", size=rows * 40, identity="1", rows=rows)
        pin = Pin(
            source=name,
            name=source.name,
            day=day,
            number=run,
            path=source.path_on(self.day),
            format=source.format,
            pinned_at=self.points[run - 1].isoformat(),
            files=(file,),
        )
        self.store.put_if_absent(key, encode(pin))
        return key

    def _commit(self, run: int, base: int, made: Plan, key: str) -> RunCommit:
        took = [stage.estimated_cost / 1e6 * self.scale for stage in made.run.stages]
        cpu = sum(took)
        wall = 16 + cpu / 5 + (self.fate.late if run == 3 else 0)
        stages = tuple(
            StageMetrics(
                stage=stage.id,
                rows=round(stage.estimated_rows * self.scale),
                executor_cpu_s=one,
                wall_s=one / 5,
                source_rows_read=stage.estimated_rows * 3,
                bytes_read=stage.estimated_rows * 90,
            )
            for stage, one in zip(made.run.stages, took, strict=True)
        )
        parts = tuple(
            ArtifactPartition(
                family=s.output.family if isinstance(s.output, ArtifactOutput) else "result",
                run=run,
                attempt="t1-4f1a9c02",
                folder=self.at.artifact(s.id, run, "t1-4f1a9c02"),
                files=(ArtifactFile(name="part-0", size=s.estimated_rows * 24),),
                rows=round(s.estimated_rows * self.scale),
                columns=(),
            )
            for s in made.run.stages
        )
        checks = ()
        if run == 3:
            checks = (
                CheckRecord(target="result", key=f"{self.at.checks(3, 't1-4f1a9c02')}/result.json",
                            critical=self.fate.critical, warnings=self.fate.warnings),
            )  # fmt: skip
            self._findings(checks[0])
        commit = RunCommit(
            run=run,
            base=base,
            attempt="t1-4f1a9c02",
            plan=key,
            committed_at=(self.points[run - 1] + timedelta(seconds=wall + 25)).isoformat(),
            artifacts=tuple(part for part in parts if part.family != "result"),
            result=next((part for part in parts if part.family == "result"), None),
            checks=checks,
            metrics=RunMetrics(
                stages=stages,
                executor_cpu_s=cpu,
                process_cpu_s=cpu + 14.5,
                wall_s=wall,
                source_rows_read=sum(one.source_rows_read for one in stages),
                state_rows_read=sum(one.rows for one in stages) if base else 0,
            ),
        )
        self.store.put(self.at.commit(run), encode(commit))
        self.store.put(history_key(self.at, run), encode(self._entry(run, made, commit)))
        return commit

    def _findings(self, check: CheckRecord) -> None:
        sentence = "expect_column_values_to_be_between(column='revenue', min_value=0)"
        found = [
            {
                "severity": "critical" if number < check.critical else "warning",
                "outcome": "failed",
                "sentence": f"{sentence}: failed, 3 of 12 rows",
                "rows": [{"channel": "partner", "revenue": -120}],
            }
            for number in range(check.critical + check.warnings)
        ]
        self.store.put(check.key, json.dumps({"findings": found}).encode())

    def _entry(self, run: int, made: Plan, commit: RunCommit) -> LedgerEntry:
        seen = random.Random(self.day.isoformat()).uniform(0.9, 1.1)
        return LedgerEntry(
            report=self.at.report,
            day=self.at.day,
            generation=self.at.generation,
            run=run,
            weight=WEIGHTS[run - 1],
            estimated_cost=made.run.estimated_cost,
            batch_cost=made.batch_cost,
            executor_cpu_s=commit.metrics.executor_cpu_s,
            process_cpu_s=commit.metrics.process_cpu_s,
            wall_s=commit.metrics.wall_s,
            arrived=tuple(
                (s.name, round(ROWS[s.name] * seen * (1 if s.arrival != "growing" else part)))
                for s in self.spec.sources
                for part in (ARRIVED[run - 1],)
            ),
            state_bytes=10**7,
            committed_at=commit.committed_at,
            method=made.method,
        )

    def _publish(self, commit: RunCommit) -> None:
        version = f"{self.at.generation}-3-{commit.attempt}"
        at = datetime.fromisoformat(commit.committed_at) + timedelta(seconds=40)
        pointer = Pointer(
            report=self.at.report,
            day=self.at.day,
            version=version,
            generation=1,
            run=3,
            folder=self.store.uri(f"results/{self.at.report}/{self.at.day}/{version}"),
            files=(),
            rows=commit.result.rows if commit.result else 0,
            published_at=at.isoformat(),
            incomplete=self.fate.incomplete,
        )
        self.store.put(pointer_key(self.at.report, self.at.day), encode(pointer))


def fates(reports: int) -> Iterator[Fate]:
    """How tonight goes, at 03:10: most are well, and every state that needs somebody is there."""
    missing = (("orders", "no _SUCCESS"),)
    special = [
        Fate(runs=2, marked=False),
        Fate(runs=2, marked=False, planned=False),
        Fate(runs=3, published=False, critical=1),
        Fate(runs=3, incomplete=missing),
        Fate(runs=2, planned=False),
        Fate(runs=1, planned=False),
        Fate(runs=3, warnings=2),
        Fate(runs=2),
    ]
    yield from special[:reports]
    yield from (Fate() for _ in range(reports - len(special)))


def names(reports: int) -> list[tuple[str, str, str]]:
    """Reports by name, with their query and group: every tenth four of them run together."""
    kinds = list(QUERIES)
    found = []
    for number in range(reports):
        kind = kinds[number % len(kinds)]
        subject = SUBJECTS[number // len(kinds) % len(SUBJECTS)]
        turn = number // (len(kinds) * len(SUBJECTS))
        name = f"{subject}_{kind}" + (f"_{turn + 1}" if turn else "")
        group = "shop_night" if 8 <= number < 12 else ""
        found.append((name, kind, group))
    return found


def make_nights(folder: Path, reports: int, days: int, tonight: date) -> FileStore:
    """Write the nights of so many reports, of which the last one is still going on."""
    store = FileStore(folder / "store")
    for (name, kind, group), fate in zip(names(reports), fates(reports), strict=True):
        spec = report_of(folder, kind, name)
        if not fate.marked:
            own = replace(
                spec.sources[0], path=str(folder / "late" / spec.sources[0].name / "{ds}")
            )
            spec = replace(spec, sources=(own, *spec.sources[1:]))
        for back in range(days - 1, -1, -1):
            day = tonight - timedelta(days=back)
            for source in spec.sources:
                marker = Path(source.path_on(day).removeprefix("file://")) / "_SUCCESS"
                if fate.marked or back or source is not spec.sources[0]:
                    marker.parent.mkdir(parents=True, exist_ok=True)
                    marker.touch()
            DayWriter(store, spec, kind, day, Fate() if back else fate).write(group)
    return store


def without_flushing() -> None:
    """Nobody needs the files of a benchmark after a power cut."""
    file_store._flush_file = lambda path: None


def source_names(store: FileStore, report: str) -> list[str]:
    """The sources of a report of the store."""
    from forerun.include.oncall.catalogue import newest_spec

    spec = newest_spec(store, report)
    return [source.name for source in spec.sources] if spec else []


def served(folder: Path, now: datetime) -> FastAPI:
    """Return the pages over a store as it is at an instant, from which on time passes: all may be
    seen by whoever asks, and Airflow, which is not there, is well."""
    from forerun.airflow.pages.access import changeable_dags, readable_dags
    from forerun.airflow.pages.airflow_api import airflow_condition
    from forerun.airflow.pages.app import make_app
    from forerun.include.oncall.airflow_condition import AirflowCondition
    from forerun.include.oncall.catalogue import known_reports
    from forerun.include.oncall.night.reader import NightReader

    store, began = FileStore(folder / "store"), time.monotonic()

    def clock() -> datetime:
        return now + timedelta(seconds=time.monotonic() - began)

    app = make_app(NightReader(store, clock=clock), clock)
    known = known_reports(store)
    for dags in (readable_dags, changeable_dags):
        app.dependency_overrides[dags] = lambda: frozenset(one.dag_id for one in known)
    app.dependency_overrides[airflow_condition] = lambda: AirflowCondition(now=clock())
    return app


def answers(folder: Path, now: datetime, asks: int) -> dict[str, list[float]]:
    """Seconds that each page took, the very first answer under ``cold``."""
    from starlette.testclient import TestClient

    from forerun.include.oncall.catalogue import known_reports

    store = FileStore(folder / "store")
    known = known_reports(store)
    client = TestClient(served(folder, now))
    day = (now - timedelta(hours=12)).date()

    def timed(path: str) -> float:
        started = time.perf_counter()
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        assert "cannot be read" not in answer.text
        return time.perf_counter() - started

    def first(path: str) -> list[float]:
        asked = time.perf_counter()
        while client.get(path).status_code == 503:  # it is read in the background
            time.sleep(0.1)
        return [time.perf_counter() - asked]

    took = {"cold": first("/")}
    took["night"] = []
    for _ in range(asks):  # slowly, so that the night is read anew again and again meanwhile
        took["night"].append(timed("/"))
        time.sleep(0.4)
    some = [known[number % len(known)].name for number in range(asks)]
    took["day"] = [timed(f"/days/{name}/{day}") for name in some]
    took["report"] = [timed(f"/reports/{name}") for name in some]
    took["plan"] = [timed(f"/days/{name}/{day}/plan") for name in some]
    took["source"] = [
        timed(f"/days/{name}/{day}/sources/{source}")
        for name in some
        for source in source_names(store, name)[:1]
    ]
    for page in ("savings", "state", "arrivals", "schedule"):
        took[f"{page}, first"] = first(f"/{page}")
        took[page] = [timed(f"/{page}") for _ in range(asks)]
    old = day - timedelta(days=60)
    if store.folders(f"reports/{some[0]}/{old}"):
        took["old day"] = [timed(f"/days/{name}/{old}") for name in some[: asks // 2]]
    return took


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reports", type=int, default=200)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--asks", type=int, default=60)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the store of so many nights, which is made if it is not there."""

    def measure(_found: Found) -> Figures:
        without_flushing()
        if not given.folder.exists():
            make_nights(given.folder, given.reports, given.days, date(2026, 3, 14))
        return {
            "seconds": answers(given.folder, datetime(2026, 3, 15, 3, 10, tzinfo=UTC), given.asks)
        }

    under = f"{given.reports} reports, {given.days} days, {given.asks} asks"
    yield Cell(name=("pages",), under=under, measure=measure)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield how long each page takes."""
    rows = []
    for page, took in found["pages",]["seconds"].items():
        middle, worst = statistics.median(took), sorted(took)[int(0.95 * (len(took) - 1))]
        rows.append((page, f"{1000 * middle:.1f}", f"{1000 * worst:.1f}"))
    yield from table(("page", "median ms", "p95 ms"), rows)


BENCHMARK = Benchmark(cells=cells, lines=lines)
