"""Keeps of a window's input only the rows that can still be among the first of their partition.

::

    filter[n <= k](window[n = row_number() over w](R))  =  filter[n <= k](window[...](K))
    K      =  k(dR_1) + k(dR_2) + ...                      R  =  dR_1 + dR_2 + ...
    k(dR)  =  filter[r <= k](window[r = rank() over w](dR))

This is top-k by group, and the deduplication by ``row_number() = 1``. If R only grows, a row with k
rows before it in its partition has them before it for ever. So each run keeps the contenders of its
own delta, and the window of the query, which is computed where the result is, finds the first among
the contenders of all runs: they are states that it merges, as those of an aggregate are merged.

Correctness: rows that tie in the order have one rank, so k(R) is a prefix of every partition that
is closed under ties. All of its rows are in K, as each has no more rows before it in its own delta.
``row_number``, ``rank`` and ``dense_rank`` give them the same numbers over K as over R, where the
same choice is made among ties, and all other rows have numbers above k in either. The choice stays
where the query makes it, in the run that publishes; K itself chooses nothing. Where ``dense_rank``
is limited, k is by ``dense_rank``. Bags: copies of a row tie. NULLs: PARTITION BY and ORDER BY
treat them as values, in K as in the query. Not where a window of another partition or order stands
beside it, which needs the rows that are left out. Retractions: not where R takes rows back, since
the next rows would have to come forward.

K may be large where few values of the order tell rows apart; its size is estimated like that of any
filter, and cost decides. Source: the window group limit of Spark (SPARK-37099), kept over runs;
Mouratidis et al., "Continuous monitoring of top-k queries over sliding windows", SIGMOD 2006.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forerun.planner.algebra.relational import (
    Filter,
    Project,
    Relation,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjuncts
from forerun.planner.algebra.types import BOOLEAN, INT, Column, ColumnId
from forerun.planner.memo.groups import Expression, Role, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.search.rule import Match, MemoRule

_AFTER_OTHERS = 1
_KEPT_BY = {"row_number": "rank", "rank": "rank", "dense_rank": "dense_rank"}
"""By the function that numbers rows: the one whose limit keeps ties together."""
_MIRRORED = {"<=": ">=", "<": ">", "=": "=", ">=": "<=", ">": "<"}


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    if not isinstance(window, Window) or not isinstance(window.input, Reference):
        return False
    given = tvr_of(memo, window.input)
    if memo.tvr_of(match.expression.group) is None:
        return False  # a part of what another rule has made
    grows = given.changing and given.weight is None and given.repeats is Repeats.ALWAYS
    if not grows or not _is_alone(window):
        return False
    found = False
    numbers = {column.id: call for column, call in window.calls}
    for path in tuple(_paths(memo, match.expression)):
        limited = _limit(path[-1].node, path[:-1], numbers)
        if limited is None:
            continue
        kept = _contenders(match, window.input, *limited)
        states = memo.reference(kept.edges[Version.NEW, View.CONTENDERS])
        numbered: Relation = Window(_named(states, window.input.columns), window.calls)
        for above in path:
            numbered = above.node.with_inputs((numbered,))
        for one in (match.expression, *path):
            memo.relate(tvr_of(memo, memo.reference(one.group)), Role.CONTENDERS, kept.id)
        memo.equate(path[-1].group, numbered, RULE.name, part=True)
        found = True
    return found


def _is_alone(window: Window) -> bool:
    """Return whether all calls number the rows of one partition in one order."""
    calls = [call for _, call in window.calls]
    if not all(call.name in _KEPT_BY and call.order for call in calls):
        return False
    return len({(call.partition, call.order) for call in calls}) == 1


def _paths(memo: Memo, window: Expression) -> Iterator[tuple[Expression, ...]]:
    """Yield the ways from a window to the filters over it, directly or over one projection, without
    those that this rule made."""
    for above in _readers(memo, window):
        if isinstance(above.node, Filter):
            yield (above,)
        elif isinstance(above.node, Project):
            for over in _readers(memo, above):
                if isinstance(over.node, Filter):
                    yield above, over


def _readers(memo: Memo, below: Expression) -> Iterator[Expression]:
    """Yield the expressions of relations that read a group as of this run. What a rule has made as
    a part of something else is none, nor what this rule has made."""
    for number in memo.group(below.group).parents:
        one = memo.expressions[number]
        if one.dropped or one.origin == RULE.name or memo.tvr_of(one.group) is None:
            continue
        if not any(given.before for given in one.inputs):
            yield one


def _limit(
    node: Relation, between: tuple[Expression, ...], numbers: Mapping[ColumnId, WindowCall]
) -> tuple[WindowCall, int] | None:
    """Return the call whose ``numbers`` a filter limits most, and the highest that passes; None if
    it limits none. ``between`` is a projection that may have other names for them."""
    if not isinstance(node, Filter):
        raise TypeError(node)
    made = dict(numbers)
    for one in between:
        if isinstance(one.node, Project):
            items = ((c.id, made.get(v.column.id)) for c, v in one.node.items if isinstance(v, Ref))
            made = {id_: call for id_, call in items if call is not None}
    limits = [
        (most, made[column.id])
        for part in conjuncts(node.predicate)
        for column, most in _at_most(part)
        if column.id in made and most > 0
    ]
    if not limits:
        return None
    most, call = min(limits, key=lambda one: one[0])
    return call, most


def _at_most(part: Scalar) -> Iterator[tuple[Column, int]]:
    """Yield the column that a condition limits from above, with the highest whole number that
    passes."""
    if not isinstance(part, Call):
        return
    name, args = part.name, part.args
    if name == "in" and isinstance(args[0], Ref):
        numbers = [_whole(arg) for arg in args[1:]]
        known = [number for number in numbers if number is not None]
        if known and len(known) == len(numbers):
            yield args[0].column, max(known)
    if name not in _MIRRORED:
        return
    left, right = args
    if isinstance(right, Ref):
        name, left, right = _MIRRORED[name], right, left
    number = _whole(right)
    if isinstance(left, Ref) and number is not None and name in ("<", "<=", "="):
        yield left.column, number - 1 if name == "<" else number


def _whole(scalar: Scalar) -> int | None:
    if isinstance(scalar, Literal) and scalar.type.is_integer and scalar.text is not None:
        return int(scalar.text)
    return None


def _contenders(match: Match, rows: Reference, call: WindowCall, most: int) -> Tvr:
    """Return the TVR of k(R), with what each run keeps of its delta as a version of it."""
    memo, ids = match.memo, match.ids
    number = Column(ids.next_id(), "__rank", INT)
    by = WindowCall(_KEPT_BY[call.name], (), call.partition, call.order)
    group = memo.add(_first(rows, number, by, most, rows.columns), RULE.name)
    tvr = tvr_of(memo, memo.reference(group))
    if (Version.NEW, View.CONTENDERS) not in tvr.edges:
        columns = tuple(ids.new(column.name, column) for column in rows.columns)
        delta = memo.reference(tvr_of(memo, rows).edges[Version.DELTA, View.ROWS])
        for version, given in ((Version.NEW, rows), (Version.DELTA, delta)):
            part = _first(given, number, by, most, columns)
            memo.link(tvr, version, View.CONTENDERS, part, RULE.name)
        memo.link(tvr, Version.DELTA, View.SINGLES, _named(delta, columns), RULE.name)
    return tvr


def _first(
    rows: Relation, number: Column, by: WindowCall, most: int, columns: tuple[Column, ...]
) -> Relation:
    """Return the rows whose number is at most ``most``, as these columns."""
    limit = Literal(str(most), INT)
    passed = Filter(Window(rows, ((number, by),)), Call("<=", (Ref(number), limit), BOOLEAN))
    return _named(passed, columns)


def _named(rows: Relation, columns: tuple[Column, ...]) -> Relation:
    pairs = zip(columns, rows.columns, strict=False)
    return Project(rows, tuple((column, Ref(given)) for column, given in pairs))


RULE = MemoRule(
    "ContendersOfWindow",
    Window,
    _fire,
    "WindowGroupLimit of Spark, kept over runs: rows behind the k-th of their partition leave",
    deltas=True,
    priority=_AFTER_OTHERS,
)
