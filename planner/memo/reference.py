"""Leaves that only the memo has: what stands for the inputs of an expression."""

from __future__ import annotations

from dataclasses import dataclass

from planner.algebra.relational import Relation
from planner.algebra.types import Column, ColumnId


@dataclass(frozen=True, eq=True)
class Reference(Relation):
    """Any relation of a group, as the input of an expression.

    ``before``: the group's rows as of the last committed run instead of this one. Only snapshots
    have a before; that is how OLD is NEW one step earlier, and need not be explored twice
    (translational symmetry, Tempura 5.4).
    """

    group: int
    given: tuple[Column, ...]
    before: bool = False

    def __hash__(self) -> int:
        return hash((self.group, self.before))

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


@dataclass(frozen=True, eq=True)
class Between(Relation):
    """A delta between two runs that need not be neighbours, where time is no parameter."""

    group: int
    given: tuple[Column, ...]
    first: int
    last: int
    __hash__ = Relation.__hash__

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


@dataclass(frozen=True, eq=True)
class Stamped(Relation):
    """What is kept of a snapshot group, with the run that wrote each row. There is no other way to
    have it than from the store."""

    group: int
    given: tuple[Column, ...]
    run: Column
    __hash__ = Relation.__hash__

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.given, self.run)


@dataclass(frozen=True, eq=True)
class Shared(Relation):
    """What another report keeps of a snapshot group, as of one run of this day: of every other run
    there is nothing. ``family`` is its name in the plan, ``stored`` are its columns, ``key`` is how
    its rows are distributed. ``plain``: its weights, the last column, are added up; the rows are
    then anywhere. That is one leaf and no tree, so that no group comes to be made of others by it.
    """

    family: str
    stored: tuple[Column, ...]
    run: int
    key: tuple[ColumnId, ...]
    plain: bool = False
    __hash__ = Relation.__hash__

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.stored[:-1] if self.plain else self.stored
