"""The interface of delta rules.

A rule first says whether it ``applies`` to an operator over given inputs, and whether the delta of
the output may take rows back. Then its ``method`` builds the delta of one run from the versions of
the inputs. A rule never sees a whole plan, nor when a run happens.

In the first run of a day OLD is empty and every delta is the snapshot, so no rule is asked for a
delta; rules may rely on a committed run.

Most operators are kept as the rows of their deltas (the multiset view of Tempura 3.1). A rule with
a :class:`KeyedState` keeps mergeable partial states instead, which are smaller (the keyed view).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.scalar import Call, Scalar
from forerun.planner.algebra.types import INT, Column
from forerun.planner.errors import Reason
from forerun.planner.tvr.signed import ColumnIds, Signed

THIS_RUN = Call("this_run", (), INT)
"""A placeholder for the number of the current run; in a stage, a literal takes its place."""


@dataclass(frozen=True, slots=True)
class Input:
    """The facts that a rule may know about an input before a plan exists.

    ``changing`` is True if the input reads a source that grows during the day, ``signed`` if its
    delta may take rows back.
    """

    relation: Relation
    changing: bool
    signed: bool


@dataclass(frozen=True, slots=True)
class Applies:
    """The answer of a rule that covers an operator. ``signed`` is True if the delta of the output
    may take rows back, ``merges_input`` if merging the states also reads the operator's input."""

    signed: bool
    merges_input: bool = False


class Versions(Protocol):
    """The versions of one input in the run that is being built.

    A static input (not ``changing``) has no delta; its ``old`` and ``new`` are the same.
    """

    @property
    def changing(self) -> bool:
        """Return whether the input reads a source that grows."""
        ...

    def delta(self) -> Signed:
        """Return the change of the input in this run."""
        ...

    def old(self) -> Signed:
        """Return the input as of the last committed run."""
        ...

    def new(self) -> Signed:
        """Return the input as of this run."""
        ...

    def stamped(self) -> StampedRows:
        """Return the stored NEW rows of the input, each with the run that wrote it."""
        ...


@dataclass(frozen=True, slots=True)
class StampedRows:
    """Stored rows with the column ``run``, the number of the run that wrote each row. ``current``
    is the number of the current run."""

    relation: Relation
    run: Column
    current: Scalar


@dataclass(frozen=True, slots=True)
class DeltaOfStates:
    """The delta of an aggregate. ``domain`` is the relation in it that merges the stamped states of
    all groups and then keeps those that the step touches; None for an aggregate without keys."""

    rows: Signed
    domain: Relation | None


@dataclass(frozen=True, slots=True)
class KeyedState:
    """The keyed view of an operator: its output is kept as states, merged and finished when read.

    ``keys`` gives the columns by which the states are distributed, ``columns`` those of the states,
    keys first. ``partial`` computes the states of a delta. ``merge`` computes the output from the
    states of all runs (and from the kept input, if the rule needs it). ``delta`` computes the delta
    of the output from the stamped states, and its domain; it is None if only the output can be
    computed.
    ``singles`` gives a state for each row of a delta, for readers that merge at once, or None where
    rows have no states of their own. The boolean
    argument of these says whether any delta of the input may take rows back; a given delta may
    still be unsigned.
    """

    keys: Callable[[Relation], tuple[Column, ...]]
    columns: Callable[[Relation, bool, ColumnIds], tuple[Column, ...]]
    partial: Callable[[Relation, Signed, bool, tuple[Column, ...], ColumnIds], Relation]
    merge: Callable[[Relation, Relation, bool, Signed | None, ColumnIds], Relation]
    delta: Callable[[Relation, Versions, bool, ColumnIds], DeltaOfStates] | None
    singles: (
        Callable[[Relation, Signed, bool, tuple[Column, ...], ColumnIds], Relation | None] | None
    ) = None


@dataclass(frozen=True, slots=True)
class DeltaRule:
    """A rule that derives the delta of an ``operator``; ``source`` says where the rule is from.

    ``applies`` returns a :class:`Reason` if the rule does not cover the operator. ``method`` builds
    the delta of the output from the versions of the inputs, or is a :class:`KeyedState`.
    """

    name: str
    operator: type[Relation]
    applies: Callable[[Relation, tuple[Input, ...]], Applies | Reason]
    source: str
    method: Callable[[Relation, tuple[Versions, ...], ColumnIds], Signed] | KeyedState
