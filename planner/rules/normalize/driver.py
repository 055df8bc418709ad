"""Runs the normalizing passes, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.algebra.relational import Relation
from planner.request import Source
from planner.tvr.signed import ColumnIds

Pass = Callable[[Relation, tuple[Source, ...], ColumnIds], Relation]

PASSES: tuple[Pass, ...] = ()


def normalize(relation: Relation, sources: Iterable[Source], ids: ColumnIds) -> Relation:
    """The relation after all passes."""
    given = tuple(sources)
    for one in PASSES:
        relation = one(relation, given, ids)
    return relation
