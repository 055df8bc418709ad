"""Named parameters: bound to typed constants, part of what identifies a plan, never text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from forerun.planner.algebra.fingerprint import fingerprint
from forerun.planner.algebra.relational import Limit, walk
from forerun.planner.algebra.types import BIGINT, DATE, decimal
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import decode_plan, encode_plan
from forerun.planner.contract.parameters import TYPES, value_of
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.errors import ForerunError, ParameterError, SqlError
from forerun.planner.request import (
    ANSI,
    TIME_ZONE,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.sql.binding.parameters import constant
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.sql.printing.scalar_sql import literal_sql

T = Source(
    name="t",
    columns=(
        SourceColumn(name="a", type=BIGINT),
        SourceColumn(name="d", type=DATE),
        SourceColumn(name="m", type=decimal(12, 2)),
    ),
    changing=True,
    rows=1_000_000,
    bytes=10**8,
)


def parameter(name: str, type_: str, value: str) -> Parameter:
    return Parameter(name=name, type=type_, value=value)


def day(text: str) -> tuple[Parameter, ...]:
    return (
        parameter("report_date", "DATE", text),
        parameter("report_start", "TIMESTAMP", f"{text} 00:00:00"),
    )


def printed(sql: str, *parameters: Parameter) -> str:
    query = read_query(sql, [T], parameters=parameters)
    return " ".join(to_sql(query.relation, names=query.names).split())


def planned(sql: str, parameters: Sequence[Parameter], method: str = "auto") -> PlanResult:
    return plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=(T,),
            points=(TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0)),
            parameters=tuple(parameters),
            method=method,  # type: ignore[arg-type]
            settings=Settings(temporal="early" if method == "auto" else "cost"),
        )
    )


@pytest.mark.parametrize(
    ("type_", "value", "literal"),
    [
        ("DATE", "2026-01-31", "DATE'2026-01-31'"),
        ("TIMESTAMP", "2026-01-31 05:30:00", "TIMESTAMP'2026-01-31 05:30:00Z'"),
        ("STRING", "O'Neil \\ {{ ds }} :a", r"'O\'Neil \\ {{ ds }} :a'"),
        ("STRING", "", "''"),
        ("INT", "-7", "-7"),
        ("BIGINT", "5000000000", "5000000000L"),
        ("DOUBLE", "1.5", "1.5E0D"),
        ("DECIMAL", "1.50", "1.50BD"),
        ("DECIMAL", "-0.05", "-0.05BD"),
        ("BOOLEAN", "true", "true"),
    ],
)
def test_a_parameter_is_a_typed_literal(type_: str, value: str, literal: str) -> None:
    assert printed("SELECT :p AS x FROM t", parameter("p", type_, value)).startswith(
        f"SELECT {literal} AS `x`"
    )


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("DATE", "2026-02-30"),
        ("DATE", "31.01.2026"),
        ("DATE", "2026-01-31\n"),
        ("TIMESTAMP", "2026-01-31"),
        ("TIMESTAMP", "2026-01-31T05:30:00Z"),
        ("INT", "5000000000"),
        ("INT", "1.5"),
        ("INT", "1_000"),
        ("BIGINT", "5"),
        ("BIGINT", str(2**63)),
        ("DOUBLE", "1e999"),
        ("DOUBLE", "nan"),
        ("DECIMAL", "1e5"),
        ("DECIMAL", "1" * 39),
        ("BOOLEAN", "TRUE"),
        ("BINARY", "x"),
        ("string", "x"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_refused(type_: str, value: str) -> None:
    with pytest.raises(ParameterError, match="parameter p"):
        printed("SELECT :p AS x FROM t", parameter("p", type_, value))


def test_the_types_are_those_that_an_error_lists() -> None:
    with pytest.raises(ParameterError) as caught:
        value_of(parameter("p", "MAP", "x"))
    assert all(type_ in caught.value.hint for type_ in TYPES)


def test_an_unknown_parameter_is_an_error_with_those_that_there_are() -> None:
    for marker in (":report_dat", "?"):
        with pytest.raises(SqlError) as caught:
            printed(f"SELECT a FROM t WHERE d = {marker}", *day("2026-01-31"))
    with pytest.raises(SqlError, match="unknown parameter :report_date") as caught:
        printed("SELECT a FROM t WHERE d = :report_date")
    assert "--date" in caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, count(*) AS n FROM t GROUP BY :p",
        "SELECT a FROM t ORDER BY :p",
        "SELECT a:p FROM t",
        "SELECT a FROM :p",
        "SELECT a FROM IDENTIFIER(:p)",
    ],
)
def test_a_parameter_is_a_value_and_no_name_or_number_of_a_column(sql: str) -> None:
    with pytest.raises(SqlError):
        printed(sql, parameter("p", "INT", "1"))


def test_a_parameter_as_a_limit() -> None:
    query = read_query("SELECT a FROM t LIMIT :n", [T], parameters=[parameter("n", "INT", "3")])
    assert [node.count for node in walk(query.relation) if isinstance(node, Limit)] == [3]


SPENT = "SELECT a, sum(m) AS s FROM t WHERE d BETWEEN date_sub(:report_date, 7) AND :report_date "
GROUPED = f"{SPENT} GROUP BY a"


def families(result: PlanResult) -> set[str]:
    return {family.fingerprint for family in result.plan.families}


def test_two_days_share_no_fingerprint_if_the_parameter_matters() -> None:
    one, other = (planned(GROUPED, day(text)) for text in ("2026-01-30", "2026-01-31"))
    assert families(one)
    assert families(one).isdisjoint(families(other))
    same = "SELECT a, sum(m) AS s FROM t GROUP BY a"
    one, other = (planned(same, day(text)) for text in ("2026-01-30", "2026-01-31"))
    assert families(one) == families(other) != set()
    assert fingerprint(one.relation) == fingerprint(other.relation)


def test_stages_have_the_value_and_the_users_own_text_the_name() -> None:
    early = planned(GROUPED, day("2026-01-31"))
    texts = [stage.sql for run in early.plan.runs for stage in run.stages]
    assert any("DATE'2026-01-31'" in text for text in texts)
    assert not any(":report_date" in text for text in texts)
    assert not any(stage.parameters for run in early.plan.runs for stage in run.stages)
    batch = planned(GROUPED, day("2026-01-31"), method="batch").plan
    (stage,) = batch.runs[-1].stages
    assert stage.sql == GROUPED.strip()
    assert stage.parameters == day("2026-01-31")[:1], "those that the text has"
    assert decode_plan(encode_plan(batch)) == batch


def test_an_instant_is_the_same_in_every_zone_of_a_session() -> None:
    request = planned(GROUPED, day("2026-01-31")).request
    elsewhere = Settings(session=((ANSI, "true"), (TIME_ZONE, "Europe/Berlin")))
    assert plan(replace(request, settings=elsewhere)).plan.session == elsewhere.session
    literal = constant(request.parameters[1])
    assert literal_sql(literal).text == "TIMESTAMP'2026-01-31 00:00:00Z'"
    with pytest.raises(ForerunError, match="given twice"):
        plan(replace(request, parameters=request.parameters * 2))
