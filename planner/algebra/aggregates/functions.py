"""Finds what the table of aggregate functions says of a call.

Names that mean the same function are made one (:func:`canonical`) when a query is bound, so that
equal aggregates have equal fingerprints, costs and states.
"""

from __future__ import annotations

from forerun.planner.algebra.aggregates.record import (
    AggregateFunction,
    Answer,
    Empty,
    Retraction,
    Types,
)
from forerun.planner.algebra.aggregates.states import State
from forerun.planner.algebra.aggregates.table import TABLE
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.types import DataType
from forerun.planner.errors import Reason, UnknownFunctionError

_BY_NAME = {function.name: function for function in TABLE}
_CANONICAL = {name: f.name for f in TABLE for name in (f.name, *f.synonyms)}
NAMES = frozenset(_CANONICAL)
"""All names of aggregate functions, synonyms among them."""


def is_aggregate(name: str) -> bool:
    """Return whether Spark has an aggregate function of this name."""
    return name in _CANONICAL


def is_by_order(name: str) -> bool:
    """Return whether the value of an aggregate function depends on the order of the rows."""
    return is_aggregate(name) and function(name).by_order


def canonical(name: str) -> str:
    """The one name of a function that has several."""
    return function(name).name


def function(name: str) -> AggregateFunction:
    """The record of a function, by any of its names; :class:`UnknownFunctionError` if none is."""
    known = _CANONICAL.get(name)
    if known is None:
        raise UnknownFunctionError(
            f"{name} is no aggregate function that the planner knows",
            hint="add it to planner/algebra/aggregates/table.py (CONTRIBUTING.md)",
        )
    return _BY_NAME[known]


def type_of(call: AggregateCall) -> DataType:
    """The type Spark gives the value of a call, UNKNOWN where we do not derive it."""
    return result_type(call.name, tuple(arg.type for arg in call.args))


def result_type(name: str, given: Types) -> DataType:
    """The type Spark gives a function over arguments of these types, else UNKNOWN."""
    return function(name).result(given)


def answer_of(call: AggregateCall) -> Answer:
    """Return what the value of a call depends on. Rows that are taken in an order leave open
    those that tie in it."""
    if call.determined:
        return Answer.BAG
    answer = function(call.name).answer
    return Answer.TIES if call.within and answer is Answer.ORDER else answer


def value_when_empty(name: str) -> str | None:
    """Return the value of an aggregate over no rows: ``"0"``, or None for NULL. ValueError if
    neither."""
    empty = function(name).empty
    if empty is Empty.OTHER:
        raise ValueError(f"{name} over no rows is neither 0 nor NULL")
    return "0" if empty is Empty.ZERO else None


def partial_state(call: AggregateCall, signed: bool) -> State | Reason:
    """The partial state of a call over (``signed``) deltas, or why it has none."""
    known = function(call.name)
    given = tuple(arg.type for arg in call.args)
    if answer_of(call) is Answer.ORDER and (known.state or known.same_rows):
        return Reason.NOT_DETERMINISTIC
    if known.state is None:
        return Reason.AGGREGATE_FUNCTION
    if call.distinct and known.duplicates:
        return Reason.DISTINCT_AGGREGATE
    if not known.result(given).is_known:
        return Reason.UNKNOWN_TYPE
    if not known.state_over(given):
        all_known = all(type_.is_known for type_ in given)
        return Reason.AGGREGATE_FUNCTION if all_known else Reason.UNKNOWN_TYPE
    if signed and (known.retraction is Retraction.NONE or known.is_rounded(given)):
        return Reason.RETRACTING_INPUT
    return known.state(call, signed)


def state_by_pane(call: AggregateCall) -> State | Reason:
    """The partial state of a call over groups of which all rows go, or none; or why it has none.
    Where a row counts more than once, a state has to be one that can be multiplied, unless what
    comes twice changes nothing."""
    state = partial_state(call, signed=False)
    if isinstance(state, State) and state.weighted is None and function(call.name).duplicates:
        return Reason.RETRACTING_INPUT
    return state
