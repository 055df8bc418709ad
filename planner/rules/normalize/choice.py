"""Aggregate functions that choose a row, where the choice does not matter for the result.

::

    any_value(x), first(x), last(x)  =  min(x)       where the group determines x
    max_by(x, y)  is determined                      where the group and y determine x

The rewritten functions merge, and recomputing them gives the same value. That the group determines
x follows from the query alone (x is computed from the keys, constant, or grouped by below), or from
a key that the author of a source declares. In the latter case the plan checks it: a run fails if
the values of some group differ, since the plain query would have taken whichever row came first.
For ``max_by`` declared keys do not count, because it does not look at all rows that tie.
"""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.aggregates.functions import answer_of, function, type_of
from forerun.planner.algebra.aggregates.record import Answer
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Project,
    Relation,
    fold,
    rewrite,
)
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    is_deterministic,
    references,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, STRING, Column
from forerun.planner.props.dependencies import Dependencies, Deriver, closure
from forerun.planner.props.keys import NamedKeys
from forerun.planner.rules.normalize.rule import NormalizeContext

MIXED = "the rows of a group have several values of {name}: a key that is declared does not hold"


def determine_choices(relation: Relation, context: NormalizeContext) -> Relation:
    """Mark ``max_by`` and the like as determined where they are, and replace ``any_value`` and the
    like by ``min`` where the group determines their argument."""
    proven = _Known({})
    declared = _Known(context.keys)

    def at_node(node: Relation) -> Relation:
        if not isinstance(node, Aggregate):
            return node
        if all(answer_of(call) is Answer.BAG for _, call in node.calls):
            return node
        return _determined(node, context, proven, declared)

    return rewrite(relation, at_node)


class _Known:
    """Derives the dependencies of relations, given the keys of sources that are assumed."""

    def __init__(self, keys: NamedKeys) -> None:
        self._deriver = Deriver(keys, {})

    def of(self, relation: Relation) -> Dependencies:
        return fold(relation, self._deriver.of_node).dependencies


def _determined(
    node: Aggregate, context: NormalizeContext, proven: _Known, declared: _Known
) -> Relation:
    calls: list[tuple[Column, AggregateCall]] = []
    items: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in node.keys]
    sure, likely = proven.of(node.input), declared.of(node.input)
    for column, call in node.calls:
        same = function(call.name).same_rows
        if answer_of(call) is Answer.TIES and _depends(node, call, sure):
            call = replace(call, determined=True)
        elif same is not None and _depends(node, call, sure):
            call = replace(call, name=same, args=call.args[:1])
        elif same is not None and _depends(node, call, likely):
            made, value = _checked(column, call, same, context)
            calls += made
            items.append((column, value))
            continue
        calls.append((column, call))
        items.append((column, Ref(column)))
    found = Aggregate(node.input, node.keys, tuple(calls))
    if found.calls == node.calls:
        return node
    return found if found.columns == node.columns else Project(found, tuple(items))


def _depends(node: Aggregate, call: AggregateCall, known: Dependencies) -> bool:
    """Return whether all rows that a call chooses among have the same first argument."""
    value, *by = call.args
    given = {key.id for key in node.keys}
    if answer_of(call) is Answer.TIES:
        if not all(isinstance(one, Ref | Literal) for one in by):
            return False  # rows that tie in an expression may differ in the columns it reads
        given |= {c for one in by for c in references(one)}
    if not is_deterministic(value) or not type_of(call).is_known or "<" in value.type.name:
        return False
    return references(value) <= closure(given, known)


def _checked(
    column: Column, call: AggregateCall, same: str, context: NormalizeContext
) -> tuple[list[tuple[Column, AggregateCall]], Scalar]:
    """Return the calls and the expression that give the value of a group, or raise an error in the
    run if the group has several values."""
    value, *skips_nulls = call.args
    low, high = (context.fresh(f"{column.name}_{end}", value.type) for end in ("least", "greatest"))
    some, rows = (context.fresh(f"{column.name}_{what}", BIGINT) for what in ("values", "rows"))
    made = [
        (low, replace(call, name=same, args=(value,))),
        (high, replace(call, name="max", args=(value,))),
        (some, replace(call, name="count", args=(value,))),
        (rows, replace(call, name="count", args=())),
    ]
    one: Scalar = Call("<=>", (Ref(low), Ref(high)), BOOLEAN)
    if not skips_nulls:
        none = Call("=", (Ref(some), Literal("0", BIGINT)), BOOLEAN)
        every = Call("=", (Ref(some), Ref(rows)), BOOLEAN)
        one = conjunction((one, Call("or", (none, every), BOOLEAN)))
    text = Literal(MIXED.format(name=column.name), STRING)
    error = Call("cast", (Call("raise_error", (text,), BOOLEAN),), value.type)
    return made, Call("case", (one, Ref(low), error), value.type)
