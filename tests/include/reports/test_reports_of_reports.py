"""Reports that read reports: which, and whether their deadlines fit."""

from __future__ import annotations

from typing import Any

import pytest

from forerun.include.reports.group import ReportGroup
from forerun.include.reports.period import Weekly
from forerun.include.reports.reports_of_reports import due_too_late, refuse_late, reports_read
from forerun.include.reports.sources.complete_when import AssetEvent, ClockTime
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.spec import DueOn, ReportSpec, RunPolicy, RunTime
from forerun.include.reports.values.fields import SpecError

K = {"k": "BIGINT"}
FILES = SourceSpec(name="t", path="/lake/t/{ds}", columns=K, complete_when=ClockTime())


def result(name: str, **more: Any) -> SourceSpec:
    path = f"forerun://report/{name}/{{ds}}"
    return SourceSpec(name=name, path=path, format="report", columns=K, **more)


def report(name: str, *sources: SourceSpec, **more: Any) -> ReportSpec:
    first = sources[0].name if sources else "t"
    return ReportSpec(
        name=name, sql=f"SELECT k FROM {first}", sources=sources or (FILES,),
        policy=RunPolicy(runs=[RunTime(at="24:00")]), **more,
    )  # fmt: skip


def test_a_report_reads_results_and_waits_for_assets() -> None:
    waited = SourceSpec(
        name="w", path="/lake/w/{ds}", columns=K, complete_when=AssetEvent(name="forerun_report_b")
    )
    other = SourceSpec(
        name="x", path="/lake/x/{ds}", columns=K, complete_when=AssetEvent(uri="s3://lake/x")
    )
    spec = report("c", result("a"), waited, other, FILES, result("b"))
    assert reports_read(spec) == ("a", "b")
    assert reports_read(report("c", result("a", store="/elsewhere"))) == ()


@pytest.mark.parametrize(
    ("before", "after", "late"),
    [
        ({"deadline": "29:00"}, {"deadline": "30:00"}, ""),
        ({}, {}, ""),
        ({"deadline": "31:00"}, {"deadline": "30:00"},
         "Tuesday at 06:00Z, and reads a, which is due only on Tuesday at 07:00Z"),
        ({"deadline": "30:00"}, {"deadline": "30:00", "timezone": "Europe/Berlin"},
         "c of a Monday is due on Tuesday at 05:00Z"),
        ({"calendar": (DueOn(weekdays=("fri",), at="81:00"),)}, {},
         "Friday is due on Saturday at 06:00Z, and reads a, which is due only on Monday at 09:00Z"),
        # A week and a day are about the same date on Sundays alone.
        ({"deadline": "31:00"}, {"period": Weekly(), "deadline": "30:00"},
         "c of a Sunday is due on Monday"),
    ],
)  # fmt: skip
def test_a_chain_that_cannot_hold_is_said(
    before: dict[str, Any], after: dict[str, Any], late: str
) -> None:
    upstream, spec = report("a", **before), report("c", result("a"), **after)
    said = due_too_late(spec, {"a": upstream, "c": spec})
    assert (late in said) if late else not said
    assert not due_too_late(spec, {}), "what nobody knows is not judged"
    if late:
        with pytest.raises(SpecError, match="is due only on") as caught:
            refuse_late(spec, {"a": upstream})
        assert "an earlier deadline" in caught.value.hint


def test_a_group_is_refused_that_cannot_hold() -> None:
    late = report("a", deadline="31:00")
    rule = AssetEvent(uri="forerun://report/a")
    waits = SourceSpec(name="w", path="/lake/w/{ds}", columns=K, complete_when=rule)
    with pytest.raises(SpecError, match="reads a, which is due only"):
        ReportGroup(name="g", reports=(late, report("c", waits)))
    with pytest.raises(SpecError, match="c reads what a publishes, which runs in the same"):
        ReportGroup(name="g", reports=(report("a"), report("c", result("a"))))
