"""Executed methods: days give the rows of batch, and add up."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.engines import ENGINES
from forerun.planner.errors import MethodError
from forerun.simulation.running import InProcessRunner, Runner
from forerun.spark_jobs.engines.sail import start_sail
from tests.benchmarks import methods_executed
from tests.benchmarks.days import POINTS, Days
from tests.benchmarks.driver import Found, Name
from tests.benchmarks.figures import Day, executor, figures_of
from tests.benchmarks.methods import PATTERNS
from tests.benchmarks.methods_executed import (
    METHODS,
    SUITE,
    THE_DAY,
    Case,
    Executing,
    arrivals_of,
    best_single,
    by_scenario,
    cases,
    curves,
    joins_of,
    lines,
    scenario_bars,
)
from tests.benchmarks.session_days import QueryDays
from tests.benchmarks.test_executed import account

BIG, RS = (arrivals_of(PATTERNS[i], 0.3) for i in (0, 3))
BIG_DEAR = arrivals_of(PATTERNS[0], 0.7)


@pytest.fixture(scope="module")
def small_engine() -> Iterator[Runner]:
    engine = start_sail()
    yield InProcessRunner(ENGINES["sail"], engine)
    engine.stop()


@pytest.fixture(scope="module", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where tables and deliveries are made, once for all tests here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORERUN_HOME", str(tmp_path_factory.mktemp("home")))
        yield


# -- real days, on the small engine ----------------------------------------------------------------


def test_days_of_a_query_equal_batch_and_are_executed_once(
    small_engine: Runner, tmp_path: Path
) -> None:
    executing = Executing(0.01, lambda _query: small_engine, tmp_path / "work")
    found: Found = {}
    for over in ((BIG, BIG_DEAR), (RS,)):
        for method in ("auto", "im1"):
            for arrivals in over:
                case = Case("q06", arrivals, method)
                found = {**found, case.name: executing.figures(case, {})}
    assert not [one for one in found.values() if not one["equal"] or one["differences"]]
    one, other = (
        Day.of(n, found[n]) for n in (Case("q06", a, "im1").name for a in (BIG, BIG_DEAR))
    )
    assert [run["weight"] for run in (*one.runs, *other.runs)] == [0.3, 1.0, 0.7, 1.0]
    assert one.kept
    assert executor(other.runs[0]) == executor(one.runs[0]), "what is planned alike runs once"
    assert executor(one.final) > 0
    with pytest.raises(MethodError):
        executing.figures(Case("q06", BIG, "im2"), {})


def test_a_final_run_is_planned_alike_where_the_first_one_was(
    small_engine: Runner, tmp_path: Path
) -> None:
    days = QueryDays(Days.of(SUITE, 0.01, BIG), "q03", small_engine, tmp_path / "work")
    assert days.first_run("im1", 0.3)
    if days.first_run("im1", 0.3) == days.first_run("im1", 0.7):
        cheap, dear = (days.day("im1", weight) for weight in (0.3, 0.7))
        texts = [[stage.sql for stage in day.runs[-1].stages] for day in (cheap, dear)]
        assert texts[0] == texts[1]
        assert cheap.equal
        assert dear.equal


def test_a_day_that_is_not_equal_says_so(small_engine: Runner, tmp_path: Path) -> None:
    executing = Executing(0.01, lambda _query: small_engine, tmp_path / "work")
    days = QueryDays(Days.of(SUITE, 0.01, BIG), "q06", small_engine, tmp_path / "work")
    right = days._whole
    days._whole = replace(right, sql=right.sql.replace("< 24", "< 20"))
    assert days._batch, "of another text, and it is not run again"
    days._whole = right
    executing._days, executing._over = days, ("q06", BIG.name)
    found = executing.figures(Case("q06", BIG, "im1"), {})
    assert not found["equal"]
    assert found["differences"]


# -- which days there are --------------------------------------------------------------------------


def test_every_query_is_run_over_every_pattern_at_both_prices_by_every_method() -> None:
    found = list(cases(["q01", "q02"]))
    assert len({case.name for case in found}) == len(found) == 2 * (4 * 2 * 6 + 1)
    assert METHODS == ("auto", "im1", "im2", "ojv", "hov", "cv")
    assert THE_DAY.points == POINTS
    assert {case.arrivals.changelogs for case in found} == {
        frozenset(),
        frozenset({"lineitem"}),
        frozenset({"lineitem", "orders"}),
    }


def test_joins_are_counted_as_queries_are_read() -> None:
    joins = joins_of(0.01)
    assert [joins[query] for query in ("q01", "q06", "q14", "q03", "q05")] == [0, 0, 1, 2, 5]


# -- the page --------------------------------------------------------------------------------------


def found_of(*days: tuple[Name, dict[str, float]]) -> Found:
    return {name: figures_of(account(**given)) for name, given in days}


CHEAP = ("delta-big", "0.3")
FOUND = found_of(
    (("q01", *CHEAP, "auto"), {}),  # 0.5 * 4 + 2 = 4 of 8
    (("q01", *CHEAP, "im1"), {"early": 2.0, "final": 2.0}),  # 3 of 8
    (("q01", *CHEAP, "hov"), {"early": 6.0, "final": 6.0}),  # 9 of 8
    (("q06", *CHEAP, "auto"), {}),
    (("q01", "day", "auto"), {}),
    (("q14", "day", "auto"), {"early": 20.0, "final": 9.0}),  # 19 of 8
    (("q03", "day", "auto"), {"early": 0.0, "final": 8.0}),
)


def text_of(found: Found) -> str:
    return "\n".join(lines(argparse.Namespace(scale=0.01), found))


def test_sums_by_pattern_and_method() -> None:
    text = text_of(FOUND)
    assert (
        "| delta-big 0.3 | auto | 2 | 0.500 | 0.981 | 0.500 | 0.250 | 0.750 | 0.0 MB | 1 |" in text
    )
    assert "| delta-big 0.3 | im1 | 1 | 0.375 |" in text
    assert "| delta-big 0.3 | hov | 1 | 1.125 |" in text
    assert "| im2 |" not in text
    assert "| q01 | auto 0.50 (0.0 MB), im1 0.38 (0.0 MB) |" in text
    assert "| q06 | auto 0.50 (0.0 MB) |" in text
    best = best_single(by_scenario(FOUND)[CHEAP], "q01")
    assert best is not None
    assert best[0] == "im1"
    bars = list(scenario_bars(FOUND))
    assert [(one.query, one.executors, one.own) for one in bars] == [("delta-big 0.3", 0.5, 0.375)]


def test_the_day_is_counted_as_the_paper_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    joins = {"q01": 0, "q14": 1, "q03": 2}
    monkeypatch.setattr(methods_executed, "joins_of", lambda _scale: joins)
    text = text_of(FOUND)
    assert "| executors | 0.0 | 24.0 | 19.0 | 31.0 | 24.0 | -29.2% | 79.2% |" in text
    assert "| weighted | 33% | 33% | 33% | 33% |" in text
    # by joins 0.5, 2.375 and 1.0
    expected = (107 * 0.5 + 84 * 2.375 + 83 * 1.0) / 274
    assert f"| W-A | 39%, 31%, 30% | {expected:.3f} |" in text
    no_join = {name: one for name, one in FOUND.items() if name[0] == "q01"}
    assert "W-A |" not in text_of(no_join)
    weighted, final = curves(FOUND)
    assert weighted.points == [
        (0.5, pytest.approx(1 / 3)),
        (1.0, pytest.approx(2 / 3)),
        (2.375, 1.0),
    ]
    assert [x for x, _ in final.points] == [0.25, 1.0, 1.125]
