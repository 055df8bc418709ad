"""Changelogs whose rows are at the limits of their types, come more than once, and go again: sums
and means of what stays are those of batch, whatever came and went in between.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

from tests.oracles.values import Row
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.execute import run_case
from tests.properties.sessions import sail_session, spark_session

DECIMALS = {
    "DECIMAL(9,2)": ("9999999.99", "-9999999.99"),
    "DECIMAL(18,0)": ("9" * 18, "-" + "9" * 18),
    "DECIMAL(20,10)": ("9999999999.9999999999", "0.0000000001"),
    "DECIMAL(28,8)": ("9" * 20 + ".99999999", "0.00000001"),
}
WHOLE = {
    "INT": (2**31 - 1, -(2**31)),
    "BIGINT": (2**63 - 1, -(2**63)),
    "SMALLINT": (2**15 - 1, -(2**15)),
}


class AddedUp(TableCase):
    """Deliveries as runs get them: each row once, with how often it came more than it went."""

    def delta(self, base: int, run: int) -> list[Row]:
        weights: Counter[Row] = Counter()
        for *row, weight in super().delta(base, run):
            weights[tuple(row)] += weight
        return [(*row, weight) for row, weight in weights.items() if weight]


Rows = tuple[tuple[int, object], ...]


def day_of(type_: str, came: tuple[Rows, ...], went: tuple[Rows, ...], *calls: str) -> Case:
    table = AddedUp((("k", "INT"), ("v", type_)), True, came, went)
    select = Select(("k", *calls), "t", group=("k",))
    return Case("limits", {"t": table}, QueryCase((select,)), runs=3, early=True)


def several_times(type_: str, *calls: str) -> Case:
    """Rows that come several times in one delivery and go several times in another: a delivery has
    them once, with a weight."""
    high, low = map(Decimal, DECIMALS[type_])
    zero = high - high
    came = (
        ((1, high), (1, high), (2, low), (2, low), (3, zero)),
        ((1, high), (1, high), (1, high), (2, low), (2, low), (4, low), (4, low)),
        ((3, low), (3, high)),
    )
    went = ((), ((3, zero),), ((1, high),) * 4 + ((2, low),) * 3 + ((4, low), (4, low)))
    return day_of(type_, came, went, *calls)


def corrected(type_: str, *calls: str) -> Case:
    """A row at one limit of its type that is replaced by one at the other: neither the negative of
    the one nor the difference of the two is of the type."""
    high, low = WHOLE[type_]
    came = (((1, low), (2, high)), ((1, high), (2, low)), ((1, 0), (3, low)))
    went = ((), ((1, low), (2, high)), ((1, high), (2, low)))
    return day_of(type_, came, went, *calls)


@pytest.mark.parametrize("type_", DECIMALS)
def test_sums_of_rows_that_come_several_times_equal_batch(type_):
    case = several_times(type_, "sum(v)", "avg(v)", "count(v)", "sum(v - v)")
    assert run_case(case, PlainSailEngine(sail_session())).kept


@pytest.mark.spark
@pytest.mark.slow
def test_sums_at_the_limits_of_every_type_equal_batch_on_spark():
    """Spark raises where a value leaves its type; Sail lets whole numbers wrap around."""
    engine = PlainSparkEngine(spark_session())
    for calls in (("sum(v)",), ("avg(v)",), ("sum(v)", "avg(v)", "min(v)")):
        for type_ in DECIMALS:
            assert run_case(several_times(type_, *calls), engine).kept, (type_, calls)
        for type_ in WHOLE:
            assert run_case(corrected(type_, *calls), engine).kept, (type_, calls)
