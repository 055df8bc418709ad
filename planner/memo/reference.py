"""Leaf operators that exist only in a memo: they stand for rows that are computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.types import Column
from forerun.planner.props import repeatable
from forerun.planner.props.emptiness import is_empty
from forerun.planner.props.keys import NO_KEYS, keys_of_leaf
from forerun.planner.props.nullability import NONE, not_null_of
from forerun.planner.props.repeatable import Repeated


@dataclass(frozen=True, eq=True)
class Reference(Relation):
    """The rows of a group, computed by any of its expressions, as the input of an expression.

    With ``before`` the rows are as of the last committed run instead of this one, which only
    snapshots allow. So OLD is NEW one step earlier and is not explored a second time
    (translational symmetry, Tempura 5.4). ``given`` are the columns of the group.
    """

    group: int
    given: tuple[Column, ...]
    before: bool = False

    def __hash__(self) -> int:
        return hash((self.group, self.before))

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


class StepLeaf(Relation):
    """A leaf over the rows of a group that depends on both ends of the step."""

    group: int


@dataclass(frozen=True, eq=False)
class Stamped(StepLeaf):
    """The stored rows of a snapshot group, with the number of the run that wrote each row in the
    column ``run``. Only the store can provide them."""

    group: int
    given: tuple[Column, ...]
    run: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.given, self.run)


@dataclass(frozen=True, eq=False)
class Kept(StepLeaf):
    """The rows of a snapshot group as the run before has kept them, whole. Only the store can
    provide them."""

    group: int
    given: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


LEAVES = (Reference, Stamped, Kept)
"""The leaves that stand for rows computed elsewhere. The property passes below answer the weakest
property for them; a caller that knows the operator behind a leaf asks about that one instead."""

keys_of_leaf.register(*LEAVES)(lambda *_: NO_KEYS)
not_null_of.register(*LEAVES)(lambda *_: NONE)
repeatable.of_node.register(*LEAVES)(lambda *_: Repeated())
is_empty.register(*LEAVES)(lambda *_: False)
