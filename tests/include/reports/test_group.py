"""Report groups as values: their time points, and the runs that reports have at them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from forerun.include.reports.group import ReportGroup
from forerun.include.reports.sources.start_when import WithGroup, start_text
from forerun.include.reports.spec import (
    Every,
    ReportSpec,
    RunPolicy,
    RunTime,
    SpecError,
    decode_report,
    encode_report,
)
from tests.airflow.reports import sales_report


def report(name: str, *times: tuple[str, float], **changes: Any) -> ReportSpec:
    runs = tuple(RunTime(at=at, weight=weight) for at, weight in times)
    results = changes.pop("results_at", ())
    return sales_report(name=name, policy=RunPolicy(runs=runs, results_at=results), **changes)


EARLY = report("early", ("12:00", 0.2), ("20:00", 1.0), results_at=(1,))
LATE = report("late", ("10:00", 0.1), ("20:00", 0.5), ("24:00", 1.0), results_at=(2,))
ONCE = report("once", ("25:00", 1.0))
GROUP = ReportGroup(name="night", reports=(EARLY, LATE, ONCE))


@pytest.mark.parametrize("reports", [(EARLY, LATE, ONCE), (ONCE, LATE, EARLY)])
def test_time_points_are_the_union_at_the_highest_price(reports):
    group = ReportGroup(name="night", reports=reports)
    assert [(run.at, run.weight) for run in group.times] == [
        ("10:00", 0.1), ("12:00", 0.2), ("20:00", 1.0), ("24:00", 1.0), ("25:00", 1.0),
    ]  # fmt: skip


def test_a_report_takes_part_up_to_its_final_run():
    early, late, once = GROUP.members
    assert early.points == (1, 2, 3)
    assert [run.at for run in early.spec.policy.runs] == ["10:00", "12:00", "20:00"]
    assert late.points == (1, 2, 3, 4)
    assert once.points == (1, 2, 3, 4, 5)
    assert (early.last, late.last, once.last) == (3, 4, 5)
    assert early.run_at(4) is None
    assert once.run_at(5) == 5


def test_a_report_keeps_its_own_prices_and_early_results():
    early, late, _ = GROUP.members
    assert [run.weight for run in late.spec.policy.runs] == [0.1, 0.2, 0.5, 1.0]
    assert early.spec.policy.results_at == (2,), "its run at 12:00"
    assert late.spec.policy.results_at == (3,), "its run at 20:00"


def test_final_runs_wait_for_each_other_for_as_long_as_there_is_patience():
    moment = datetime(2026, 3, 1, 20, tzinfo=UTC)
    assert GROUP.moments(date(2026, 3, 1))[2] == moment
    assert GROUP.patience_s == 600


def test_runs_start_with_those_that_have_a_trigger_at_the_same_time_point():
    fires = RunTime(at="12:00", when=Every(interval="+02:00"))
    first = replace(EARLY, policy=RunPolicy(runs=(fires, RunTime(at="20:00"))))
    second = replace(LATE, policy=RunPolicy(runs=(RunTime(at="16:00"), RunTime(at="24:00"))))
    one, two = ReportGroup(name="night", reports=(first, second)).members
    assert [run.when for run in one.spec.policy.runs] == [fires.when, None, None]
    assert [(run.at, run.when) for run in two.spec.policy.runs] == [
        ("12:00", WithGroup()),
        ("16:00", None),
        ("20:00", None),
        ("24:00", None),
    ]
    assert decode_report(encode_report(two.spec)) == two.spec
    assert start_text(WithGroup()) == "another report of its group"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"reports": ()}, "has no report"),
        ({"reports": (EARLY, EARLY)}, "early"),
        ({"reports": (EARLY, report("b", ("20:00", 1.0), timezone="Europe/Berlin"))}, "time zone"),
        ({"reports": (EARLY, report("b", ("20:00", 1.0), store="/elsewhere"))}, "store"),
        ({"patience": "10:00"}, "is a clock time"),
        ({"name": "no name"}, "no name"),
    ],
)
def test_groups_that_have_no_meaning(changes, why):
    with pytest.raises(SpecError, match=why):
        ReportGroup(**{"name": "night", "reports": (EARLY, LATE), **changes})
