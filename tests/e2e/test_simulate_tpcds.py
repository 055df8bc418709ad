"""The public TPC-DS queries as days on the small engine: equal to batch.

Texts and generator are fetched, so this needs the registries, and ten minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.errors import ForerunError
from forerun.planner.request import TimePoint
from forerun.simulation.day import simulate
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.running import Runner, open_runner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks import tpcds
from tests.selection import need_all

pytestmark = pytest.mark.slow
POINTS = (
    TimePoint(weight=0.25, arrived=0.58),
    TimePoint(weight=0.3, arrived=0.79),
    TimePoint(weight=1.0),
)
SCALE = 0.01
DIVIDE_BY_ZERO = {"q12", "q90", "v27-q12"}
"""At this scale the plain query divides by zero (a day of one run is the plain query); so must the
day of three."""
EARLY_WORK: dict[str, bool] = {}


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return find_tables(tpcds.tables(SCALE))


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return tpcds.queries()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with open_runner("sail", tmp_path_factory.mktemp("logs"), "local[1]") as started:
        yield started


@pytest.fixture(scope="module")
def incoming(tables: dict[str, Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The deliveries, split once for all queries."""
    folder = tmp_path_factory.mktemp("incoming")
    together = tuple(parse_correlation(text) for text in tpcds.TOGETHER)
    splitter = Splitter(tables, tuple(p.arrived for p in POINTS), 1, together)
    for name in sorted(tpcds.FACTS):
        splitter.write(name, folder / name)
    return folder


@pytest.mark.parametrize("name", tpcds.NAMES)
def test_the_day_gives_the_batch_result(
    name: str,
    queries: dict[str, str],
    tables: dict[str, Table],
    incoming: Path,
    runner: Runner,
    tmp_path: Path,
) -> None:
    what = Simulation(
        name=name.replace("-", "_"),
        sql=queries[name],
        tables=tables,
        changing=tpcds.FACTS,
        points=POINTS,
        correlations=tuple(parse_correlation(text) for text in tpcds.TOGETHER),
        seed=1,
        work=tmp_path,
        store=str(tmp_path / "store"),
        incoming=incoming,
        method="progressive",
    )
    if name in DIVIDE_BY_ZERO:
        store = str(tmp_path / "plain" / "store")
        plain = replace(
            what, points=POINTS[-1:], incoming=None, work=tmp_path / "plain", store=store
        )
        for case in (what, plain):
            with pytest.raises(ForerunError, match=r"(?i)division by zero"):
                simulate(case, runner, lambda _text: None, lambda _rows: None)
        return
    day = simulate(what, runner, lambda _text: None, lambda _rows: None)
    assert day.equal, day.differences
    EARLY_WORK[name] = day.early_work


def test_all_texts_are_named() -> None:
    there = {path.stem for path in (tpcds.fetch() / "queries").glob("*.sql")}
    assert there == set(tpcds.NAMES)


def test_most_queries_work_early(request: pytest.FixtureRequest) -> None:
    """After the others: the final run reads less than the day's rows."""
    need_all(request, test_the_day_gives_the_batch_result, len(tpcds.NAMES))
    assert sum(EARLY_WORK.values()) >= 100, [n for n, early in EARLY_WORK.items() if not early]
