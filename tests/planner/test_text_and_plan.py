"""What a text names is bound whatever becomes of it, and conditions of any shape are planned."""

from __future__ import annotations

from itertools import product

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import plan
from forerun.planner.contract import decode_plan, encode_plan
from forerun.planner.request import Method, PlanRequest, Settings, Source, SourceColumn, TimePoint

COLUMNS = (
    SourceColumn(name="k", type=BIGINT),
    SourceColumn(name="v", type=BIGINT),
    SourceColumn(name="s", type=STRING),
)
A, B, C = (
    Source(name=name, columns=COLUMNS, changing=True, rows=1_000_000, bytes=10**8)
    for name in ("A", "b", "c")
)
NAMED = {
    "WITH unused AS (SELECT k FROM b) SELECT k FROM a": ("A", "b"),
    "WITH x AS (SELECT k FROM b), y AS (SELECT k FROM x) SELECT k FROM a": ("A", "b"),
    "SELECT k FROM a WHERE EXISTS (SELECT count(*) FROM b)": ("A", "b"),
    "SELECT k FROM a WHERE EXISTS (SELECT max(v) FROM b WHERE b.k = a.k)": ("A", "b"),
    "SELECT k FROM a WHERE NOT EXISTS (SELECT count(*) FROM b WHERE b.k = a.k)": ("A", "b"),
    "SELECT k FROM a WHERE false AND k IN (SELECT k FROM b)": ("A", "b"),
    "SELECT k FROM a LEFT JOIN (SELECT count(*) AS n FROM b) t ON true": ("A", "b"),
    "SELECT k FROM a UNION ALL SELECT k FROM b WHERE false": ("A", "b"),
    "SELECT k FROM a WHERE k > 1 AND (true OR k IN (SELECT v FROM b))": ("A", "b"),
    "SELECT k, (SELECT count(*) FROM b LIMIT 0) AS n FROM a": ("A", "b"),
    "SELECT t.k FROM (SELECT k, (SELECT max(v) FROM b) AS m FROM a) t": ("A", "b"),
    "SELECT 1 AS one FROM a LIMIT 0": ("A",),
    "SELECT k FROM a WHERE 1 = 2": ("A",),
}


def request(sql: str, method: Method = "auto", early: bool = False) -> PlanRequest:
    return PlanRequest(
        report="r",
        sql=sql,
        sources=(A, B, C),
        points=(TimePoint(weight=0.2, arrived=0.5), TimePoint(weight=1.0)),
        method=method,
        settings=Settings(temporal="early" if early else "cost", tries=2, compare=0),
    )


@pytest.mark.parametrize("sql", NAMED)
def test_batch_binds_all_that_the_text_names(sql):
    """Spark looks up every table of a text before it knows what of it matters."""
    found = plan(request(sql, "batch"))
    (stage,) = found.plan.run.stages or found.plan.runs[-1].stages
    assert stage.sql == sql
    assert tuple(one.source for one in stage.inputs) == NAMED[sql]
    assert tuple(one.name for one in found.plan.sources) == NAMED[sql]


@pytest.mark.parametrize("sql", NAMED)
def test_a_plan_of_our_own_binds_what_it_reads(sql):
    found = plan(request(sql, "progressive", early=True)).plan
    known = {one.name for one in found.sources}
    read = {i.source for run in found.runs for s in run.stages for i in s.inputs
            if hasattr(i, "source")}  # fmt: skip
    assert read <= known <= set(NAMED[sql])


TERMS = ("a.k = b.k", "a.v = b.v", "a.s = b.s", "a.k IS NULL", "b.v > 3", "(a.k = b.k) IS NULL")
SHAPES = (
    "SELECT a.k, b.v FROM a LEFT JOIN b ON {0}",
    "SELECT a.k, b.v FROM a FULL JOIN b ON {0}",
    "SELECT a.k FROM a LEFT ANTI JOIN b ON {0}",
    "SELECT a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {0})",
    "SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {0})",
    "SELECT a.k FROM a JOIN b ON {0}",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("terms", range(1, len(TERMS) + 1))
def test_a_join_on_any_number_of_terms_is_planned(shape, terms):
    """Every length of an OR, from both ends of the list, in every kind of join."""
    for chosen, (method, early) in product(
        (TERMS[:terms], TERMS[-terms:]), (("batch", False), ("auto", False), ("progressive", True))
    ):
        sql = shape.format(" OR ".join(chosen))
        found = plan(request(sql, method, early)).plan
        assert decode_plan(encode_plan(found)) == found
