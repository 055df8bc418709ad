"""TPC-H by every method on the small engine: each day equals batch at every time point where a
result is asked for; a method that does not apply to a query says why.

A few days in the usual suite; all queries by all methods and both problems in the slow one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from forerun.planner.api import plan
from forerun.planner.errors import MethodError
from forerun.planner.request import PDW, Method, PlanRequest, Problem, TimePoint, ivm
from forerun.planner.rules.methods.catalog import SINGLE
from forerun.simulation.accounts import DayAccount
from forerun.simulation.day import simulate
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.planning import with_statistics
from forerun.simulation.running import Runner, open_runner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import Table, find_tables
from tests.selection import need_all

TPCH = Path(__file__).parents[1] / "tpch"
QUERIES = tuple(f"q{number:02d}" for number in range(1, 23))
CHANGING = frozenset({"orders", "lineitem", "customer", "partsupp"})
POINTS = (
    TimePoint(weight=0.25, arrived=0.58),
    TimePoint(weight=0.3, arrived=0.79),
    TimePoint(weight=1.0),
)
TOGETHER = (parse_correlation("lineitem.l_orderkey=orders.o_orderkey"),)
PROBLEMS: dict[str, Problem] = {"pdw": PDW, "ivm": ivm(len(POINTS))}
METHODS: tuple[Method, ...] = ("im1", "im2", "ojv", "hov", "cv", "auto")
QUICK: tuple[tuple[str, Method, str], ...] = (
    ("q03", "im1", "ivm"),
    ("q03", "hov", "ivm"),
    ("q13", "im2", "pdw"),
    ("q13", "ojv", "ivm"),
    ("q01", "cv", "pdw"),
    ("q22", "auto", "ivm"),
    ("q06", "ojv", "pdw"),
)
"""A day by each method where it does what no other would, and one to which it does not apply."""
EARLY_WORK: dict[Method, dict[tuple[str, str], bool]] = defaultdict(dict)
REFUSED: dict[Method, set[str]] = defaultdict(set)


@pytest.fixture(scope="module")
def found(tables: Path) -> dict[str, Table]:
    return find_tables(tables)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with open_runner("sail", tmp_path_factory.mktemp("logs"), "local[1]") as started:
        yield started


@pytest.fixture(scope="module")
def incoming(found: dict[str, Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The deliveries, split once for all days."""
    folder = tmp_path_factory.mktemp("incoming")
    splitter = Splitter(found, tuple(point.arrived for point in POINTS), 1, TOGETHER)
    for name in sorted(CHANGING):
        splitter.write(name, folder / name)
    return folder


def why_not(query: str, method: Method, tables: dict[str, Table]) -> str:
    """What the planner says to a request by the method; empty if it has a plan."""
    request = PlanRequest(
        report=query,
        sql=(TPCH / f"{query}.sql").read_text(),
        sources=with_statistics(tables, CHANGING),
        points=POINTS,
        method=method,
    )
    try:
        plan(request)
    except MethodError as error:
        return str(error)
    return ""


def judge(day: DayAccount, problem: Problem) -> None:
    """Equal to batch at the end, and to the plain query so far wherever a result is asked for."""
    assert day.equal, day.differences
    early = {run.index: run.early_result for run in day.runs if run.early_result is not None}
    assert sorted(early) == [run for run in problem.results_at if run < len(POINTS)]
    assert all(result.equal for result in early.values()), early


ALL = tuple((q, m, p) for q in QUERIES for m in METHODS for p in PROBLEMS)


@pytest.mark.parametrize(
    ("query", "method", "problem"),
    [pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow) for one in ALL],
)
def test_the_day_gives_the_batch_result(
    query: str,
    method: Method,
    problem: str,
    found: dict[str, Table],
    incoming: Path,
    runner: Runner,
    tmp_path: Path,
) -> None:
    what = Simulation(
        name=query,
        sql=(TPCH / f"{query}.sql").read_text(),
        tables=found,
        changing=CHANGING,
        points=POINTS,
        correlations=TOGETHER,
        seed=1,
        work=tmp_path,
        store=str(tmp_path / "store"),
        incoming=incoming,
        method=method,
        problem=PROBLEMS[problem],
    )
    reason = why_not(query, method, found)
    if reason:
        with pytest.raises(MethodError) as refused:
            simulate(what, runner, lambda _text: None, lambda _rows: None)
        assert str(refused.value) == reason
        assert reason.startswith(f"the method {method} does not apply to this query: ")
        REFUSED[method].add(query)
        return
    day = simulate(what, runner, lambda _text: None, lambda _rows: None)
    judge(day, PROBLEMS[problem])
    assert [note for note in day.notes if method in note] == [], "the method stays to the end"
    EARLY_WORK[method][query, problem] = day.early_work


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_method_works_early_where_it_applies(
    request: pytest.FixtureRequest, method: Method
) -> None:
    """After the others: of most queries with a result at the end only, and of most of the others,
    the final run reads less than the day's rows."""
    early = EARLY_WORK[method]
    need_all(request, test_the_day_gives_the_batch_result, len(ALL))
    assert 2 * sum(early.values()) >= len(early), {one for one in early if not early[one]}


def test_all_methods_are_tried() -> None:
    assert set(METHODS) == {*(method.name for method in SINGLE), "auto"}
