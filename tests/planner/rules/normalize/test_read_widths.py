"""What is read of nested columns: how wide scans are, for stages of our own and for the text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.request import (
    ColumnStats,
    Committed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.result import PlanResult
from forerun.planner.rules.normalize.leaves import with_read_widths

NESTED = {
    "s": "STRUCT<a:BIGINT,b:STRUCT<c:BIGINT,d:BIGINT>,e:BIGINT>",
    "items": "ARRAY<STRUCT<sku:BIGINT,qty:BIGINT,x:BIGINT,y:BIGINT>>",
    "m": "MAP<STRING,STRUCT<a:BIGINT,b:BIGINT>>",
}
TABLE = Source(
    name="t",
    columns=(
        SourceColumn(name="k", type=parse_type("BIGINT")),
        *(SourceColumn(name=name, type=parse_type(type_)) for name, type_ in NESTED.items()),
    ),
    changing=True,
    rows=100_000_000,
    bytes=100_000_000_000,
    stats=(
        ("k", ColumnStats(distinct=10.0, width=8.0)),
        *((name, ColumnStats(width=400.0)) for name in NESTED),
    ),
)


def planned(sql: str, *off: str, table: Source = TABLE) -> PlanResult:
    point = TimePoint(weight=1.0)
    settings = Settings(rules_off=off)
    request = PlanRequest(report="r", sql=sql, sources=(table,), points=(point,), settings=settings)
    return plan(request)


def widths(sql: str) -> tuple[dict[str, float], float]:
    (source,) = planned(sql).reading.request.sources
    return {name: known.width for name, known in source.stats}, source.beside


@pytest.mark.parametrize(
    ("read", "column", "width"),
    [
        ("s", "s", 400.0),
        ("s.a", "s", 100.0),
        ("s.a + s.b.c", "s", 200.0),
        ("coalesce(s.a, s.b.c, s.b.d)", "s", 300.0),
        ("to_json(s.b)", "s", 200.0),
        ("array_max(items.qty)", "items", 100.0),
        ("size(items)", "items", 400.0),
        ("m['x'].a", "m", 400.0),  # keys and values are each a column, and read to the end
        ("k", "k", 8.0),
    ],
)
def test_a_nested_column_is_as_wide_as_what_is_read_of_it(
    read: str, column: str, width: float
) -> None:
    found, beside = widths(f"SELECT {read} AS v FROM t WHERE k > 1")
    assert found[column] == width
    assert beside == 0.0


@pytest.mark.parametrize(
    ("read", "width", "beside"),
    [
        ("e.sku, max(e.qty)", 200.0, 200.0),
        ("e.sku, max(e.qty + e.x)", 300.0, 100.0),
        ("e.sku, count(*)", 100.0, 0.0),  # Spark reads one field alone, too
        ("e.sku, max(e)", 400.0, 0.0),
    ],
)
def test_the_text_reads_all_fields_behind_a_generator_of_which_several_are_read(
    read: str, width: float, beside: float
) -> None:
    found, more = widths(f"SELECT {read} FROM t LATERAL VIEW explode(items) v AS e GROUP BY e.sku")
    assert (found["items"], more) == (width, beside)


def test_stages_of_our_own_take_the_place_of_a_text_that_reads_more() -> None:
    sql = "SELECT e.sku, max(e.qty) AS q FROM t LATERAL VIEW explode(items) v AS e GROUP BY e.sku"
    wide = replace(TABLE, stats=(("items", ColumnStats(width=8000.0)),))
    found, without = (planned(sql, *off, table=wide) for off in ((), ("ReadGeneratedLeaves",)))
    assert found.decided == "own-batch"
    assert without.decided == "batch"
    assert found.plan.estimated_cost < 0.8 * without.plan.estimated_cost
    assert found.plan.batch_cost == pytest.approx(without.plan.batch_cost, rel=0.05)


def test_a_query_that_is_read_again_is_not_narrowed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run of a day looks at batch once more, in the order of joins that is best by then."""
    sql = "SELECT s.a, count(*) AS n FROM t GROUP BY s.a"
    points = (TimePoint(weight=0.1, arrived=0.5), TimePoint(weight=1.0))
    request = PlanRequest(report="r", sql=sql, sources=(TABLE,), points=points)
    first = plan(request)
    seen: list[float] = []

    def noting(relation: Relation, text: Relation, given: tuple[Source, ...]) -> tuple[Source, ...]:
        seen.extend(dict(source.stats)["s"].width for source in given)
        return with_read_widths(relation, text, given)

    monkeypatch.setattr(api, "with_read_widths", noting)
    committed = Committed(index=1, families=first.plan.families)
    plan(replace(request, current=2, committed=(committed,), first_sources=(TABLE,)))
    assert seen == [400.0] * 3  # of today, of the first run, and of today once more
