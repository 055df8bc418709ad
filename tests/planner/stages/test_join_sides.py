"""Which side of a join is written first, for an engine that hashes the first one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint

ENGINE = replace(SPARK, hashes_first=True)
SIZES = {"large": 10_000_000, "small": 1_000}


def sql_of(text: str, *, hashes_first: bool = True) -> str:
    """The one stage of a query in stages of our own."""
    sources = tuple(
        Source(
            name=name,
            columns=tuple(SourceColumn(name=c, type=parse_type("BIGINT")) for c in ("k", "v")),
            rows=rows,
            bytes=16 * rows,
        )
        for name, rows in SIZES.items()
    )
    request = PlanRequest(
        report="r",
        sql=text,
        sources=sources,
        points=(TimePoint(weight=1.0),),
        method="batch",
        settings=Settings(
            own_batch="always",
            small_sides=False,
            prices=replace(ENGINE, hashes_first=hashes_first),
        ),
    )
    (stage,) = plan(request).plan.run.stages
    return stage.sql


def first(sql: str) -> str:
    """The table that is named first after a FROM."""
    return re.findall(r"FROM `(large|small)`", sql)[0]


@pytest.mark.parametrize("tables", ["large l JOIN small s", "small s JOIN large l"])
def test_the_smaller_side_of_an_inner_join_is_first(tables: str):
    text = f"SELECT l.v AS x, s.v AS y FROM {tables} ON l.k = s.k"
    assert first(sql_of(text)) == "small"


def test_it_is_not_where_the_engine_knows_the_sizes():
    text = "SELECT l.v AS x, s.v AS y FROM large l JOIN small s ON l.k = s.k"
    assert first(sql_of(text, hashes_first=False)) == "large"


@pytest.mark.parametrize("kind", ["LEFT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_a_join_that_cannot_be_turned_stays(kind: str):
    columns = "l.v AS x" if kind.endswith("I") else "l.v AS x, s.v AS y"
    text = f"SELECT {columns} FROM large l {kind} JOIN small s ON l.k = s.k"
    assert first(sql_of(text)) == "large"


def test_columns_keep_their_places_in_a_union():
    text = (
        "SELECT * FROM large l JOIN small s ON l.k = s.k "
        "UNION ALL SELECT * FROM small s JOIN large l ON l.k = s.k"
    )
    one, two = sql_of(text).split("UNION ALL")
    read = [re.findall(r"`(large|small)(?:_2)?`\.`v` AS", part) for part in (one, two)]
    assert read == [["large", "small"], ["small", "large"]]
    assert [first(one), first(two)] == ["small", "small"]
