"""Stages that are written for an engine with flaws, and read by that engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from forerun.include.engines import SAIL
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import ResultOutput
from forerun.planner.cost.flaws import LEFT_OUT, Flaw
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.planner.rules.explore.catalog import LOCAL
from forerun.planner.rules.normalize.driver import RULE_NAMES
from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import PlainSailEngine
from tests.properties.execute import run_case
from tests.properties.sessions import sail_session

ITEMS = "ARRAY<STRUCT<a:INT,b:INT,c:STRING>>"
COLUMNS = (("k", "BIGINT"), ("v", "BIGINT"), ("m", "DECIMAL(9,2)"), ("d", "DATE"), ("e", ITEMS))
ARRAYS: dict[int, Value] = {1: ((1, 2, "x"), (None, 3, None)), 2: (), 3: None}
CAME: tuple[tuple[tuple[Value, ...], ...], ...] = (
    ((1, 4, None, None, ARRAYS[1]), (1, 4, None, None, ARRAYS[1]), (2, 0, None, None, ARRAYS[2])),
    ((3, 5, None, None, ARRAYS[3]),),
    ((1, 7, None, None, ARRAYS[1]),),
)
GONE: tuple[tuple[tuple[Value, ...], ...], ...] = (
    (),
    ((2, 0, None, None, ARRAYS[2]),),
    ((1, 4, None, None, ARRAYS[1]), (3, 5, None, None, ARRAYS[3])),
)
QUERIES = {
    "casts": "SELECT k, sum(v) AS s, avg(v) AS a FROM t GROUP BY k",
    "quotient": "SELECT k, sum(v) / count(*) AS r FROM t GROUP BY k",
    "remainder": "SELECT k, sum(v) % count(*) AS r FROM t GROUP BY k",
    "guarded": "SELECT k, CASE WHEN sum(v) > 0 THEN count(*) / sum(v) ELSE 0 END AS r FROM t "
    "GROUP BY k",
    "having": "SELECT k FROM t GROUP BY k HAVING sum(v) / count(*) > 2",
    "fields": "SELECT i.a, sum(i.b) AS b FROM t LATERAL VIEW explode(e) x AS i GROUP BY i.a",
    "copies": "SELECT a.v FROM t a LEFT JOIN t b ON a.k = b.k",
}


def stages_of(
    sql: str, *flaws: Flaw, own_batch: Literal["never", "always"] = "always"
) -> tuple[str, ResultOutput]:
    """The text of the stage that computes a query for an engine with these flaws; in stages of our
    own, or as close to the user's text as such an engine may have it."""
    source = Source(
        name="t",
        columns=tuple(SourceColumn(name=n, type=parse_type(kind)) for n, kind in COLUMNS),
    )
    settings = Settings(prices=replace(SPARK, flaws=frozenset(flaws)), own_batch=own_batch)
    request = PlanRequest(
        report="r", sql=sql, sources=(source,), points=(TimePoint(weight=1.0),), settings=settings
    )
    (stage,) = plan(request).plan.run.stages
    assert isinstance(stage.output, ResultOutput)
    return stage.sql, stage.output


@pytest.mark.parametrize("name", QUERIES)
def test_days_with_groups_that_empty_are_right_on_sail(name: str) -> None:
    tables = {"t": TableCase(COLUMNS, True, CAME, GONE)}
    query = QueryCase((Select(("1",), "t"),), outer=QUERIES[name])
    case = Case(name, tables, query, len(CAME), early=True)
    for method in ("auto", "progressive"):
        run_case(replace(case, method=method), PlainSailEngine(sail_session()))


def test_an_engine_without_flaws_gets_plain_stages() -> None:
    sql, output = stages_of("SELECT k, sum(v) AS s, sum(CAST(v AS DOUBLE)) AS a FROM t GROUP BY k")
    assert "FILTER" not in sql
    assert output.types == ()


def test_calls_that_differ_by_casts_have_different_names() -> None:
    sql, _ = stages_of(
        "SELECT min(v) AS a, min(CAST(v AS DOUBLE)) AS b, min(CAST(v AS INT)) AS c, min(v) AS d, "
        "min(k) AS e FROM t",
        "casts",
    )
    assert sql.count("FILTER (WHERE true)") == 1
    assert sql.count("FILTER (WHERE true AND true)") == 1
    ((*found,),) = PlainSailEngine(sail_session()).query(
        sql.replace("FROM `t`", "FROM VALUES (2L, 1L) AS t(v, k)").replace("`t`.", "t.")
    )
    assert found == [2, 2.0, 2, 2, 1]


def test_the_result_has_the_types_of_spark() -> None:
    text = "SELECT m / v AS q, datediff(d, d) AS n, nullif(m, 0) AS o FROM t"
    _, output = stages_of(text, "types")
    assert output.types == ("DECIMAL(30,23)", "INT", "DECIMAL(9,2)")
    assert SAIL.flaws >= {"types"}


def test_rules_whose_results_an_engine_does_not_compute_are_left_out() -> None:
    assert "arrays_zip" in stages_of(QUERIES["fields"])[0]
    assert "arrays_zip" not in stages_of(QUERIES["fields"], "fields")[0]
    assert SAIL.flaws >= set(LEFT_OUT)
    known = {rule.name for rule in LOCAL} | set(RULE_NAMES)
    assert known.issuperset(LEFT_OUT.values())


@pytest.mark.parametrize("own_batch", ["never", "always"])
def test_joins_stay_joins_below_a_quotient(own_batch: Literal["never", "always"]) -> None:
    """What keeps rows together that a quotient fails without must not keep the equalities of the
    joins from them: of four tables, that would be the product."""
    sql, _ = stages_of(
        "SELECT a.k FROM t a, t b WHERE a.k = b.k AND b.v > 0 AND CASE WHEN b.v > 0 THEN a.v / b.v "
        "END > 2",
        "quotients",
        own_batch=own_batch,
    )
    below, above = sql.split("LIMIT")
    assert "/" in above
    assert "/" not in below
    assert ".`k` = " in below
    assert "> 0L" in below
