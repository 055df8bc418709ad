"""Trace the values of a relation's row to a row of a source.

A :class:`SourceRow` says that in every row of a relation, some columns have the values that one row
of a source has, or NULL: it is a row of that source's OLD, DELTA or NEW. So two columns of one
:class:`SourceRow` are of the same row of the source, which a foreign key of several columns asks
for, and the two aliases of a source that a query reads twice are two of them.

NULL is allowed since outer joins extend rows; who asks looks at columns that an equality compares,
which holds for no NULL. "The same value" is as in GROUP BY, of which keys are representatives.
Conservative: what a relation is made of may be more than what is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import ColumnId
from forerun.planner.contract.plan_v1 import ReliedForeignKey


@dataclass(frozen=True, slots=True)
class SourceRow:
    """The fact that in every row of a relation, ``columns`` (by id, with the name in the source)
    have the values of one row of ``version`` of the source, or NULL. That holds if the ``relied``
    foreign keys do."""

    source: str
    version: Version
    columns: frozenset[tuple[ColumnId, str]]
    relied: frozenset[ReliedForeignKey] = frozenset()

    def column(self, name: str) -> frozenset[ColumnId]:
        """Return the columns of the relation that have the value of this one of the source."""
        return frozenset(id_ for id_, own in self.columns if own == name)

    def says_as_much_as(self, other: SourceRow) -> bool:
        """Return whether the other one follows from this one. OLD and DELTA are parts of NEW."""
        return (
            self.source == other.source
            and other.version in (self.version, Version.NEW)
            and self.columns >= other.columns
            and self.relied <= other.relied
        )


SourceRows = tuple[SourceRow, ...]


def strongest(found: Iterable[SourceRow]) -> SourceRows:
    """Return those from which all others follow, in the order in which they were found."""
    kept: list[SourceRow] = []
    for one in found:
        if one.columns and not any(other.says_as_much_as(one) for other in kept):
            kept = [other for other in kept if not one.says_as_much_as(other)]
            kept.append(one)
    return tuple(kept)


@operator_pass("source rows")
def source_rows_of(node: Relation, inputs: tuple[SourceRows, ...]) -> SourceRows:
    """Return of which rows of sources the rows of a node are, given those of its inputs."""
    raise NotImplementedError


@source_rows_of.register(Scan)
def _of_scan(node: Scan, _: tuple[SourceRows, ...]) -> SourceRows:
    columns = frozenset((column.id, column.name) for column in node.scanned)
    return (SourceRow(node.source, node.version, columns),)


@source_rows_of.register(StateRead, Values, Recursion)
def _of_nothing(*_: object) -> SourceRows:
    return ()


@source_rows_of.register(Filter, Generate, Sort, Limit, Window)
def _of_handed_on(_: Relation, inputs: tuple[SourceRows, ...]) -> SourceRows:
    return inputs[0]


@source_rows_of.register(Repeat)
def _of_repeat(node: Repeat, inputs: tuple[SourceRows, ...]) -> SourceRows:
    return _renamed(inputs[0], ((c.id, c.id) for c in node.columns))


@source_rows_of.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: tuple[SourceRows, ...]) -> SourceRows:
    """The keys of a group are those of each of its rows."""
    return _renamed(inputs[0], ((key.id, key.id) for key in node.keys))


@source_rows_of.register(Project)
def _of_project(node: Project, inputs: tuple[SourceRows, ...]) -> SourceRows:
    names = ((s.column.id, c.id) for c, s in node.items if isinstance(s, Ref))
    return _renamed(inputs[0], names)


@source_rows_of.register(Join)
def _of_join(node: Join, inputs: tuple[SourceRows, ...]) -> SourceRows:
    """Every row of a join is made of one row of each side, or of NULLs in place of it."""
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK):
        return inputs[0]
    return (*inputs[0], *inputs[1])


@source_rows_of.register(SetOperation)
def _of_set_operation(node: SetOperation, inputs: tuple[SourceRows, ...]) -> SourceRows:
    """Return those of the left side, by position: the rows left by both kinds of operation are its
    rows."""
    return _by_position(node, 0, inputs[0])


@source_rows_of.register(UnionAll)
def _of_union(node: UnionAll, inputs: tuple[SourceRows, ...]) -> SourceRows:
    """A row is of one branch: what holds of it is what all branches have in common."""
    renamed = [_by_position(node, place, rows) for place, rows in enumerate(inputs)]
    return strongest(_in_common(parts) for parts in product(*renamed) if _are_of_one(parts))


def _are_of_one(parts: tuple[SourceRow, ...]) -> bool:
    return len({part.source for part in parts}) == 1


def _in_common(parts: tuple[SourceRow, ...]) -> SourceRow:
    versions = {part.version for part in parts}
    return SourceRow(
        parts[0].source,
        versions.pop() if len(versions) == 1 else Version.NEW,
        parts[0].columns.intersection(*(part.columns for part in parts)),
        parts[0].relied.union(*(part.relied for part in parts)),
    )


def _by_position(node: UnionAll | SetOperation, branch: int, rows: SourceRows) -> SourceRows:
    """Translate the columns of one branch to those of the node. One that is cast to another type is
    left out."""
    pairs = zip(node.inputs[branch].columns, node.columns, strict=True)
    return _renamed(rows, ((a.id, b.id) for a, b in pairs if a.type == b.type))


def _renamed(rows: SourceRows, names: Iterable[tuple[ColumnId, ColumnId]]) -> SourceRows:
    """Translate columns; those that no pair has in the first place are left out."""
    pairs = tuple(names)
    return strongest(
        replace(
            row,
            columns=frozenset((new, name) for old, new in pairs for id_, name in row.columns
                              if id_ == old),
        )
        for row in rows
    )  # fmt: skip
