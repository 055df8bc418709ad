"""What a delta rule is.

A rule first looks (``applies``): does it cover this operator over these inputs, what of the inputs
must be kept between runs and how distributed, does its delta take rows back? Later, if the plan
uses it, it builds the delta of one run from the versions of the inputs. Rules never see a whole
plan, and never ask when something happens.

In the first run of a day OLD is empty and every delta is the snapshot, so no rule is asked for a
delta; builds may rely on there being a committed run.

Most operators are kept as the rows of their deltas (the multiset view of Tempura 3.1). A rule with
a :class:`View` keeps something smaller instead, that can be merged (the keyed view): the partial
states of an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from planner.algebra.relational import Relation
from planner.algebra.scalar import Call, Scalar
from planner.algebra.types import INT, Column
from planner.errors import Reason
from planner.tvr.signed import ColumnIds, Signed

THIS_RUN = Call("this_run", (), INT)
"""The number of the run that is made, where a rule asks for it. Stages have it as a literal."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a rule may know of an input before the plan is made.

    ``changing``: it reads a source that grows during the day. ``signed``: its delta may take rows
    back.
    """

    relation: Relation
    changing: bool
    signed: bool


@dataclass(frozen=True, slots=True)
class Need:
    """The rule reads OLD or NEW of input ``input``, distributed by ``key`` (empty: anyhow)."""

    input: int
    key: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Applies:
    """The rule covers the operator; its delta is ``signed`` if it may take rows back."""

    signed: bool
    needs: tuple[Need, ...] = ()


class Versions(Protocol):
    """The versions of one input in the run that is being built.

    ``old`` and ``new`` of a changing input may be asked only for inputs of which the rule has said
    that it needs them. A static input has no delta; its old and new are the same.
    """

    @property
    def changing(self) -> bool: ...
    def delta(self) -> Signed: ...
    def old(self) -> Signed: ...
    def new(self) -> Signed: ...
    def stamped(self) -> Stamped:
        """NEW of a kept input, with the run that wrote each row."""
        ...


@dataclass(frozen=True, slots=True)
class Stamped:
    """Kept rows with the column that says which run wrote them; ``current``: this run's number."""

    relation: Relation
    run: Column
    current: Scalar


@dataclass(frozen=True, slots=True)
class View:
    """The keyed view of an operator's output: kept as states that merge, finished when read.

    ``keys``: the columns the states are distributed by. ``columns``: of the states, keys first.
    ``partial``: the states of a delta. ``merge``: the output from the states of all runs (and from
    the kept input, if the rule needs it). ``delta``: the change of the output, from the stamped
    states; None where the output can be finished but its change is not to be had. ``singles``: the
    rows of a delta as a state each, for states that are merged at once. ``signed`` says
    of the input whether any run's delta may take rows back; a given delta may still be plain.
    """

    keys: Callable[[Relation], tuple[Column, ...]]
    columns: Callable[[Relation, bool, ColumnIds], tuple[Column, ...]]
    partial: Callable[[Relation, Signed, bool, tuple[Column, ...], ColumnIds], Relation]
    merge: Callable[[Relation, Relation, bool, Signed | None, ColumnIds], Relation]
    delta: Callable[[Relation, Versions, bool, ColumnIds], Signed] | None
    singles: Callable[[Relation, Signed, bool, tuple[Column, ...], ColumnIds], Relation] | None = (
        None
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """``applies`` answers with a :class:`Reason` where the rule does not cover the operator.

    ``method`` is how: a function that builds the delta of the output from the versions of the
    inputs, or a :class:`View`.
    """

    name: str
    operator: type[Relation]
    applies: Callable[[Relation, tuple[Input, ...]], Applies | Reason]
    source: str
    method: Callable[[Relation, tuple[Versions, ...], ColumnIds], Signed] | View
