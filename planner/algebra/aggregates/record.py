"""The record of an aggregate function: all that the planner knows of it.

The table itself is :mod:`forerun.planner.algebra.aggregates.functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from forerun.planner.algebra.aggregates import types
from forerun.planner.algebra.aggregates.counted import Counted
from forerun.planner.algebra.aggregates.states import State
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.types import DataType

Types = tuple[DataType, ...]


class Answer(Enum):
    """The order-dependence of a function's value over a group."""

    BAG = "the rows of the group, in whatever order they come"
    TIES = "which of the rows comes first whose last argument is least or greatest"
    ANY = "which of the rows is taken, and any may be"
    COUNTS = "which of the values is taken that come equally often"
    PARTS = "the parts of the rows that it is merged of, within the error that it promises"
    ORDER = "the order in which the rows come, as far as we know"


class Rounding(Enum):
    """The cases in which the last digits of a value depend on the order of the rows."""

    NEVER = "the value is exact"
    OF_FLOATS = "floating-point arguments are added up"
    ALWAYS = "it is computed in floating point, whatever the arguments are"


class Nulls(Enum):
    """The cases in which a value may be NULL, in a group that has rows."""

    NEVER = "it is not NULL over no rows either"
    OF_ARGUMENT = "only if the first argument is NULL in some row"
    POSSIBLE = "we do not know"


class Empty(Enum):
    """The value over no rows."""

    NULL = "NULL"
    ZERO = "0"
    OTHER = "neither NULL nor 0"


class Retraction(Enum):
    """The effect on a state of rows that are taken back."""

    BY_WEIGHT = "weighted rows add to the state what plain rows do"
    BY_WEIGHT_AND_COUNT = "as by weight, with a count beside it: 0 and nothing left differ"
    NONE = "the state cannot follow, so the group is computed again from its rows"


class Adds(Enum):
    """The amount that a row adds to a value that is a sum over the rows; it is NULL, or 0, over
    none."""

    ONE = "1, if it has all arguments"
    ARGUMENT = "its argument, if it is not NULL"
    UNKNOWN = "the value is no such sum, or we do not say"


class Mean(Enum):
    """The mean of a value over groups, for estimates."""

    UNKNOWN = "unknown"
    ROWS = "rows per group"
    SUM = "rows per group, times the mean of the argument"


def _never(_: Types) -> bool:
    return False


def _known(given: Types) -> bool:
    return all(type_.is_known for type_ in given)


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """All that the planner knows of an aggregate function.

    ``name`` is what plans and SQL text have, ``synonyms`` what a query may say instead.
    ``arguments``: how many it takes, at least and at most (None: any number); ``takes_star``: or
    ``*``; ``of_numbers``: a STRING argument is read as DOUBLE; ``skips_nulls``: a last argument
    that is true asks to leave NULLs out, as IGNORE NULLS does.
    ``result`` derives Spark's type from those of the arguments.

    ``answer``, ``rounding`` and ``nulls`` say what values depend on. ``null_on_overflow``: without
    ANSI, an overflow is NULL. ``duplicates``: a value that comes twice makes a difference, so
    DISTINCT does. ``adds``: what a row adds, where the value is a sum over rows. ``empty``: the
    value over no rows. ``overflows``: over arguments of these types a part of the rows may overflow
    although all of them do not.

    ``state`` makes the partial state of a call; the flag says that rows may be taken back, which is
    never asked where ``retraction`` or ``rounding`` stand against it.
    Of a function that chooses, the state is a choice among its rows, and the value one among the
    states: one of the right answers. None: no state that merges is known. ``state_over``: the
    argument types that it is right for. ``merged_by`` is the function that computes the value of a
    group from the values of parts of it, where there is one; ``of_two`` the scalar function that
    does so from the values of two parts that are not NULL.
    ``same_rows`` is a function with the same values wherever all rows of a group have the same
    argument.

    ``of_counts`` makes the call that computes it of the values of the first argument and of how
    often each comes. ``ordered``: the function of what is ordered by and of its
    own argument that a call WITHIN GROUP is, where the order is ascending; ``takes_order``: how
    many arguments, at least and at most, it has beside what WITHIN GROUP orders by, which is then
    the last one. ``constant``: the place of an argument that has to be one.

    ``computed_of`` are functions that an engine computes it of, and shares with other calls;
    ``work`` is how many expressions an engine evaluates for a row, where it is computed itself.
    ``bounded``: its value lies between the least and the greatest argument. ``mean``: what is known
    of its mean over groups, for estimates. ``gathers``: its value has the arguments of all rows in
    it, and is as long. ``by_order``: it was looked at, and its value depends
    on the order in which the rows of a group come, so that SQL has several right answers.
    ``in_objects``: Spark keeps its state as an object, which costs more than bytes of a row.
    ``in_order`` is the function of its value that puts it into the order of its elements, through
    which a call is put whose value is to be determined by the rows alone.
    """

    name: str
    synonyms: tuple[str, ...] = ()
    arguments: tuple[int, int | None] = (1, 1)
    takes_star: bool = False
    of_numbers: bool = False
    skips_nulls: bool = False
    result: Callable[[Types], DataType] = types.unknown
    answer: Answer = Answer.ORDER
    rounding: Rounding = Rounding.NEVER
    nulls: Nulls = Nulls.POSSIBLE
    null_on_overflow: bool = False
    duplicates: bool = True
    adds: Adds = Adds.UNKNOWN
    empty: Empty = Empty.NULL
    overflows: Callable[[Types], bool] = _never
    state: Callable[[AggregateCall, bool], State] | None = None
    state_over: Callable[[Types], bool] = _known
    retraction: Retraction = Retraction.NONE
    merged_by: str | None = None
    of_two: str | None = None
    same_rows: str | None = None
    of_counts: Counted | None = None
    ordered: str | None = None
    takes_order: tuple[int, int] | None = None
    constant: int | None = None
    computed_of: tuple[str, ...] = ()
    work: int = 1
    bounded: bool = False
    mean: Mean = Mean.UNKNOWN
    gathers: bool = False
    by_order: bool = False
    in_objects: bool = False
    in_order: str = ""

    def is_rounded(self, given: Types) -> bool:
        """Return whether the last digits of a value over such arguments depend on the order of
        rows. The average of integers is of an exact sum."""
        if self.rounding is Rounding.OF_FLOATS:
            return any(type_.is_floating or not type_.is_known for type_ in given)
        return self.rounding is Rounding.ALWAYS
