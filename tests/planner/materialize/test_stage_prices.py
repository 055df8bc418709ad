"""Stages of our own compute sums of DECIMALs exactly, and are priced so; the user's text is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT, decimal
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import (
    ColumnStats,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)

ROWS = 50_000_000
PRICE = ColumnStats(minimum="0.00", maximum="9999.99", distinct=100_000.0)
KEYS = ColumnStats(distinct=7.0)
"""Fewer than a stage has partitions, so that a text has no more of them, either."""
SALES = Source(
    name="sales",
    columns=(SourceColumn(name="k", type=BIGINT), SourceColumn(name="price", type=decimal(15, 2))),
    rows=ROWS,
    bytes=16 * ROWS,
    stats=(("k", KEYS), ("price", PRICE)),
)
FEW = ColumnStats(minimum="0.00", maximum="0.10", distinct=11.0)
SUMS = "SELECT k, sum(price) AS s FROM sales GROUP BY k"
SAVED = ROWS * (SPARK.decimal_row - 2 * SPARK.narrow_decimal_row)
"""Of a sum, which is of casts then."""


def saved(sales: Source = SALES, sql: str = SUMS, **settings: Any) -> float:
    """By how much batch in stages of our own is estimated below the user's text."""
    points = (TimePoint(weight=1.0),)
    asked = PlanRequest(
        report="r", sql=sql, sources=(sales,), points=points, method="batch",
        settings=Settings(own_batch="always", **settings),
    )  # fmt: skip
    own = api.plan(asked).plan
    text = api.plan(replace(asked, settings=replace(asked.settings, own_batch="never"))).plan
    assert text.estimated_cost == text.batch_cost == own.batch_cost
    return text.estimated_cost - own.estimated_cost


def test_sums_of_decimals_cost_less_in_stages_of_our_own() -> None:
    assert saved() == pytest.approx(SAVED, rel=0.01)


def test_not_without_bounds_or_where_they_are_turned_off() -> None:
    unknown = replace(SALES, stats=(("k", KEYS),))
    assert saved(unknown) == saved(exact_sums=False) == 0


def test_products_of_narrow_decimals_cost_what_they_cost() -> None:
    """10 digits are too many for longs, and a product is computed by big integers in any types."""
    assert saved(sql=SUMS.replace("price", "price * price")) == 0


def test_what_groups_are_multiplied_by_costs_rows_nothing() -> None:
    columns = (*SALES.columns, SourceColumn(name="part", type=decimal(15, 2)))
    sales = replace(SALES, columns=columns, stats=(*SALES.stats, ("part", FEW)))
    product = saved(sales, SUMS.replace("price", "price * part"))
    assert product == pytest.approx(SAVED + ROWS * SPARK.decimal_row, rel=0.01)


def test_each_branch_of_a_case_costs_what_it_is_computed_as() -> None:
    columns = (*SALES.columns, SourceColumn(name="part", type=decimal(15, 2)))
    sales = replace(SALES, columns=columns, stats=(*SALES.stats, ("part", FEW)))
    either = saved(sales, SUMS.replace("price", "IF(k > 0, price * part, -price)"))
    # A product and a cast to its many digits less, and some choices more.
    assert SAVED + ROWS * SPARK.decimal_row < either < SAVED + 2 * ROWS * SPARK.decimal_row


def test_a_source_without_decimals_takes_nothing_away() -> None:
    sales = replace(SALES, columns=(*SALES.columns, SourceColumn(name="none", type=decimal(9, 2))))
    assert saved(sales) == pytest.approx(SAVED, rel=0.01)


def test_each_group_of_a_wide_sum_costs_besides() -> None:
    """Its state is an object for each group, while that of a narrow one is a long of its row."""
    groups = ROWS / 20
    many = replace(SALES, stats=(("k", ColumnStats(distinct=groups)), ("price", PRICE)))
    wide = saved(many) - saved(many, prices=replace(SPARK, wide_group=0.0))
    assert wide == pytest.approx(groups * SPARK.wide_group, rel=0.01)
