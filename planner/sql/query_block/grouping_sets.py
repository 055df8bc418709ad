"""ROLLUP, CUBE and GROUPING SETS: every row is grouped once per set.

::

    agg[sets](R) = agg[k1', ..., id](project[ki' := case when id in ... then ki end](R x ids))

``ids`` is a constant relation with one row per set: Spark's grouping id, whose bits, the first key
the highest, say which keys are *not* in the set. So an aggregation over sets is a plain one over a
join with a static input, and whatever is known of those two holds for it. As in Spark, no rows give
no groups, not even for the empty set (Spark's ``ResolveGroupingAnalytics`` and ``Expand``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation, Values
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, TINYINT, Column
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.syntax.text import QueryText

MOST_SETS = 1024
"""A text with more grouping sets is refused: every row would be grouped that often."""

Keys = tuple[tuple[str, Scalar], ...]
BindKey = Callable[[exp.Expr], tuple[str, Scalar]]
_Set = tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """What GROUP BY says: the keys in order, each once, and per set the positions of its keys."""

    keys: Keys
    sets: tuple[frozenset[int], ...]

    def id_of(self, chosen: frozenset[int]) -> int:
        """Spark's grouping id of a set: a bit per key, 1 where the key is not in the set."""
        last = len(self.keys) - 1
        return sum(1 << (last - i) for i in range(len(self.keys)) if i not in chosen)

    def holding(self, key: int) -> tuple[int, ...]:
        """The ids of the sets that have the key."""
        return tuple(sorted({self.id_of(chosen) for chosen in self.sets if key in chosen}))


def read_sets(text: QueryText, clause: exp.Group, bind_key: BindKey) -> GroupingSets | None:
    """The grouping sets of a GROUP BY clause; None if it groups by all of its keys only."""
    factors = [_factor(text, part) for part in clause.expressions]
    first: list[exp.Expr] = [node for part in factors for chosen in part for node in chosen]
    trailing = [part for name in _TRAILING for part in clause.args.get(name) or ()]
    if trailing:
        # ``GROUP BY a, b WITH ROLLUP`` and ``GROUP BY a, b GROUPING SETS ((a), ())``
        if len(trailing) > 1 or any(isinstance(p, _CONSTRUCTS) for p in clause.expressions):
            raise text.error(trailing[0], "GROUP BY says twice which sets it groups by")
        sets = _trailing_sets(text, trailing[0], clause.expressions)
    elif any(isinstance(part, _CONSTRUCTS) for part in clause.expressions):
        count = 1
        for factor in factors:
            count *= len(factor)
        _require_few(text, clause, count)
        sets = [tuple(n for part in choice for n in part) for choice in product(*factors)]
    else:
        return None
    return _numbered(text, first, sets, bind_key, closed=bool(trailing))


_TRAILING = ("rollup", "cube", "grouping_sets")
_CONSTRUCTS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def _numbered(
    text: QueryText, nodes: list[exp.Expr], sets: list[_Set], bind_key: BindKey, *, closed: bool
) -> GroupingSets:
    """The keys by number. ``closed``: a set may hold no key that GROUP BY does not list."""
    keys: list[tuple[str, Scalar]] = []
    position: dict[Scalar, int] = {}
    by_node: dict[int, int] = {}

    def number(node: exp.Expr, *, new: bool) -> int:
        if id(node) not in by_node:
            name, scalar = bind_key(node)
            if scalar not in position:
                if not new:
                    raise text.error(node, "a grouping set has a key that GROUP BY does not list")
                position[scalar] = len(keys)
                keys.append((name, scalar))
            by_node[id(node)] = position[scalar]
        return by_node[id(node)]

    for node in nodes:
        number(node, new=True)
    chosen = tuple(frozenset(number(n, new=not closed) for n in one) for one in sets)
    return GroupingSets(tuple(keys), chosen)


def _factor(text: QueryText, part: exp.Expr) -> list[_Set]:
    """The sets of one item of GROUP BY; items multiply."""
    match part:
        case exp.Rollup():
            units = [_unit(item) for item in part.expressions]
            return [_joined(units[:count]) for count in range(len(units), -1, -1)]
        case exp.Cube():
            units = [_unit(item) for item in part.expressions]
            _require_few(text, part, 1 << len(units))
            masks = range((1 << len(units)) - 1, -1, -1)
            return [_joined(u for i, u in enumerate(units) if mask >> i & 1) for mask in masks]
        case exp.GroupingSets():
            return [one for item in part.expressions for one in _listed(text, item)]
    return [(part,)]


def _listed(text: QueryText, item: exp.Expr) -> list[_Set]:
    """One item of GROUPING SETS, which may again be a ROLLUP, CUBE or GROUPING SETS."""
    return _factor(text, item) if isinstance(item, _CONSTRUCTS) else [_unit(item)]


def _unit(item: exp.Expr) -> _Set:
    """A key, or several in parentheses that come and go together."""
    if isinstance(item, exp.Tuple):
        return tuple(item.expressions)
    return (item.this,) if isinstance(item, exp.Paren) else (item,)


def _joined(units: Iterable[_Set]) -> _Set:
    return tuple(node for unit in units for node in unit)


def _trailing_sets(text: QueryText, clause: exp.Expr, keys: list[exp.Expr]) -> list[_Set]:
    if isinstance(clause, exp.GroupingSets):
        return _factor(text, clause)
    whole = exp.Rollup() if isinstance(clause, exp.Rollup) else exp.Cube()
    whole.args["expressions"] = keys  # not set(): the nodes stay where they are in the tree
    return _factor(text, whole)


def _require_few(text: QueryText, node: exp.Expr, count: int) -> None:
    if count > MOST_SETS:
        raise text.unsupported(
            node, f"GROUP BY with {count} grouping sets", f"list at most {MOST_SETS} GROUPING SETS"
        )


@dataclass(frozen=True, slots=True)
class Expanded:
    """The rows once per set. ``keys``: the columns of the keys, NULL where the set has them not;
    ``group``: all columns to group by; ``id``: the grouping id."""

    relation: Relation
    keys: tuple[Column, ...]
    group: tuple[Column, ...]
    id: Column


def expand_rows(
    binder: Binder, relation: Relation, columns: list[Column], sets: GroupingSets
) -> Expanded:
    """Join the constant relation of set ids; ``columns`` are the keys as columns of the rows."""
    new = binder.context.session.columns.new
    ids = [sets.id_of(chosen) for chosen in sets.sets]
    listed = [new("grouping_id", BIGINT)]
    rows: list[tuple[Scalar, ...]] = [(Literal(str(i), BIGINT),) for i in ids]
    if max(Counter(ids).values()) > 1:
        # The same set twice gives its groups twice.
        listed.append(new("grouping_set", INT))
        rows = [(*row, Literal(str(place), INT)) for place, row in enumerate(rows)]
    joined = Join(JoinKind.INNER, relation, Values(tuple(listed), tuple(rows)), TRUE)
    items: list[tuple[Column, Scalar]] = [(column, Ref(column)) for column in joined.columns]
    keys: list[Column] = []
    for place, column in enumerate(columns):
        within = sets.holding(place)
        if len(within) == len(set(ids)):
            keys.append(column)
            continue
        keys.append(new(column.name, column.type))
        nothing = Literal(None, column.type)
        shown = Call("case", (_is_one_of(listed[0], within), Ref(column), nothing), column.type)
        items.append((keys[-1], shown))
    expanded = Project(joined, tuple(items))
    return Expanded(expanded, tuple(keys), (*dict.fromkeys(keys), *listed), listed[0])


def _is_one_of(column: Column, ids: tuple[int, ...]) -> Scalar:
    if not ids:
        return Literal("false", BOOLEAN)
    return Call("in", (Ref(column), *(Literal(str(i), BIGINT) for i in ids)), BOOLEAN)


def grouping_value(
    binder: Binder, node: exp.Anonymous, sets: GroupingSets, id_column: Column
) -> Scalar:
    """``grouping(key)`` and ``grouping_id([keys])``, from the grouping id of the group."""
    numbers = {scalar: place for place, (_, scalar) in enumerate(sets.keys)}
    places = [numbers.get(binder.bind(argument)) for argument in node.expressions]
    if node.name.lower() == "grouping_id":
        if places and places != list(range(len(sets.keys))):
            raise binder.text.error(
                node, "grouping_id names other columns than GROUP BY", "write grouping_id()"
            )
        return Ref(id_column)
    if len(places) != 1 or places[0] is None:
        raise binder.text.error(node, "grouping takes one expression that GROUP BY lists")
    here = _is_one_of(id_column, sets.holding(places[0]))
    return Call("case", (here, Literal("0", TINYINT), Literal("1", TINYINT)), TINYINT)
