"""Bands that are read of conditions, and the buckets that find all pairs in them."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.bands import Band, as_bucket, bands, bucket, buckets_apart
from forerun.planner.algebra.relational import Join, walk
from forerun.planner.algebra.scalar import Call, Literal, Ref, conjuncts
from forerun.planner.algebra.types import BIGINT, Column, ColumnId, parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds

COLUMNS = {
    "k": "BIGINT",
    "i": "INT",
    "d": "DATE",
    "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ",
    "f": "DOUBLE",
    "m": "DECIMAL(9,2)",
    "o": "DECIMAL(18,2)",
    "r": "DECIMAL(18,4)",
    "w": "DECIMAL(19,2)",
}
MINUTE, DAY, CLOCKS = 60_000_000, 86_400_000_000, 30 * 3_600_000_000
READ = {
    "b.k BETWEEN a.k - 10 AND a.k + 20": ("k", "k", -10, 20),
    "a.k - 10 < b.k AND 20 + a.k > b.k": ("k", "k", -10, 20),
    "b.k - 20 <= a.k AND b.k + 10 >= a.k": ("k", "k", -10, 20),
    "b.k >= a.k AND b.k <= a.k + 5 AND b.k <= a.k + 7": ("k", "k", 0, 5),
    "b.k BETWEEN a.i - 10 AND a.i + 10": ("i", "k", -10, 10),
    "b.d BETWEEN a.d AND date_add(a.d, 7)": ("d", "d", 0, 7),
    "b.d > a.d + 2 AND b.d <= a.d + INTERVAL 2 WEEKS": ("d", "d", 2, 14),
    "datediff(b.d, a.d) BETWEEN -3 AND 4": ("d", "d", -3, 4),
    "3 >= datediff(a.d, b.d) AND 4 >= datediff(b.d, a.d)": ("d", "d", -3, 4),
    "b.m BETWEEN a.m - 0.05 AND a.m + 0.1": ("m", "m", -5, 10),
    "b.o > a.m AND b.o <= a.m + 3": ("m", "o", 0, 300),
    "b.m BETWEEN a.m + 1.5 AND a.m + 2.25": ("m", "m", 150, 225),
    "b.r BETWEEN a.r - 1BD AND a.r": ("r", "r", -10_000, 0),
    "b.m - a.m BETWEEN -0.05 AND 0.10": ("m", "m", -5, 10),
    "b.o - a.m < 3 AND 2 > a.m - b.o": ("m", "o", -200, 300),
    "abs(a.m - b.m) <= 0.01": ("m", "m", -1, 1),
    "abs(datediff(a.d, b.d)) < 3 AND b.d > a.d": ("d", "d", 0, 3),
    "b.t >= a.t AND b.t < a.t + INTERVAL 30 MINUTES": ("t", "t", 0, 30 * MINUTE),
    "b.t BETWEEN a.t - INTERVAL 1 DAY AND a.t": ("t", "t", -DAY - CLOCKS, 0),
}
"""A condition, and the band of b after a that it says; a day of the clocks is not 24 hours."""
NONE = (
    "b.k > a.k",  # one bound
    "b.k BETWEEN a.k + 5 AND a.k + 10",  # both past the largest number are the smallest again
    "b.k BETWEEN a.k + 5 AND a.k - 5",  # empty
    "b.k - a.k BETWEEN -5 AND 5",  # a difference may wrap around, too
    "b.k + 5 BETWEEN a.k + 1 AND a.k + 9",
    "b.k BETWEEN a.k - a.i AND a.k + 10",
    "b.k BETWEEN 5 AND 10 AND a.k < 7",
    "b.f BETWEEN a.f - 1 AND a.f + 1",
    "b.m BETWEEN a.m - 0.005 AND a.m",  # of other digits
    "b.m BETWEEN a.r - 1 AND a.r",
    "abs(a.m - b.r) <= 1",
    "abs(a.k - b.k) <= 1",
    "abs(a.m) <= 1 AND abs(b.m) <= 1",
    "a.m - b.m <= 1",
    "abs(a.w - b.w) <= 1",
    "b.m BETWEEN a.m - 1.0D AND a.m",
    "b.w BETWEEN a.w - 1 AND a.w",  # more than a BIGINT has
    "b.n BETWEEN a.n AND a.n + INTERVAL 1 HOUR",
    "b.d BETWEEN a.d AND add_months(a.d, 1)",
    "b.t BETWEEN a.t AND a.t + INTERVAL 1 MONTH",
    "b.t BETWEEN a.t AND a.t + INTERVAL '1.5' SECOND",
    "b.k BETWEEN a.k - 10 AND a.k + 10 OR a.i = 1",
)


def read(condition: str) -> tuple[Band, ...]:
    columns = tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS.items())
    sources = tuple(Source(name=name, columns=columns, changing=True) for name in "ab")
    query = read_query(f"SELECT 1 FROM a JOIN b ON {condition}", sources)
    plain = normalize(query.relation, sources, ColumnIds(query.last_id))
    (join,) = (node for node in walk(plain) if isinstance(node, Join))
    return bands(conjuncts(join.condition))


@pytest.mark.parametrize("condition", READ)
def test_read(condition: str) -> None:
    (band,) = read(condition)
    assert (band.base.name, band.point.name, band.low, band.high) == READ[condition]


@pytest.mark.parametrize("condition", NONE)
def test_no_band(condition: str) -> None:
    assert read(condition) == ()


def towards_zero(value: int, width: int) -> int:
    return abs(value) // width * (1 if value >= 0 else -1)


def test_buckets_of_a_pair_in_a_band_are_so_many_apart() -> None:
    one, other = (Column(ColumnId(n), "x", BIGINT) for n in (1, 2))
    for low in range(-12, 13):
        for high in range(low, 13):
            for width in (2, 3, max(2, high - low)):
                apart = buckets_apart(Band(one, other, low, high), width)
                far = [
                    towards_zero(x + d, width) - towards_zero(x, width)
                    for x in range(-25, 26)
                    for d in range(low, high + 1)
                ]
                assert set(far) <= set(apart)
                assert len(apart) <= len(set(far)) + 1, "hardly more than there are"


def test_a_bucket_is_known_again() -> None:
    for name, type_ in COLUMNS.items():
        column = Column(ColumnId(1), name, parse_type(type_))
        if name in "kidtmor":
            found = as_bucket(bucket(column, 7))
            assert found is not None
            assert (found.column, found.width) == (column, 7)
    column = Column(ColumnId(1), "k", BIGINT)
    assert as_bucket(Call("div", (Ref(column), Literal("0", BIGINT)), BIGINT)) is None
    assert as_bucket(Call("div", (Ref(column), Ref(column)), BIGINT)) is None
    assert as_bucket(Call("%", (Ref(column), Literal("7", BIGINT)), BIGINT)) is None
