"""Spark's static size estimate of a relation, by which it picks the join sides that it broadcasts.

Spark plans the user's own text by it: a side of a join that is estimated below its threshold is
sent to all workers, and the rows of both sides of any other join are shuffled. It takes the bytes
of files, scales them by the widths of the columns that are left, whatever is filtered or grouped,
and takes a join for the product of its sides (``SizeInBytesOnlyStatsPlanVisitor``). That is right
for tables as they lie, and far too high for nearly all else. (Where one side is grouped by the key
of the join it takes the sum of both; such joins are estimated larger here.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

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
    SetKind,
    SetOperation,
    Sort,
    UnionAll,
    Values,
    Window,
)
from forerun.planner.algebra.scalar import references
from forerun.planner.algebra.types import DataType

UNKNOWN_BYTES = float(2**63)
"""What Spark takes all for that it does not know."""
_ROW_BYTES = 8
"""Of a row beside its values, and of a value of fixed width in a row that is shuffled."""
_STRING_BYTES = 20
"""What Spark takes a text for that it has no statistics of."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a source: their bytes, and those that Spark takes a row of all its columns
    for."""

    bytes: float
    row_bytes: float


def row_bytes(types: Iterable[DataType]) -> float:
    """Return the bytes that Spark takes a row of these types for."""
    widths = (_STRING_BYTES if type_.name == "STRING" else type_.width for type_ in types)
    return float(_ROW_BYTES + sum(widths))


def shuffled_row_bytes(node: Relation) -> float:
    """Return the least bytes that a row of a relation has where Spark counts what was shuffled: a
    word for each value, and one of bits that say which are NULL."""
    return float(_ROW_BYTES * (1 + len(node.columns)))


def _row_of(node: Relation) -> float:
    return row_bytes(column.type for column in node.columns)


Told = tuple[float, ...]


@operator_pass("told size")
def told_bytes(node: Relation, inputs: Told, files: Mapping[str, Files]) -> float:
    """The bytes that Spark takes a node for, by those of its inputs. ``files`` are those of the
    sources."""
    raise NotImplementedError


@told_bytes.register(Scan)
def _scan(node: Scan, _: Told, files: Mapping[str, Files]) -> float:
    whole = files[node.source]
    return whole.bytes * _row_of(node) / whole.row_bytes


@told_bytes.register(Values)
def _values(node: Values, *_: object) -> float:
    return len(node.rows) * _row_of(node)


@told_bytes.register(Filter, Repeat, Window)
def _by_width(node: Relation, inputs: Told, _: Mapping[str, Files]) -> float:
    return inputs[0] * _row_of(node) / _row_of(node.inputs[0])


@told_bytes.register(Project)
def _project(node: Project, inputs: Told, files: Mapping[str, Files]) -> float:
    if not isinstance(node.input, Generate):
        return _by_width(node, inputs, files)
    # Spark's generator gives out what is made, and of its input what is read above it.
    read = {id_ for _, scalar in node.items for id_ in references(scalar)}
    read |= {column.id for column in node.input.made}
    below = row_bytes(column.type for column in node.input.columns if column.id in read)
    return inputs[0] * _row_of(node) / below


@told_bytes.register(Aggregate)
def _aggregate(node: Aggregate, inputs: Told, files: Mapping[str, Files]) -> float:
    return _by_width(node, inputs, files) if node.keys else _row_of(node)


@told_bytes.register(Join)
def _join(node: Join, inputs: Told, _: Mapping[str, Files]) -> float:
    one_side = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)
    return inputs[0] if node.kind in one_side else prod(inputs)


@told_bytes.register(Generate, Sort)
def _same(_: Generate | Sort, inputs: Told, __: Mapping[str, Files]) -> float:
    return inputs[0]


@told_bytes.register(Limit)
def _limit(node: Limit, inputs: Told, _: Mapping[str, Files]) -> float:
    return inputs[0] if node.count is None else max(1, node.count) * _row_of(node)


@told_bytes.register(UnionAll)
def _union(_: UnionAll, inputs: Told, __: Mapping[str, Files]) -> float:
    return sum(inputs)


@told_bytes.register(Recursion)
def _recursion(*_: object) -> float:
    return UNKNOWN_BYTES


@told_bytes.register(SetOperation)
def _set_operation(node: SetOperation, inputs: Told, _: Mapping[str, Files]) -> float:
    return min(inputs) if node.kind is SetKind.INTERSECT else inputs[0]
