"""Intervals that are read of conditions, and the buckets of their widths."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.intervals import bucket_of_width, interval, is_bucket_of_width
from forerun.planner.algebra.relational import Join, walk
from forerun.planner.algebra.scalar import Call, Literal, Ref
from forerun.planner.algebra.types import BIGINT, Column, ColumnId, parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds

TYPES = {"k": "BIGINT", "i": "INT", "d": "DATE", "t": "TIMESTAMP", "m": "DECIMAL(9,2)"}
TYPES |= {"f": "DOUBLE", "n": "TIMESTAMP_NTZ", "s": "STRING", "w": "DECIMAL(38,2)"}
COLUMNS = {name + end: type_ for name, type_ in TYPES.items() for end in ("", "2")}
READ = {
    "b.k BETWEEN a.k AND a.k2": (1, "k", "k", "k2"),
    "a.k BETWEEN b.k AND b.k2": (0, "k", "k", "k2"),
    "b.k < a.k2 AND a.k <= b.k AND a.i < b.i": (1, "k", "k", "k2"),
    "b.d > a.d AND b.d < a.d2": (1, "d", "d", "d2"),
    "b.t BETWEEN a.t AND a.t2": (1, "t", "t", "t2"),
    "b.m BETWEEN a.m AND a.m2": (1, "m", "m", "m2"),
    "b.i BETWEEN a.k AND a.i2": (1, "i", "k", "i2"),
    "b.d BETWEEN a.d AND coalesce(a.d2, DATE'9999-12-31')": (1, "d", "d", "coalesce(d2)"),
    "b.d BETWEEN a.d AND date_add(a.d, a.i)": (1, "d", "d", "date_add(d, i)"),
    "b.t BETWEEN a.d AND a.t2": (1, "t", "cast(d)", "t2"),
    "b.d >= a.d AND (b.d < a.d2 OR a.d2 IS NULL)": (1, "d", "d", "d2?"),
    "(a.k IS NULL OR a.k < b.k) AND b.k <= a.k2": (1, "k", "k?", "k2"),
}
"""A condition, the side of the point (0: a), the point, and the bounds; ``?``: one that may be
open."""
NONE = (
    "b.k > a.k",
    "b.k > a.k AND b.k2 < a.k2",  # two points
    "b.k BETWEEN 1 AND a.k2",
    "a.k2 BETWEEN a.k AND b.k",
    "b.k BETWEEN a.k AND a.k2 + b.i",
    "b.k BETWEEN a.k AND a.k2 OR a.i = 1",
    "(b.k > a.k OR b.k IS NULL) AND b.k < a.k2",  # a point of NULL is no bound
    "(b.k > a.k OR a.k IS NULL) AND (b.k < a.k2 OR a.k2 IS NULL)",  # both are open
    "(b.k > a.k OR a.i IS NULL) AND b.k < a.k2",
    "b.f BETWEEN a.f AND a.f2",
    "b.n BETWEEN a.n AND a.n2",
    "b.s BETWEEN a.s AND a.s2",
    "b.w BETWEEN a.w AND a.w2",  # more than a BIGINT has
)


def read(condition: str) -> tuple[int, str, str, str] | None:
    columns = tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in COLUMNS.items())
    sources = tuple(Source(name=name, columns=columns, changing=True) for name in "ab")
    query = read_query(f"SELECT 1 FROM a JOIN b ON {condition}", sources)
    plain = normalize(query.relation, sources, ColumnIds(query.last_id))
    (join,) = (node for node in walk(plain) if isinstance(node, Join))
    found = interval(join)
    if found is None:
        return None
    low, point, high = found.scalars
    ends = (low, found.low), (high, found.high)
    bounds = (f"{text(scalar)}{'?' if end.open_ else ''}" for scalar, end in ends)
    return found.point_side, text(point), *bounds


def text(scalar) -> str:
    if isinstance(scalar, Ref):
        return scalar.column.name
    told = ", ".join(text(arg) for arg in scalar.args if not isinstance(arg, Literal))
    return f"{scalar.name}({told})"


@pytest.mark.parametrize("condition", READ)
def test_read(condition: str) -> None:
    assert read(condition) == READ[condition]


@pytest.mark.parametrize("condition", NONE)
def test_no_interval(condition: str) -> None:
    assert read(condition) is None


def test_a_bucket_of_a_width_is_known_again() -> None:
    number, width, after = (Column(ColumnId(n), "x", BIGINT) for n in (1, 2, 3))
    assert is_bucket_of_width(bucket_of_width(number, width))
    assert is_bucket_of_width(bucket_of_width(number, width, after))
    for other in (Literal("7", BIGINT), Call("neg", (Ref(width),), BIGINT)):
        assert not is_bucket_of_width(Call("div", (Ref(number), other), BIGINT))
    assert not is_bucket_of_width(Call("+", (Ref(number), Ref(after)), BIGINT))
