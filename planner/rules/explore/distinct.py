"""Rewrites DISTINCT aggregates into two levels: group the values first, then aggregate them.

::

    agg[g; f(distinct x)](R)        =  agg[g; f(x)](agg[g, x](R))
    agg[g; f(distinct x), h(y)](R)  =  agg[g; f(x), h(y)](  project[g, null, y](R)
                                                          + project[g, x, null](agg[g, x](R)))

So only the distinct values are kept, not all rows: the inner grouping has states, and over an
append-only R its delta is append-only too (a value is new once), which the outer aggregate adds to
its own states. Each combination of DISTINCT arguments is a branch; the other functions share one
branch with the rows of R.

Correct for bags: a branch has NULL in the columns of the others, and all these functions skip NULL;
``count(*)`` counts a constant that only the branch of R has. Every group of R is in every branch,
so no group is lost. A row that FILTER excludes contributes NULL. Retractions need nothing special:
both levels are aggregates with their own delta rules. Source: Spark's rewrite of several DISTINCT
aggregates (``RewriteDistinctAggregates``), here with one aggregate per branch, as in Chaudhuri and
Shim, "Including group-by in query optimization", VLDB 1994.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from forerun.planner.algebra.aggregates.functions import answer_of, function
from forerun.planner.algebra.aggregates.record import Answer
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Project,
    Relation,
    UnionAll,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import INT, Column
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.props.repeatable import Repeats
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch of the union: ``values`` are the expressions over an input row that fill its own
    ``columns``; if ``grouped``, each combination of values is kept once per group."""

    columns: tuple[Column, ...]
    values: tuple[Scalar, ...]
    grouped: bool


def _is_distinct(call: AggregateCall) -> bool:
    return call.distinct and function(call.name).duplicates


def _fire(match: Match) -> bool:
    node = match.expression.node
    if not isinstance(node, Aggregate) or not _fits(match.memo, node):
        return False
    found: dict[tuple[Scalar, ...], _Branch] = {}
    plain: list[tuple[Column, Scalar]] = []
    calls = []
    for column, call in node.calls:
        values, constant = _varying(call)
        if _is_distinct(call):
            if values not in found:
                names = _named(values, match.ids)
                found[values] = _Branch(names, values, grouped=True)
            names = found[values].columns
        else:
            names = _named(values, match.ids)
            plain.extend(zip(names, values, strict=True))
        made = Column(match.ids.next_id(), column.name, column.type)
        args: tuple[Scalar, ...] = tuple(Ref(name) for name in names)
        if constant:
            args = (*args[:1], *constant, *args[1:])
        calls.append((made, replace(call, args=args, distinct=False, where=None)))
    branches = list(found.values())
    if plain:
        rows = _Branch(tuple(c for c, _ in plain), tuple(v for _, v in plain), grouped=False)
        branches.insert(0, rows)
    outer = Aggregate(_together(node, branches), node.keys, tuple(calls))
    # Renamed: an aggregate of its own, since its states are others than those of the group.
    named = zip(node.columns, outer.columns, strict=True)
    renamed = Project(outer, tuple((column, Ref(made)) for column, made in named))
    match.memo.equate(match.expression.group, renamed, RULE.name)
    return True


def _fits(memo: Memo, node: Aggregate) -> bool:
    """Return whether some call is DISTINCT, all functions have mergeable states, all types are
    known, and the input changes and repeats exactly (it is read once per branch)."""
    calls = [call for _, call in node.calls]
    if not any(_is_distinct(call) for call in calls):
        return False
    if not all(function(c.name).state and answer_of(c) is Answer.BAG for c in calls):
        return False
    if not all(arg.type.is_known for call in calls for arg in call.args):
        return False
    if not isinstance(node.input, Reference):
        return False
    return changes_and_repeats(memo, node.input)


def changes_and_repeats(memo: Memo, given: Reference) -> bool:
    """Return whether an input changes, and repeats exactly where it is computed again."""
    known = memo.tvr_of(given.group)
    return known is not None and known.changing and known.repeats is Repeats.ALWAYS


def contributed(call: AggregateCall) -> tuple[Scalar, ...]:
    """Return what a row contributes to a call: its arguments, or NULLs if FILTER excludes it."""
    values = call.args or (Literal("1", INT),)
    if call.where is None or call.where == TRUE:
        return values
    return tuple(Call("case", (call.where, v, Literal(None, v.type)), v.type) for v in values)


def _varying(call: AggregateCall) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Return what a row contributes to a call, and the argument that has to be a constant."""
    place, given = function(call.name).constant, len(call.args) - bool(call.within)
    if place is None or place >= given:
        return contributed(call), ()
    rest = replace(call, args=(*call.args[:place], *call.args[place + 1 :]))
    return contributed(rest), (call.args[place],)


def _named(values: tuple[Scalar, ...], ids: ColumnIds) -> tuple[Column, ...]:
    return tuple(Column(ids.next_id(), _name(value), value.type) for value in values)


def _name(value: Scalar) -> str:
    return value.column.name if isinstance(value, Ref) else "value"


def _together(node: Aggregate, branches: list[_Branch]) -> Relation:
    """Return the union of all branches, each with NULL in the columns of the others."""
    keys: tuple[tuple[Column, Scalar], ...] = tuple((key, Ref(key)) for key in node.keys)
    columns = tuple(column for branch in branches for column in branch.columns)
    made = []
    for branch in branches:
        own = tuple(zip(branch.columns, branch.values, strict=True))
        rows: Relation = Project(node.input, (*keys, *own))
        if branch.grouped:
            rows = Aggregate(rows, (*node.keys, *branch.columns), ())
        mine = {column.id for column in branch.columns}
        nulls = ((c, Ref(c) if c.id in mine else Literal(None, c.type)) for c in columns)
        made.append(rows if len(branches) == 1 else Project(rows, (*keys, *nulls)))
    if len(made) == 1:
        return made[0]
    return UnionAll(tuple(made), (*node.keys, *columns))


RULE = MemoRule(
    "DistinctByGroups",
    Aggregate,
    _fire,
    "RewriteDistinctAggregates of Spark; Chaudhuri and Shim, VLDB 1994: DISTINCT as grouping",
)
