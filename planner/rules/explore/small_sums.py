"""Sums of BIGINT that are far from overflowing, whichever rows of a source they are of.

A sum over rows that a join drops later may overflow where the query's own sum does not. Where the
values that a source has are small beside its rows, it does not, and is added up as it is; elsewhere
as DECIMALs, which costs several times as much. If the values of later rows are larger by so much
that it does overflow, the run fails, as any overflow does, and the last try of the final run is the
query's text: no sum is ever wrong by it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from forerun.planner.algebra.relational import Relation, Scan, walk
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, value_places
from forerun.planner.algebra.types import BIGINT, ColumnId
from forerun.planner.request import Source

_ROOM = 1000
"""So many times the greatest sum that a source's own rows can have is still no overflow."""
_FIT = 2**63
_SMALL_LITERAL = 10**9


def small_columns(sources: Iterable[Source]) -> frozenset[tuple[str, str]]:
    """Return the columns of BIGINT whose values are small enough, by the files that have come; each
    with the name of its source."""
    found = set()
    for source in sources:
        types = {column.name: column.type for column in source.columns}
        for name, known in source.stats:
            if types.get(name) != BIGINT or known.minimum is None or known.maximum is None:
                continue
            most = max(abs(int(known.minimum)), abs(int(known.maximum)))
            if most * max(source.rows, 1) * _ROOM < _FIT:
                found.add((source.name, name))
    return frozenset(found)


def ids_of(relation: Relation, columns: AbstractSet[tuple[str, str]]) -> frozenset[ColumnId]:
    """Return the ids that these columns of sources have in a query."""
    scans = (node for node in walk(relation) if isinstance(node, Scan))
    return frozenset(
        column.id
        for scan in scans
        for column in scan.columns
        if (scan.source, column.name) in columns
    )


def is_small(scalar: Scalar, small: AbstractSet[ColumnId]) -> bool:
    """Return whether a BIGINT is one of the values of such columns, or a small constant."""
    if isinstance(scalar, Ref):
        return scalar.column.id in small
    if isinstance(scalar, Literal):
        return scalar.text is None or abs(int(scalar.text)) < _SMALL_LITERAL
    if scalar.name == "cast":
        return scalar.args[0].type.is_integer and scalar.args[0].type != BIGINT
    return scalar.name in CHOICES and all(is_small(value, small) for value in values_of(scalar))


CHOICES = ("case", "if", "coalesce")
"""Functions whose value is one of their arguments."""


def values_of(choice: Call) -> tuple[Scalar, ...]:
    """Return the arguments of a choice that are its values."""
    places = range(len(choice.args)) if choice.name == "coalesce" else value_places(choice)
    return tuple(choice.args[place] for place in places)
