"""Whole numbers that are far from overflowing, whichever rows of a source they are computed of.

A sum over rows that a join drops later may overflow where the query's own sum does not, and so may
what it adds up, as ``-cost`` or ``price * quantity``. Where the values that a source has are small
beside their type and its rows, neither does, and it is computed as it is. Elsewhere sums are of
DECIMALs, which costs several times as much, and what is computed of values stays above the join.
If the values of later rows are larger by so much that it does overflow, the run fails, as any
overflow does, and the last try of the final run is the query's text: no result is wrong by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, prod
from typing import NamedTuple

from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, value_places
from forerun.planner.algebra.types import ColumnId
from forerun.planner.request import Source
from forerun.planner.rules.normalize.safety import can_fail
from forerun.planner.stats.values import number

_ROOM = 1000
"""So many times the greatest sum that a source's own rows can have is still no overflow."""
_ROOM_OF_VALUES = 10
"""So many times the greatest value that a source's own rows can give is still none."""
_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_SMALL_LITERAL = 10**9


class Magnitude(NamedTuple):
    """The greatest absolute value of whole numbers, and how many rows have one."""

    most: int
    rows: int


Magnitudes = Mapping[ColumnId, Magnitude]


def magnitudes(sources: Iterable[Source]) -> dict[tuple[str, str], Magnitude]:
    """Return what is known of the columns of whole numbers, each with the name of its source, by
    the files that have come."""
    found = {}
    for source in sources:
        types = {column.name: column.type for column in source.columns}
        for name, known in source.stats:
            if name not in types or not types[name].is_integer:
                continue
            low, high = (number(end, types[name]) for end in (known.minimum, known.maximum))
            if low is not None and high is not None:
                most = ceil(max(abs(low), abs(high)))
                found[source.name, name] = Magnitude(most, max(1, source.rows))
    return found


def magnitude(scalar: Scalar, known: Magnitudes) -> Magnitude | None:
    """Return the magnitude of an expression of whole numbers, over the rows of the largest source
    that it reads; None if it is not known."""
    if isinstance(scalar, Ref):
        return known.get(scalar.column.id)
    if isinstance(scalar, Literal):
        if scalar.text is None:
            return Magnitude(0, 1)
        return Magnitude(abs(int(scalar.text)), 1) if scalar.type.is_integer else None
    if scalar.name not in _MAGNITUDES or not scalar.type.is_integer:
        return None
    found = [magnitude(value, known) for value in _values(scalar)]
    whole = [one for one in found if one is not None]
    if len(whole) < len(found):
        return None
    most = _MAGNITUDES[scalar.name]([one.most for one in whole])
    return Magnitude(most, max(one.rows for one in whole))


CHOICES = ("case", "if", "coalesce")
"""Functions whose value is one of their arguments."""
_MAGNITUDES: Mapping[str, Callable[[Sequence[int]], int]] = {
    **dict.fromkeys(CHOICES, max),
    **dict.fromkeys(("+", "-", "neg", "abs", "cast"), sum),
    "*": prod,
}
"""The greatest absolute value of a function by those of its values."""


def values_of(choice: Call) -> tuple[Scalar, ...]:
    """Return the arguments of a choice that are its values."""
    places = range(len(choice.args)) if choice.name == "coalesce" else value_places(choice)
    return tuple(choice.args[place] for place in places)


def _values(call: Call) -> tuple[Scalar, ...]:
    return values_of(call) if call.name in CHOICES else call.args


def has_small_sums(scalar: Scalar, known: Magnitudes) -> bool:
    """Return whether sums of a BIGINT do not overflow."""
    if isinstance(scalar, Literal):
        return scalar.text is None or abs(int(scalar.text)) < _SMALL_LITERAL
    if isinstance(scalar, Call) and scalar.name == "cast":
        return scalar.args[0].type.is_integer and scalar.args[0].type.name != "BIGINT"
    if isinstance(scalar, Call) and scalar.name in CHOICES:
        return all(has_small_sums(value, known) for value in values_of(scalar))
    found = magnitude(scalar, known)
    return found is not None and found.most * found.rows * _ROOM < 2 ** _BITS["BIGINT"]


def may_fail(scalar: Scalar, known: Magnitudes) -> bool:
    """Return whether an expression may fail on rows of its sources, by what is known of them."""
    return can_fail(scalar, lambda call: _is_small(call, known))


def _is_small(call: Call, known: Magnitudes) -> bool:
    found = magnitude(call, known) if call.name in _ARITHMETIC else None
    return found is not None and found.most * _ROOM_OF_VALUES < 2 ** _BITS[call.type.name]


_ARITHMETIC = ("+", "-", "*", "neg", "abs")
