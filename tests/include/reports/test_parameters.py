"""The parameters that a report has of its day, and those that it declares."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from forerun.include.reports.parameters import day_parameters, parse_parameters
from forerun.include.reports.spec import (
    Parameter,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    decode_report,
    encode_report,
)
from forerun.include.reports.values.fields import SpecError
from forerun.planner.contract.plan_v1 import ColumnSpec
from forerun.planner.errors import ForerunError, ParameterError


def report(parameters: tuple[Parameter, ...], timezone: str = "UTC") -> ReportSpec:
    return ReportSpec(
        name="r",
        sql="SELECT 1 AS x",
        sources=(
            SourceSpec(
                name="t",
                path="/data/t",
                columns=(ColumnSpec(name="a", type="INT"),),
                arrival="static",
            ),
        ),
        policy=RunPolicy(runs=(RunTime(at="24:00", weight=1.0),)),
        timezone=timezone,
        parameters=parameters,
    )


def values(day: str, zone: str) -> list[str]:
    return [p.value for p in day_parameters(date.fromisoformat(day), ZoneInfo(zone))]


def test_a_day_begins_and_ends_in_the_zone_of_the_report() -> None:
    assert values("2026-01-31", "UTC") == [
        "2026-01-31", "2026-01-31 00:00:00", "2026-02-01 00:00:00", "2026-01-31", "2026-01-31",
    ]  # fmt: skip
    # 23 hours, and 25.
    assert values("2026-03-29", "Europe/Berlin")[1:3] == [
        "2026-03-28 23:00:00", "2026-03-29 22:00:00",
    ]  # fmt: skip
    assert values("2026-10-25", "Europe/Berlin")[1:3] == [
        "2026-10-24 22:00:00", "2026-10-25 23:00:00",
    ]  # fmt: skip


def test_the_clock_of_a_report_may_stand_at_its_deadline() -> None:
    sql = "SELECT count(*) AS n, now() AS made FROM t WHERE a > year(current_date())"
    pinned = replace(report((), "Europe/Berlin"), sql=sql, deadline="30:00", now="deadline")
    assert pinned.sql == (
        "SELECT count(*) AS n, :report_due AS made FROM t WHERE a > year(CAST(:report_due AS DATE))"
    )
    on = {p.name: p.value for p in pinned.parameters_on(date(2026, 3, 27))}
    assert on["report_due"] == "2026-03-28 05:00:00", "six in the morning of the next day"
    on = {p.name: p.value for p in pinned.parameters_on(date(2026, 3, 28))}
    assert on["report_due"] == "2026-03-29 04:00:00", "the same, after clocks have changed"
    assert decode_report(encode_report(pinned)) == pinned
    assert pinned.with_sql("SELECT now() AS n").sql == "SELECT :report_due AS n"


def test_else_the_clock_goes() -> None:
    plain = replace(report(()), sql="SELECT now() AS n FROM t")
    assert plain.sql == "SELECT now() AS n FROM t"
    assert "report_due" not in {p.name for p in plain.parameters_on(date(2026, 3, 27))}
    with pytest.raises(SpecError, match="now"):
        replace(plain, now="yesterday")


def test_a_report_declares_more() -> None:
    region = Parameter(name="region", type="STRING", value="EU")
    spec = report(parameters=(region,), timezone="Europe/Berlin")
    assert [p.name for p in spec.parameters_on(date(2026, 1, 31))] == [
        "report_date", "report_start", "report_end", "period_start", "period_end", "region",
    ]  # fmt: skip
    assert decode_report(encode_report(spec)) == spec
    other = report(
        parameters=(Parameter(name="region", type="STRING", value="US"),), timezone="Europe/Berlin"
    )
    assert other.digest != spec.digest


@pytest.mark.parametrize(
    "parameters",
    [
        (Parameter(name="report_date", type="DATE", value="2026-01-31"),),
        (Parameter(name="Report_Start", type="DATE", value="2026-01-31"),),
        (Parameter(name="a b", type="INT", value="1"),),
        (Parameter(name="1a", type="INT", value="1"),),
        (Parameter(name="a", type="INT", value="1"), Parameter(name="A", type="INT", value="1")),
        (Parameter(name="a", type="INT", value="x"),),
    ],
)
def test_a_wrong_parameter_is_an_error_of_the_report(parameters: tuple[Parameter, ...]) -> None:
    with pytest.raises(ForerunError):
        report(parameters=parameters)


def test_parameters_of_a_command_line() -> None:
    assert parse_parameters(["region=EU=1", "n:int=7"]) == (
        Parameter(name="region", type="STRING", value="EU=1"),
        Parameter(name="n", type="INT", value="7"),
    )
    for wrong in ("region", "n:=7"):
        with pytest.raises(ParameterError):
            parse_parameters([wrong])
    with pytest.raises(SpecError, match="given twice"):
        parse_parameters(["a=1", "A=2"])
    for wrong in ("=7", "report_date:DATE=2026-01-31"):
        with pytest.raises(SpecError):
            parse_parameters([wrong])
