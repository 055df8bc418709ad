"""What all relational operators share: the base class, and the checks of construction."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property

from planner.algebra.types import Column, ColumnId


def require_columns(node: str, needed: frozenset[ColumnId], *inputs: Relation) -> None:
    """Raise ValueError if a node reads a column that none of its inputs has."""
    missing = needed.difference(*(given.column_ids for given in inputs))
    if missing:
        have = ", ".join(str(column) for given in inputs for column in given.columns)
        raise ValueError(f"{node} reads columns {sorted(missing)} that its input lacks ({have})")


def require_distinct(node: str, columns: tuple[Column, ...]) -> None:
    """Raise ValueError if a node has one column twice."""
    if len({column.id for column in columns}) != len(columns):
        raise ValueError(f"{node} has one column twice: {', '.join(map(str, columns))}")


class Relation:
    """Base of all operators. Equality is structural; what is asked for again and again, as the
    hash and the columns, is computed once."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Output columns, in order."""
        raise NotImplementedError

    @cached_property
    def column_ids(self) -> frozenset[ColumnId]:
        """The ids of the output columns."""
        return frozenset(column.id for column in self.columns)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        """The same operator over other inputs (which must offer the columns it reads)."""
        if inputs:
            raise ValueError(f"{type(self).__name__} has no inputs")
        return self

    @cached_property
    def _hash(self) -> int:
        values = tuple(getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return hash((type(self).__name__, values))

    def __hash__(self) -> int:
        return self._hash


class Unary(Relation):
    """An operator over one input, whose columns it hands on unless it says otherwise."""

    input: Relation

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        (only,) = inputs
        return self if only is self.input else replace(self, input=only)  # type: ignore[type-var]
