"""A run policy that leaves its times to be chosen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.reports.group import ReportGroup
from forerun.include.reports.run_policy import Choose, RunPolicy, RunTime
from forerun.include.reports.spec import decode_report, encode_report
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours
from forerun.planner.errors import ScheduleError
from tests.airflow.reports import sales_report

DAY_AND_NIGHT = (
    Hours(start="00:00", end="08:00", value=1.0),
    Hours(start="08:00", end="24:00", value=0.4),
)


def test_own_times_are_evenly_over_the_day_at_the_prices_of_their_hours():
    policy = RunPolicy(choose=Choose(at_most=3), prices=DAY_AND_NIGHT)
    assert [(run.at, run.weight) for run in policy.runs] == [
        ("08:00", 0.4),
        ("16:00", 0.4),
        ("24:00", 1.0),
    ]
    seven = RunPolicy(choose=Choose(at_most=7)).runs
    assert [run.at for run in seven][:2] == ["03:25", "06:51"]
    assert seven[-1].at == "24:00"


def test_own_times_may_be_named():
    runs = (RunTime(at="10:00"), RunTime(at="25:00"))
    policy = RunPolicy(runs=runs, choose=Choose(at_most=2), prices=DAY_AND_NIGHT)
    assert [(run.at, run.weight) for run in policy.runs] == [("10:00", 0.4), ("25:00", 1.0)]
    with pytest.raises(SpecError, match="has 2 runs, and at most 4 are chosen"):
        RunPolicy(runs=runs, choose=Choose(at_most=4))


def test_prices_are_weights_of_explicit_times_too():
    policy = RunPolicy(runs=(RunTime(at="07:59"), RunTime(at="08:00")), prices=DAY_AND_NIGHT)
    assert [run.weight for run in policy.runs] == [1.0, 0.4]


def test_a_report_is_the_same_after_it_was_stored():
    policy = RunPolicy(choose=Choose(at_most=4), prices=DAY_AND_NIGHT)
    spec = sales_report(policy=policy)
    assert decode_report(encode_report(spec)) == spec
    assert spec.runs == 4
    assert spec.digest != sales_report(policy=replace(policy, prices=())).digest


@pytest.mark.parametrize(
    ("prices", "says"),
    [
        (DAY_AND_NIGHT[:1], "given from 00:00 to 08:00"),
        ((*DAY_AND_NIGHT, DAY_AND_NIGHT[0]), "given twice"),
        ((DAY_AND_NIGHT[0], Hours(start="09:00", end="24:00", value=1.0)), "08:00 to 09:00"),
        ((Hours(start="00:00", end="24:00", value=0.0),), "is 0"),
    ],
)
def test_prices_with_gaps_overlaps_and_zeros_are_refused(prices, says):
    with pytest.raises(ScheduleError, match=says):
        RunPolicy(choose=Choose(), prices=prices)


def test_what_cannot_go_with_it_is_refused():
    with pytest.raises(SpecError, match="leave nothing to choose"):
        Choose(at_most=1)
    for early in ({"results_at": (1,)}, {"problem": "ivm"}):
        with pytest.raises(SpecError, match="chooses its times and has early results"):
            RunPolicy(choose=Choose(), **early)
    spec = sales_report(policy=RunPolicy(choose=Choose()))
    with pytest.raises(
        SpecError, match="revenue chooses at most 4 runs, at other slots than the 6"
    ):
        ReportGroup(name="night", reports=(spec, sales_report(name="other")))
    assert ReportGroup(name="night", reports=(spec,)).members[0].spec == spec
    with pytest.raises(SpecError, match=r"Write Choose\(\.\.\.\)"):
        RunPolicy(choose=Choose)  # type: ignore[arg-type]
