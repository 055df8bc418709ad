"""Relational operators as frozen values.

A node knows its output columns and its inputs. It checks at construction that every column it
reads is there, so a plan that cannot mean anything cannot be built. Bags throughout: no operator
removes duplicates unless it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from forerun.planner.algebra.node import Relation as Relation  # noqa: PLC0414 - offered here
from forerun.planner.algebra.node import Unary, require_columns, require_distinct
from forerun.planner.algebra.node import fold as fold  # noqa: PLC0414 - the same
from forerun.planner.algebra.node import walk as walk  # noqa: PLC0414 - the same
from forerun.planner.algebra.scalar import Call, Scalar, references
from forerun.planner.algebra.types import Column, ColumnId


class Version(StrEnum):
    """The version of a time-varying relation that a leaf reads, for the run that is being made.

    NEW is the snapshot at this run, OLD the snapshot at the last committed run, DELTA what came
    in between.
    """

    OLD = "old"
    DELTA = "delta"
    NEW = "new"


class JoinKind(StrEnum):
    """SEMI and ANTI keep left columns only. MARK adds a nullable boolean: does any right row
    satisfy the condition, in three-valued logic (IN as a value)? SINGLE is a left join that fails
    when a left row has more than one partner (a scalar subquery)."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"
    MARK = "mark"
    SINGLE = "single"


@dataclass(frozen=True, eq=False)
class Scan(Relation):
    """Rows of a source, in one of its versions."""

    source: str
    scanned: tuple[Column, ...]
    version: Version = Version.NEW

    def __post_init__(self) -> None:
        require_distinct("Scan", self.scanned)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.scanned


@dataclass(frozen=True, eq=False)
class StateRead(Relation):
    """Rows of an artifact family, in one of its versions. Only incremental plans have it.

    ``stored`` are the names of the read columns in the stored files, by position.
    """

    family: str
    read: tuple[Column, ...]
    stored: tuple[str, ...]
    version: Version

    def __post_init__(self) -> None:
        require_distinct("StateRead", self.read)
        if len(self.stored) != len(self.read):
            raise ValueError("StateRead needs one stored name per column")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.read


@dataclass(frozen=True, eq=False)
class Values(Relation):
    """Constant rows (SELECT without FROM has one row and no columns)."""

    listed: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.listed


@dataclass(frozen=True, eq=False)
class Filter(Unary):
    """Rows for which the predicate is true (not false, not NULL)."""

    input: Relation
    predicate: Scalar

    def __post_init__(self) -> None:
        require_columns("Filter", references(self.predicate), self.input)


@dataclass(frozen=True, eq=False)
class Project(Unary):
    """One output column per item, computed from one input row each."""

    input: Relation
    items: tuple[tuple[Column, Scalar], ...]

    def __post_init__(self) -> None:
        have = self.input.column_ids
        for column, scalar in self.items:
            if not references(scalar) <= have:
                require_columns(f"Project item {column}", references(scalar), self.input)
        require_distinct("Project", self.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in self.items)


@dataclass(frozen=True, eq=False)
class Join(Relation):
    """Pairs of rows for which the condition is true, per :class:`JoinKind`."""

    kind: JoinKind
    left: Relation
    right: Relation
    condition: Scalar
    mark: Column | None = None

    def __post_init__(self) -> None:
        require_distinct("Join", self.left.columns + self.right.columns)
        require_columns("Join", references(self.condition), self.left, self.right)
        if (self.kind is JoinKind.MARK) != (self.mark is not None):
            raise ValueError("a MARK join, and no other, has a mark column")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.columns
        if self.mark is not None:
            return (*self.left.columns, self.mark)
        return self.left.columns + self.right.columns

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        left, right = inputs
        return replace(self, left=left, right=right)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate function over input columns' expressions, e.g. ``sum(a * b)``.

    ``name`` is the canonical one (:mod:`forerun.planner.algebra.aggregates.functions`); ``count``
    without arguments is ``count(*)``. ``where`` is the FILTER clause. ``determined``: a function
    that may have to choose among rows that tie (``max_by``) chooses among equal values here, or the
    order of a list does not matter, so its value depends on the rows of the group alone. It follows
    from the rows and says nothing new of them, so it is no part of a fingerprint. ``within``: the
    last argument is what WITHIN GROUP orders the rows by, ``ASC`` or ``DESC``; else empty.
    """

    name: str
    args: tuple[Scalar, ...]
    distinct: bool = False
    where: Scalar | None = None
    determined: bool = False
    within: str = ""

    def references(self) -> frozenset[ColumnId]:
        parts = self.args if self.where is None else (*self.args, self.where)
        return frozenset(c for part in parts for c in references(part))


@dataclass(frozen=True, eq=False)
class Aggregate(Unary):
    """One row per distinct combination of the keys (NULLs are equal); without keys, one row always.

    Keys are columns of the input. DISTINCT is an Aggregate without calls.
    """

    input: Relation
    keys: tuple[Column, ...]
    calls: tuple[tuple[Column, AggregateCall], ...]

    def __post_init__(self) -> None:
        require_columns("Aggregate", frozenset(key.id for key in self.keys), self.input)
        for column, call in self.calls:
            require_columns(f"Aggregate call {column}", call.references(), self.input)
        require_distinct("Aggregate", self.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.keys + tuple(column for column, _ in self.calls)


@dataclass(frozen=True, eq=False)
class Repeat(Unary):
    """Each row as often as its ``count`` column says (never for less than 1), without that column.

    The enforcer that turns a consolidated signed bag into a plain one.
    """

    input: Relation
    count: Column

    def __post_init__(self) -> None:
        require_columns("Repeat", frozenset({self.count.id}), self.input)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.input.columns if column.id != self.count.id)


@dataclass(frozen=True, eq=False)
class Generate(Unary):
    """Each row as often as a generator makes rows of it, with the columns that it makes: of
    ``explode`` the elements of an array. ``outer``: a row of which it makes none is there once,
    with NULLs in their place. ``call`` is of a function of
    :data:`~forerun.planner.algebra.functions.GENERATORS` without ``_outer``, or of
    :data:`~forerun.planner.algebra.functions.RANGE` over one row without columns."""

    input: Relation
    call: Call
    made: tuple[Column, ...]
    outer: bool = False

    def __post_init__(self) -> None:
        require_columns("Generate", references(self.call), self.input)
        require_distinct("Generate", self.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + self.made


@dataclass(frozen=True, eq=False)
class UnionAll(Relation):
    """All rows of all inputs; columns correspond by position."""

    branches: tuple[Relation, ...]
    merged: tuple[Column, ...]

    def __post_init__(self) -> None:
        if any(len(branch.columns) != len(self.merged) for branch in self.branches):
            raise ValueError("the branches of a UNION ALL have different numbers of columns")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.merged

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.branches

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        return replace(self, branches=inputs)


class SetKind(StrEnum):
    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True, eq=False)
class SetOperation(Relation):
    """INTERSECT or EXCEPT, of sets or (``all``) of bags; columns correspond by position."""

    kind: SetKind
    all: bool
    left: Relation
    right: Relation
    merged: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not len(self.left.columns) == len(self.right.columns) == len(self.merged):
            raise ValueError(f"the sides of {self.kind} have different numbers of columns")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.merged

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        left, right = inputs
        return replace(self, left=left, right=right)


@dataclass(frozen=True, slots=True)
class SortKey:
    """Spark's defaults: ascending has NULLs first, descending has them last."""

    column: Column
    ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True, eq=False)
class Sort(Unary):
    """Rows in order. Only the outermost Sort, or one under a Limit, means anything."""

    input: Relation
    keys: tuple[SortKey, ...]

    def __post_init__(self) -> None:
        require_columns("Sort", frozenset(key.column.id for key in self.keys), self.input)


@dataclass(frozen=True, eq=False)
class Limit(Unary):
    """The first ``count`` rows after ``offset``; which ones is defined only above a Sort."""

    input: Relation
    count: int | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function. ``frame`` is Spark's text after ORDER BY, empty for the default."""

    name: str
    args: tuple[Scalar, ...]
    partition: tuple[Column, ...]
    order: tuple[SortKey, ...]
    frame: str = ""
    distinct: bool = False
    ignore_nulls: bool = False


@dataclass(frozen=True, eq=False)
class Window(Unary):
    """The input's columns and one more per window function."""

    input: Relation
    calls: tuple[tuple[Column, WindowCall], ...]

    def __post_init__(self) -> None:
        for column, call in self.calls:
            needed = {c.id for c in call.partition} | {k.column.id for k in call.order}
            for arg in call.args:
                needed |= references(arg)
            require_columns(f"Window call {column}", frozenset(needed), self.input)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(column for column, _ in self.calls)


def rewrite(relation: Relation, rule: Callable[[Relation], Relation]) -> Relation:
    """Apply ``rule`` to every node, inputs first."""

    def rewritten(node: Relation, inputs: tuple[Relation, ...]) -> Relation:
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        return rule(node if same else node.with_inputs(inputs))

    return fold(relation, rewritten)


def sources(relation: Relation) -> frozenset[str]:
    """Names of the sources a relation reads."""
    return frozenset(node.source for node in walk(relation) if isinstance(node, Scan))


def scanned_columns(relation: Relation) -> frozenset[tuple[str, str]]:
    """The (source, column) pairs that the scans of a relation read."""
    scans = (node for node in walk(relation) if isinstance(node, Scan))
    return frozenset((scan.source, column.name) for scan in scans for column in scan.scanned)
