"""Executed methods: days give the rows of batch, are kept for their conditions, and add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from forerun.include.engines import ENGINES
from forerun.planner.errors import ForerunError
from forerun.simulation.running import InProcessRunner, Runner
from forerun.spark_jobs.engines.sail import start_sail
from tests.benchmarks import results
from tests.benchmarks.days import POINTS, Arrivals, Days
from tests.benchmarks.figures import executor
from tests.benchmarks.line_plot import Line
from tests.benchmarks.line_plot import svg as lines_svg
from tests.benchmarks.methods import PATTERNS
from tests.benchmarks.methods_executed import (
    METHODS,
    SUITE,
    THE_DAY,
    Case,
    Measuring,
    all_arrivals,
    arrivals_of,
    cases,
    joins_of,
)
from tests.benchmarks.methods_executed_section import (
    best_single,
    by_method,
    curves,
    scenario_bars,
    section,
)
from tests.benchmarks.results import BATCH, FAILED, OWN, REFUSED, Results, Row
from tests.benchmarks.session_days import QueryDays
from tests.benchmarks.test_executed import AT, HERE, account

BIG, SMALL, R, RS = (arrivals_of(pattern, 0.3) for pattern in PATTERNS)
BIG_DEAR = arrivals_of(PATTERNS[0], 0.7)


@pytest.fixture(scope="module")
def small_engine() -> Iterator[Runner]:
    engine = start_sail()
    yield InProcessRunner(ENGINES["sail"], engine)
    engine.stop()


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where tables and deliveries are made, once for all tests here."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORERUN_HOME", str(folder))
        yield folder


# -- real days, on the small engine ----------------------------------------------------------------


def test_days_of_a_query_equal_batch_and_are_measured_once(
    small_engine: Runner, tmp_path: Path
) -> None:
    kept = Results(tmp_path / "figures.csv")
    measured = Measuring(kept, 0.01, "local[2]", tmp_path / "work")
    wanted = [
        Case("q06", arrivals, method)
        for over in ((BIG, BIG_DEAR), (RS,))
        for method in METHODS[:3]
        for arrivals in over
    ]
    assert measured.missing(wanted) == wanted
    for case in wanted:
        measured.one(case, small_engine)
    assert measured.missing(wanted) == []
    rows = kept.rows()
    assert [row for row in rows if row.run in (FAILED, BATCH, OWN) and not row.equal] == []
    assert {row.method for row in rows if row.run == REFUSED} == {"im2"}
    one, other = (
        by_method(kept.of(measured.conditions(at)), "im1")["q06"] for at in (BIG, BIG_DEAR)
    )
    assert [row.weight for row in (*one.runs, *other.runs)] == [0.3, 1.0, 0.7, 1.0]
    assert one.kept
    assert executor(other.runs[0]) == executor(one.runs[0]), "what is planned alike runs once"
    assert executor(one.final) > 0
    other_code = Measuring(kept, 0.02, "local[2]", tmp_path / "work")
    assert other_code.missing(wanted) == wanted


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


def test_a_day_that_is_not_equal_says_so(
    small_engine: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Results(tmp_path / "figures.csv")
    measured = Measuring(kept, 0.01, "local[2]", tmp_path / "work")
    days = QueryDays(Days.of(SUITE, 0.01, BIG), "q06", small_engine, tmp_path / "work")
    right = days._whole
    days._whole = replace(right, sql=right.sql.replace("< 24", "< 20"))
    assert days._batch, "of another text, and it is not run again"
    days._whole = right
    monkeypatch.setattr(measured, "_over_the_same", lambda *_: days)
    measured.one(Case("q06", BIG, "im1"), small_engine)
    assert {row.equal for row in kept.rows()} == {False}
    assert all(row.error for row in kept.rows())


# -- which days there are --------------------------------------------------------------------------


def test_every_query_is_run_over_every_pattern_at_both_prices_by_every_method() -> None:
    found = list(cases(["q01", "q02"]))
    assert len(found) == len(set(found)) == 2 * (4 * 2 * 6 + 1)
    assert METHODS == ("auto", "im1", "im2", "ojv", "hov", "cv")
    assert {case.arrivals for case in found} == set(all_arrivals())
    assert THE_DAY.points == POINTS
    assert {a.changelogs for a in (R, RS)} == {
        frozenset({"lineitem"}),
        frozenset({"lineitem", "orders"}),
    }


def test_a_day_that_failed_is_tried_again_and_one_that_is_refused_is_not(tmp_path: Path) -> None:
    kept = Results(tmp_path / "figures.csv")

    class Failing(Measuring):
        def _day(self, case: Case, runner: Runner) -> None:  # type: ignore[override]
            raise ForerunError("no memory", code="x", hint="")

    measured = Failing(kept, 1.0, "local[2]", tmp_path)
    case = Case("q01", BIG, "im1")
    measured.one(case, None)  # type: ignore[arg-type]
    assert measured.missing([case]) == [case]
    conditions = measured.conditions(BIG)
    kept.put(results.failed(conditions, AT, "q01", "retractions", "im1", REFUSED))
    assert measured.missing([case]) == []
    assert measured.missing([Case("q01", BIG, "im2")])
    assert measured.missing([Case("q01", BIG_DEAR, "im1")])


def test_joins_are_counted_as_queries_are_read() -> None:
    joins = joins_of(0.01)
    assert [joins[query] for query in ("q01", "q06", "q14", "q03", "q05")] == [0, 0, 1, 2, 5]


# -- the page --------------------------------------------------------------------------------------


def days_by(method: str, query: str = "q01", **given: float) -> list[Row]:
    return results.rows_of(HERE, AT, query, account(**given), method)


FOUND = {
    BIG: [
        *days_by("auto"),  # 0.5 * 4 + 2 = 4 of 8
        *days_by("im1", early=2.0, final=2.0),  # 3 of 8
        *days_by("hov", early=6.0, final=6.0),  # 9 of 8
        *results.failed(HERE, AT, "q01", "takes rows back", "im2", REFUSED),
        *days_by("auto", "q06"),
    ],
    SMALL: [],
    THE_DAY: [
        *days_by("auto"),
        *days_by("auto", "q14", early=20.0, final=9.0),  # 19 of 8
        *days_by("auto", "q03", early=0.0, final=8.0),
    ],
}
JOINS = {"q01": 0, "q14": 1, "q03": 2, "q06": 0}


def text_of(found: dict[Arrivals, list[Row]]) -> str:
    return "\n".join(section(found, ["q01", "q03", "q06", "q14"], METHODS, JOINS, "2 cores"))


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
    best = best_single(FOUND[BIG], METHODS, "q01")
    assert best is not None
    assert best[0] == "im1"
    bars = list(scenario_bars(FOUND, METHODS))
    assert [(one.query, one.executors, one.own) for one in bars] == [("delta-big 0.3", 0.5, 0.375)]


def test_what_was_not_run_or_went_wrong_is_said() -> None:
    text = text_of(FOUND)
    assert "**Unfinished: 8 of 52 days were run." in text
    assert "- delta-small 0.3: not run" in text
    assert "Every day that was run gave the rows of batch." in text
    bad = {BIG: results.rows_of(HERE, AT, "q01", account(equal=False), "im1")}
    bad[BIG] += results.failed(HERE, AT, "q02", "no memory", "ojv")
    text = text_of(bad)
    assert "im1 is not equal: row 1 is missing" in text
    assert "q02, 1@1, ojv failed: no memory" in text
    assert text_of({BIG: []}) == "Not run yet."


def test_the_day_is_counted_as_the_paper_counts() -> None:
    text = text_of(FOUND)
    assert "| executors | 0.0 | 24.0 | 19.0 | 31.0 | 24.0 | -29.2% | 79.2% |" in text
    assert "| weighted | 33% | 33% | 33% | 33% |" in text
    # by joins 0.5, 2.375 and 1.0
    expected = (107 * 0.5 + 84 * 2.375 + 83 * 1.0) / 274
    assert f"| W-A | 39%, 31%, 30% | {expected:.3f} |" in text
    no_join = {THE_DAY: FOUND[THE_DAY][:5]}
    assert "need queries without a join" in text_of(no_join)
    weighted, final = curves(FOUND)
    assert weighted.points == [
        (0.5, pytest.approx(1 / 3)),
        (1.0, pytest.approx(2 / 3)),
        (2.375, 1.0),
    ]
    assert [x for x, _ in final.points] == [0.25, 1.0, 1.125]


@pytest.mark.parametrize("powers", [False, True])
def test_lines_are_where_their_points_are(powers: bool) -> None:
    given = [Line("a <b>", [(1.0, 1.0), (2.0, 0.5), (4.0, 0.25)])]
    drawn = ET.fromstring(lines_svg("lines", "x", "y", given, powers=powers))
    circles = list(drawn.iter("{http://www.w3.org/2000/svg}circle"))
    at = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles]
    (x0, y0), (x1, y1), (x2, y2) = at
    assert (x1 - x0) == pytest.approx((x2 - x1) if powers else (x2 - x1) / 2, abs=0.2)
    assert (y1 - y0) == pytest.approx(2 * (y2 - y1), abs=0.2)
    assert y0 < y1 < y2, "more is higher"
