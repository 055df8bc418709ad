"""Rewrites percentiles, modes and sets of values into two levels: each value of a group is counted.

::

    agg[g; percentile(x, p), h(y)](R)
        =  agg[g; percentile(x, p, n), merge h](agg[g, x; count(*) as n, state h(y)](R))
    agg[g; collect_set(x)](R)  =  agg[g; collect_set(x)](agg[g, x; count(*) as n](R))
    agg[g; mode(x)](R)  =  agg[g; max_by(x, n where x is not null)](agg[g, x; count(*) as n](R))
    agg[g; percentile_disc(p, x)](R)  =  agg[g; min(x where c >= ceil(p * all))](
        agg[g, x; count(*) as n](R) with c, all = sum(n) over g up to x, and over all of g)

A percentile has no state that merges, but the counts of its values have: they are kept, added to by
each run, and the percentile is taken of the counts in the end. That pays where a group has few
values beside its rows (ratings, ages, days, amounts in steps); where each row has its own, as many
rows are kept as there are. Other aggregates of the group go along as states, as long as all
percentiles are of one expression.

Correct for bags: Spark's ``Percentile`` itself counts equal values before it looks for the place,
and takes how often a value comes as a third argument; ``median(x)`` is ``percentile(x, 0.5)``. A
row that FILTER excludes contributes NULL, which both skip, and so does ``mode``: of values that
come equally often it takes any, or the least or the greatest if it is told to. What
``approx_count_distinct`` sees twice changes nothing in its registers. A set takes each value once
anyway, and is counted where its order does not matter (:mod:`forerun.planner.props.lists`). Values
are counted of which equal ones are the same: of floating-point numbers 0.0 and -0.0 would be one
group. Source: the decomposable aggregates of Tempura section 3.2 applied to the multiset of values;
Gray et al., "Data cube", 1997, which calls such functions holistic.
"""

from __future__ import annotations

from forerun.planner.algebra.aggregates.functions import answer_of, function, partial_state
from forerun.planner.algebra.aggregates.record import Answer
from forerun.planner.algebra.aggregates.states import State, finished, folded, together
from forerun.planner.algebra.aggregates.types import are_told_apart
from forerun.planner.algebra.relational import Aggregate, AggregateCall, Project
from forerun.planner.algebra.scalar import (
    Ref,
    Scalar,
    is_deterministic,
    references,
)
from forerun.planner.algebra.types import BIGINT, Column
from forerun.planner.memo.reference import Reference
from forerun.planner.rules.explore.distinct import changes_and_repeats, contributed
from forerun.planner.search.rule import Match, MemoRule


def _fire(match: Match) -> bool:
    node = match.expression.node
    if not isinstance(node, Aggregate) or not isinstance(node.input, Reference):
        return False
    if match.expression.origin == RULE.name:
        return False  # a set of counted values could be counted again, and so on
    if not changes_and_repeats(match.memo, node.input):
        return False
    value, others = _counted(node), _others(node)
    if value is None or others is None:
        return False
    of_type = match.ids.of_type
    named, count = of_type("value", value.type), of_type("n", BIGINT)
    made = together([state.of_rows(None, of_type) for state in others.values()])
    if made.totals:
        return False
    rows = Project(node.input, (*((c, Ref(c)) for c in node.input.columns), (named, value)))
    calls = ((count, AggregateCall("count", ())), *made.calls)
    counted = Aggregate(rows, (*node.keys, named), calls)
    columns = {
        column: tuple(of_type(f"{column.name}_{one.name}", one.type) for one in state.columns)
        for column, state in others.items()
    }
    flat = (column for group in columns.values() for column in group)
    kept = Project(counted, (
        *((c, Ref(c)) for c in (*node.keys, named, count)),
        *zip(flat, made.values, strict=True),
    ))  # fmt: skip
    merges = {
        column: state.merge(tuple(map(Ref, columns[column])), of_type)
        for column, state in others.items()
    }
    merged = together(list(merges.values()))
    if merged.totals:
        return False
    answers = {
        column: counts(call, named, count, of_type(column.name, column.type), of_type)
        for column, call in node.calls
        if _is_counted(call) and (counts := function(call.name).of_counts) is not None
    }
    both = together([*answers.values(), merged])
    outer = folded(kept, node.keys, both)
    values = dict(zip(answers, both.values, strict=False))
    values |= zip(others, finished(others.values(), both.values[len(answers) :]), strict=True)
    items = ((column, values[column]) for column, _ in node.calls)
    keys = ((key, Ref(key)) for key in node.keys)
    match.memo.equate(match.expression.group, Project(outer, (*keys, *items)), RULE.name)
    return True


def _counted(node: Aggregate) -> Scalar | None:
    """The expression whose values are counted, NULL where FILTER excludes a row; None unless all
    percentiles are of the same one, and of a type that is counted."""
    calls = [call for _, call in node.calls if _is_counted(call)]
    values = {contributed(call)[_place(call)] for call in calls}
    if len(values) != 1 or any(call.distinct or not _is_plain(call) for call in calls):
        return None
    (value,) = values
    return value if are_told_apart((value.type,)) and is_deterministic(value) else None


def _is_counted(call: AggregateCall) -> bool:
    is_of_them = answer_of(call) in (Answer.BAG, Answer.COUNTS)
    return is_of_them and function(call.name).of_counts is not None


def _place(call: AggregateCall) -> int:
    """Return the place of the argument whose values are counted: what the call is ordered by, if
    it has an order."""
    return -1 if call.within else 0


def _is_plain(call: AggregateCall) -> bool:
    """Return whether it has its value and one constant alone, and no counts of the author's."""
    rest = call.args[:-1] if call.within else call.args[1:]
    is_one = not call.within or not any("<" in arg.type.name for arg in rest)
    return len(rest) <= 1 and is_one and not any(references(arg) for arg in rest)


def _others(node: Aggregate) -> dict[Column, State] | None:
    """The states of all other calls; None if one has no state."""
    found = {}
    for column, call in node.calls:
        if _is_counted(call):
            continue
        state = partial_state(call, False)
        if not isinstance(state, State):
            return None
        found[column] = state
    return found


RULE = MemoRule(
    "CountedValues",
    Aggregate,
    _fire,
    "Spark's Percentile with frequencies; Gray et al. 1997: a holistic function over counts",
)
