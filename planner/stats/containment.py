"""Distinct counts of foreign keys, from the keys that a query compares them with.

Footers give a range, not a count of values: the range of a sparse key says too much (the order keys
of TPC-H use a quarter of theirs). Where a query equates a column with one that looks like a key (as
many values as rows) and whose range covers the column's, the values of the column are taken to be
among those of the key, so there are at most as many. A subset of a key's table, such as the hundred
best customers, hardly ever has both ends of the range, and so is not taken for the key.

Source: the containment of values that join estimates rest on (Selinger et al. 1979); here used
for the count itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from forerun.planner.algebra.predicates import equality
from forerun.planner.algebra.relational import Filter, Join, Project, Relation, Scan, walk
from forerun.planner.algebra.scalar import Ref, Scalar, conjuncts
from forerun.planner.algebra.types import ColumnId
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.stats.values import ColumnEstimate, of_source

_KEY = 0.999
"""At least this many values per row make a key."""

Place = tuple[str, str]
"""A column of a source, by the names of both."""


def with_contained_keys(relation: Relation, sources: Iterable[Source]) -> tuple[Source, ...]:
    """The sources, with ``distinct`` of columns that the query says to be foreign keys."""
    given = tuple(sources)
    if not given:
        return given
    by_name = {source.name: source for source in given}
    found: dict[Place, float] = {}
    for equal in _equated(relation):
        known = {
            (name, column.name): _estimate(by_name[name], column)
            for name, column_name in equal
            for column in by_name[name].columns
            if column.name == column_name
        }
        for place, mine in known.items():
            counts = [
                key.distinct
                for other, key in known.items()
                if other != place and _is_key(key, by_name[other[0]]) and _covers(key, mine)
            ]
            if counts and min(counts) < mine.distinct:
                found[place] = min(counts)
    return tuple(_improved(source, found) for source in given)


def looks_unique(source: Source, column: SourceColumn) -> bool:
    """Return whether a column has as many values as there are rows, by a sketch; or, of integers,
    by a range that has room for as many. What is only guessed is no evidence."""
    stats = dict(source.stats).get(column.name, ColumnStats())
    ranged = column.type.is_integer and stats.minimum is not None and stats.maximum is not None
    return (stats.distinct > 0.0 or ranged) and _is_key(_estimate(source, column), source)


def _estimate(source: Source, column: SourceColumn) -> ColumnEstimate:
    stats = dict(source.stats).get(column.name, ColumnStats())
    unique = (column.name,) in source.keys
    return of_source(stats, column.type, float(source.rows), unique)


def _is_key(column: ColumnEstimate, source: Source) -> bool:
    return source.rows > 0 and column.distinct >= _KEY * source.rows


def _covers(key: ColumnEstimate, other: ColumnEstimate) -> bool:
    if key.low is None or key.high is None or other.low is None or other.high is None:
        return False
    return key.low <= other.low and other.high <= key.high


def _improved(source: Source, found: dict[Place, float]) -> Source:
    known = dict(source.stats)
    for (name, column), distinct in found.items():
        # A sketch has counted; what it says is not corrected.
        if name == source.name and known.get(column, ColumnStats()).distinct <= 0.0:
            known[column] = replace(known.get(column, ColumnStats()), distinct=distinct)
    return replace(source, stats=tuple(known.items()))


def _equated(relation: Relation) -> Iterator[frozenset[Place]]:
    """Sets of source columns that the query compares for equality, directly or through others."""
    parents: dict[ColumnId, ColumnId] = {}

    def root(id_: ColumnId) -> ColumnId:
        while id_ in parents:
            id_ = parents[id_]
        return id_

    def unite(one: ColumnId, other: ColumnId) -> None:
        if root(one) != root(other):
            parents[root(one)] = root(other)

    places: dict[ColumnId, Place] = {}
    for node in walk(relation):
        if isinstance(node, Scan):
            places.update({c.id: (node.source, c.name) for c in node.scanned})
        elif isinstance(node, Project):
            for column, value in node.items:
                if isinstance(value, Ref):
                    unite(column.id, value.column.id)
        for one, other in _equalities(node):
            unite(one, other)
    classes: dict[ColumnId, set[Place]] = {}
    for id_, place in places.items():
        classes.setdefault(root(id_), set()).add(place)
    return (frozenset(equal) for equal in classes.values() if len(equal) > 1)


def _equalities(node: Relation) -> Iterator[tuple[ColumnId, ColumnId]]:
    condition: Scalar | None = None
    if isinstance(node, Filter):
        condition = node.predicate
    elif isinstance(node, Join):
        condition = node.condition
    if condition is None:
        return
    for part in conjuncts(condition):
        pair = equality(part)
        if pair is not None:
            yield pair[0].id, pair[1].id
