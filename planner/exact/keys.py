"""Keys of a join that Spark packs into one long, where the bounds of the files allow it.

Spark looks up an integer key of up to 8 bytes in a table of longs. Any other key is a row of bytes
that is hashed and compared, which is several times as dear. A key such as ``(BIGINT, INT)`` fits
if its values do: order numbers below two billion are INTs. Both sides of an equality are cast to a
type that holds every value of both, so it says the same of each pair of rows, NULLs included. Where
a bound is wrong the cast fails, and with it the run.

Rows that are distributed by columns are not so by their casts: this is for joins of which neither
side is moved by its key.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import Join
from forerun.planner.algebra.scalar import TRUE, Call, Ref, Scalar, conjunction
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, SMALLINT, TINYINT, Column, DataType
from forerun.planner.cost.operators import INTEGER_BYTES, PACKED_BYTES, is_one_long
from forerun.planner.exact.narrowing import Bounds, Narrowing, cast_to

_BY_WIDTH = (TINYINT, SMALLINT, INT, BIGINT)


def with_packed_key(join: Join, narrowing: Narrowing) -> Join:
    """Return the join with its key in types that Spark packs, or the join itself where it packs the
    key anyway or the bounds do not say that it can."""
    condition = split_condition(join)
    if not condition.pairs or join.mark is not None or is_one_long(join):
        return join
    types = [_holding_both(pair, narrowing) for pair in condition.pairs]
    narrow = [type_ for type_ in types if type_ is not None]
    if len(narrow) < len(types) or sum(INTEGER_BYTES[t.name] for t in narrow) > PACKED_BYTES:
        return join
    others = () if condition.residual == TRUE else (condition.residual,)
    equal: list[Scalar] = []
    for (left, right), type_ in zip(condition.pairs, narrow, strict=True):
        sides = cast_to(Ref(left), type_), cast_to(Ref(right), type_)
        equal.append(Call("=", sides, BOOLEAN))
    return replace(join, condition=conjunction((*equal, *others)))


def _holding_both(pair: tuple[Column, Column], narrowing: Narrowing) -> DataType | None:
    """Return the narrowest type of whole numbers for the values of both columns, None where a bound
    is not known."""
    known = [narrowing.of(Ref(column)).bounds for column in pair]
    bounds = [one for one in known if one is not None]
    if len(bounds) < len(pair) or not all(column.type.is_integer for column in pair):
        return None
    return next((type_ for type_ in _BY_WIDTH if _holds(type_, bounds)), None)


def _holds(type_: DataType, bounds: list[Bounds]) -> bool:
    most = Fraction(2 ** (8 * INTEGER_BYTES[type_.name] - 1))
    return all(-most <= one.low and one.high < most for one in bounds)
