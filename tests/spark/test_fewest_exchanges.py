"""Exchanges, scans and jobs of the runs of TPC-H days on Spark, beside the fewest there can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from forerun.include.engines import ENGINES
from forerun.planner.request import TimePoint
from forerun.simulation.day import simulate
from forerun.simulation.deliveries import parse_correlation
from forerun.simulation.running import InProcessRunner, Used
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from forerun.spark_jobs.engines import spark as classic
from tests.spark.executed_plans import Executed, Watched
from tests.tpch.at_scale_10 import SMALLER, as_at_scale_10
from tests.tpch.days import ARRIVED, WEIGHTS, generate

pytestmark = pytest.mark.spark
TEXTS = Path(__file__).resolve().parents[1] / "tpch"
QUICK = ("q01", "q03", "q06", "q17")
FEWEST = {
    "q01": (2, 2, 3),
    "q03": (1, 1, 2),
    "q04": (0, 0, 4),
    "q05": (1, 2, 6),
    "q06": (1, 1, 2),
    "q10": (1, 1, 5),
    "q13": (1, 1, 4),
    "q17": (0, 0, 2),
    "q18": (1, 1, 2),
    "q21": (2, 2, 3),
}
"""Exchanges of each run, derived by hand for the plan that the prices choose: what is kept by a key
is exchanged once, and so is what meets it; groups once, new rows together with kept states; a sort
once. Sums of products by few-valued factors (Q1) are grouped twice, which saves multiplying
each row; not those of so few rows as Q5 and Q6 let through."""
ABOVE = {
    "q01": 1,  # sums by factors are added up by group before they meet the kept states
    "q17": 1,  # Spark exchanges lines before it knows how few there are
}
"""How many exchanges a final run has more than that, and why."""
TWICE = {
    "q17": {"lineitem", "part"},
    "q21": {"lineitem"},
}
"""What runs read twice: Q17 keeps two selections of its lines, each
by its own look at the parts; Q21 two of its lines, and in the final run it reads all lines for
other suppliers of an order."""


class WatchedRunner(InProcessRunner):
    """Says what each run has executed; the plain query, which comes last, is the last one."""

    def __init__(self, started: classic.SparkEngine) -> None:
        super().__init__(ENGINES["spark"], started)
        self.watched = Watched(started.session)
        self.runs: list[Executed] = []

    def run(self, plan_uris: Sequence[str], name: str, **how: Any) -> Used:
        self.watched.work()
        used = super().run(plan_uris, name, **how)
        self.runs.append(self.watched.work())
        return used


def runs_of(engine: Any, tables: Mapping[str, Any], work: Path, query: str) -> list[Executed]:
    """What the runs of a day execute, every early one opened. The plain query is left out."""
    runner = WatchedRunner(engine)
    what = Simulation(
        name=query,
        sql=(TEXTS / f"{query}.sql").read_text().replace("MED BOX", "JUMBO PACK"),
        tables=tables,
        changing=frozenset(("orders", "lineitem", "customer")),
        points=tuple(
            TimePoint(weight=weight, arrived=share)
            for weight, share in zip(WEIGHTS, ARRIVED, strict=True)
        ),
        correlations=(parse_correlation("lineitem.l_orderkey=orders.o_orderkey"),),
        seed=1,
        work=work,
        store=str(work / "store"),
        method="progressive",
    )
    with as_at_scale_10():
        day = simulate(what, runner, lambda _text: None, lambda _rows: None)
    assert day.equal
    return runner.runs[: len(ARRIVED)]


@pytest.mark.parametrize(
    "query",
    [pytest.param(q, marks=() if q in QUICK else pytest.mark.slow) for q in FEWEST],
)
def test_a_run_moves_and_reads_rows_no_more_often_than_it_must(engine, tables, tmp_path, query):
    runs = runs_of(engine, tables, tmp_path, query)
    *early, final = FEWEST[query]
    above = ABOVE.get(query, 0)
    assert [run.exchanges for run in runs] == [*early, final + above], "fewer? say so; more? why?"
    for run in runs:
        again = {name for name, times in run.scans.items() if times > 1 and name in tables}
        assert again <= TWICE.get(query, set())
        # A job for each exchange and each output, one that finds the bounds of a sort, and at
        # most three that compute and count a small side and take it into the plan.
        done = run.exchanges + run.broadcasts + run.writes + run.sorts
        assert run.jobs <= done + 3 * run.sides


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder)
    return find_tables(folder)


@pytest.fixture(scope="module")
def engine(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[classic.SparkEngine]:
    """Spark, for which data are large a thousand times sooner."""
    session = spark.session.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", str((10 << 20) // SMALLER))
    session.conf.set("spark.sql.shuffle.partitions", "3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classic, "_SENT", classic._SENT // SMALLER)
        yield classic.SparkEngine(session, tmp_path_factory.mktemp("engine"))
