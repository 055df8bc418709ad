"""Computes windows again only of the partitions that a step touches.

::

    f(R_new)  =  f(R)_old not in P  +  f(R_new in P)              P  =  distinct p of dR

*f* is a window and what stands above it as long as it is done partition by partition: projections,
filters, further windows and groupings by *p*, some of the columns that all of these windows
partition by. A partition of which no row comes or goes is what it was. So a running total, a
number kept in the output, the value of the row before, or the sessions of a user are kept as they
came out, and the run that publishes replaces those of the users who did something since.

Correctness: each operator of *f* gives for the rows of one value of *p* what it gives for them
alone, and hands *p* on, so f(R) is the sum of f over the partitions of R. Bags: rows of one
partition go and come together. NULLs: PARTITION BY and GROUP BY take a NULL for a value; the
partition of NULL is computed again in every run. Retractions: a row that is taken back is in dR,
too, and its partition is computed anew of R_new, which no longer has it; a partition that has lost
all rows is in P and gives none. Choices: where *f* numbers rows that tie, what is kept is one of
its right answers, and stays it; *f* must then be read in one place only, since two might see
different ones.

What is kept is all of f(R)_old, in one partition of a family that each run which keeps it writes
anew. It pays where few partitions are touched late in the day, as of users, sensors or sessions,
and cost decides. Source: distributed IVM 3.2, domain of the affected rows, for the operators that
SQL has no delta for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forerun.planner.algebra.fingerprint import fingerprint
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    Version,
    Window,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Ref,
    Scalar,
    conjunction,
    connected,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId
from forerun.planner.memo.groups import Expression, GroupId, Role, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Kept, Reference
from forerun.planner.memo.tree import original
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.search.rule import Match, MemoRule

_AFTER_CONTENDERS = 2
_By = Mapping[ColumnId, Column]
"""The columns of R that partitions are told apart by, each with the column that it is above."""


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    if not isinstance(window, Window) or not isinstance(window.input, Reference):
        return False
    here = memo.tvr_of(match.expression.group)
    if here is None or here.has(Role.CONTENDERS):
        return False  # a part of what another rule has made, or only its first rows are wanted
    given = tvr_of(memo, window.input)
    by = _common(window, {column.id: column for column in window.input.columns})
    if not given.changing or not given.has_delta or given.repeats is not Repeats.ALWAYS or not by:
        return False
    if _is_grouped(memo, given.new):
        return False  # there are few rows, and most partitions are touched
    path = [match.expression]
    while (above := _above(memo, path[-1].group, by)) is not None:
        path.append(above[0])
        by = above[1]
    top = tvr_of(memo, memo.reference(path[-1].group))
    if (Version.NEW, View.SPLIT) in top.edges:
        return False
    if top.repeats is Repeats.CHOSEN and not is_seen_once(memo, match.expression.group, top.new):
        return False
    memo.link(top, Version.NEW, View.SPLIT, _replaced(match, window.input, path, by), RULE.name)
    return True


def _replaced(match: Match, rows: Reference, path: list[Expression], by: _By) -> Relation:
    """The union of what stays and of what is computed again."""
    memo, ids = match.memo, match.ids
    given, top = tvr_of(memo, rows), memo.group(path[-1].group)
    below = [column for column in rows.columns if column.id in by]
    named = tuple(ids.new(column.name, column) for column in below)
    delta = memo.reference(given.edges[Version.DELTA, View.ROWS])
    # A delta has its own columns, in the order of the rows that it is of.
    came = dict(zip((column.id for column in rows.columns), delta.columns, strict=False))
    items = tuple((new, Ref(came[old.id])) for new, old in zip(named, below, strict=True))
    touched = Aggregate(Project(delta, items), named, ())
    again = _looked_up(rows, below, touched, is_touched=True)
    for one in path:
        again = one.node.with_inputs((again,))
    above = [by[column.id] for column in below]
    stays = _looked_up(Kept(top.id, top.columns), above, touched, is_touched=False)
    return UnionAll((stays, again), top.columns)


def _looked_up(
    rows: Relation, by: list[Column], touched: Aggregate, *, is_touched: bool
) -> Relation:
    """The rows of the partitions that are touched, or of all others. Where a column is NULL, the
    partition is computed again in any case: so an equality is enough to find it, by which rows may
    lie already, and which Spark hashes by the number itself."""
    pairs = zip(by, touched.keys, strict=True)
    same = conjunction(tuple(equals(mine, key) for mine, key in pairs))
    joined = Join(JoinKind.LEFT, rows, touched, same)
    unknown = tuple(Call("isnull", (Ref(column),), BOOLEAN) for column in by)
    found = Call("isnotnull", (Ref(touched.keys[0]),), BOOLEAN)
    wanted: Scalar = connected("or", [found, *unknown])
    if not is_touched:
        wanted = Call("not", (wanted,), BOOLEAN)
    return Project(Filter(joined, wanted), tuple((c, Ref(c)) for c in rows.columns))


def _common(node: Window, by: _By) -> _By:
    """Those of the columns that every call partitions by."""
    partitions = [{column.id for column in call.partition} for _, call in node.calls]
    return {id_: here for id_, here in by.items() if all(here.id in one for one in partitions)}


def _above(memo: Memo, group: GroupId, by: _By) -> tuple[Expression, _By] | None:
    """The operator of the query that alone reads a group, if it is done partition by partition;
    where the query has none, that of a rule."""
    readers = list(_readers(memo, group))
    readers = [one for one in readers if not one.origin] or readers
    if len({one.group for one in readers}) != 1:
        return None
    for one in sorted(readers, key=lambda one: one.id):
        if found := _handed_on(one.node, by):
            return one, found
    return None


def _handed_on(node: Relation, by: _By) -> _By:
    """The columns by which an operator is done partition by partition, as it hands them on; none
    where it is not."""
    if isinstance(node, Filter):
        return by if is_deterministic(node.predicate) else {}
    if isinstance(node, Window):
        return _common(node, by)
    if isinstance(node, Aggregate):
        parts = (part for _, call in node.calls for part in (*call.args, call.where or TRUE))
        if not all(is_deterministic(part) for part in parts):
            return {}
        keys = {key.id for key in node.keys}
        return {id_: here for id_, here in by.items() if here.id in keys}
    if not isinstance(node, Project) or not all(is_deterministic(v) for _, v in node.items):
        return {}
    made = {v.column.id: column for column, v in node.items if isinstance(v, Ref)}
    return {id_: made[here.id] for id_, here in by.items() if here.id in made}


def _readers(memo: Memo, group: GroupId) -> Iterator[Expression]:
    """Yield the expressions of relations that read a group as of this run."""
    for number in memo.group(group).parents:
        one = memo.expressions[number]
        if one.dropped or memo.tvr_of(one.group) is None or one.group == group:
            continue
        if not any(given.before for given in one.inputs):
            yield one


def is_seen_once(memo: Memo, window: GroupId, group: GroupId) -> bool:
    """Return whether there is one way from a group up to the result, or to what no choice among its
    rows makes a difference to, and no other window that is the same."""
    if _has_twin(memo, window):
        return False
    while readers := [one for one in _readers(memo, group) if _is_chosen(memo, one)]:
        twice = any(sum(i.group == group for i in one.inputs) > 1 for one in readers)
        if twice or len({one.group for one in readers}) > 1:
            return False
        group = readers[0].group
    return True


def _is_chosen(memo: Memo, one: Expression) -> bool:
    return tvr_of(memo, memo.reference(one.group)).repeats is Repeats.CHOSEN


def _has_twin(memo: Memo, window: GroupId) -> bool:
    """Return whether the same window is computed elsewhere in the query, as where it reads a named
    relation twice."""
    known: dict[GroupId, Relation] = {}
    mine = fingerprint(original(memo, window, known))
    others = {memo.leader(one.group) for one in memo.expressions
              if isinstance(one.node, Window) and not one.dropped and not one.origin}  # fmt: skip
    return any(fingerprint(original(memo, other, known)) == mine for other in others - {window})


def _is_grouped(memo: Memo, group: GroupId) -> bool:
    """Return whether a relation is of groups, as they are or as they are projected or filtered."""
    node = next(memo.alternatives(group)).node
    while isinstance(node, Project | Filter) and isinstance(node.input, Reference):
        node = next(memo.alternatives(memo.leader(node.input.group))).node
    return isinstance(node, Aggregate)


RULE = MemoRule(
    "WindowsOfChangedPartitions",
    Window,
    _fire,
    "Distributed IVM 3.2: what a step does not touch stays; windows go partition by partition",
    deltas=True,
    priority=_AFTER_CONTENDERS,
)
