"""Describe the rows of a relation in the words of the report's author: tables and column names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.node import Unary
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Window,
)
from forerun.planner.algebra.scalar import Ref, walk
from forerun.planner.algebra.types import Column, ColumnId

_PAIRS = {
    JoinKind.INNER: "join",
    JoinKind.LEFT: "left join",
    JoinKind.RIGHT: "right join",
    JoinKind.FULL: "full join",
    JoinKind.SINGLE: "join",
}
_MATCHES = {JoinKind.SEMI: "with a match in", JoinKind.ANTI: "without a match in"}
_MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class Words:
    """Phrases for the relations of one query. ``names`` are what the query calls the outputs of
    its aggregates, by column id."""

    names: Mapping[ColumnId, str]

    def of(self, node: Relation) -> str:
        """A phrase without an article: ``lineitem rows``, ``join of orders and lineitem``,
        ``revenue by o_orderkey``. It leaves out what only reshapes rows, so that two relations may
        have the same phrase."""
        return phrase(node, self)

    def noun(self, node: Relation) -> str:
        """The same inside a longer phrase: a table by its name, a join in brackets."""
        inner = _without_projections(node)
        if isinstance(inner, Scan):
            return inner.source
        if isinstance(inner, Filter) and isinstance(_without_projections(inner.input), Scan):
            return f"selected {self.noun(inner.input)}"
        text = self.of(inner)
        return f"({text})" if isinstance(inner, Join | UnionAll | SetOperation) else text


@operator_pass("description")
def phrase(node: Relation, words: Words) -> str:
    """Return a phrase, without an article, that says what the rows of a node are."""
    raise NotImplementedError


@phrase.register(Project, Sort, Limit, Repeat)
def _reshaped(node: Unary, words: Words) -> str:
    return words.of(node.input)


@phrase.register(Generate)
def _generate(node: Generate, words: Words) -> str:
    return f"parts of {words.noun(node.input)}"


@phrase.register(Filter)
def _filter(node: Filter, words: Words) -> str:
    return f"selected {words.of(node.input)}"


@phrase.register(Scan)
def _scan(node: Scan, _: Words) -> str:
    return f"{node.source} rows"


@phrase.register(StateRead)
def _state_read(*_: object) -> str:
    return "saved rows"


@phrase.register(Values)
def _values(*_: object) -> str:
    return "constant rows"


@phrase.register(UnionAll)
def _union(node: UnionAll, words: Words) -> str:
    return f"union of {_list([words.noun(branch) for branch in node.branches])}"


@phrase.register(Recursion)
def _recursion(node: Recursion, _: Words) -> str:
    return f"steps of {node.steps.name}"


@phrase.register(SetOperation)
def _set_operation(node: SetOperation, words: Words) -> str:
    return f"{words.noun(node.left)} {node.kind.value} {words.noun(node.right)}"


@phrase.register(Window)
def _window(node: Window, words: Words) -> str:
    return f"window functions over {words.noun(node.input)}"


@phrase.register(Aggregate)
def _aggregate(node: Aggregate, words: Words) -> str:
    if not node.calls:
        return f"distinct {column_list(node.keys)} of {words.noun(node.input)}"
    made = _cut([words.names.get(column.id) or _call(call) for column, call in node.calls])
    if node.keys:
        return f"{made} by {column_list(node.keys)}"
    return f"{made} over {words.noun(node.input)}"


@phrase.register(Join)
def _join(node: Join, words: Words) -> str:
    if node.kind in _MATCHES:
        return f"{words.of(node.left)} {_MATCHES[node.kind]} {words.noun(node.right)}"
    if node.kind is JoinKind.MARK:
        return f"{words.of(node.left)} marked by {words.noun(node.right)}"
    parts = _inner_parts(node) if node.kind is JoinKind.INNER else [node.left, node.right]
    return f"{_PAIRS[node.kind]} of {_list([words.noun(part) for part in parts])}"


def words_of(root: Relation) -> Words:
    """The words of a query: a projection that only renames gives an aggregate's output its name,
    the one nearest to it where several do."""
    names: dict[ColumnId, str] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(node.inputs)
        if isinstance(node, Project):
            names |= {
                item.column.id: column.name for column, item in node.items if isinstance(item, Ref)
            }
    return Words(names)


def column_list(columns: tuple[Column, ...]) -> str:
    """Names in order, a long list cut short."""
    return _cut([column.name for column in columns])


def _call(call: AggregateCall) -> str:
    """An aggregate that the query gives no name: a function of HAVING, or one of a subquery."""
    read = [part.column.name for arg in call.args for part in walk(arg) if isinstance(part, Ref)]
    return f"{call.name} of {_list(list(dict.fromkeys(read))) if read else 'rows'}"


def _cut(listed: list[str]) -> str:
    names = list(dict.fromkeys(listed))
    more = len(names) - _MOST_NAMES
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_MOST_NAMES])} and {more} more"


def _inner_parts(node: Relation) -> list[Relation]:
    """The inputs of a tree of inner joins, projections between them left out."""
    inner = _without_projections(node)
    if isinstance(inner, Join) and inner.kind is JoinKind.INNER:
        return [*_inner_parts(inner.left), *_inner_parts(inner.right)]
    return [node]


def _without_projections(node: Relation) -> Relation:
    while isinstance(node, Project):
        node = node.input
    return node


def _list(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def label(node: Relation) -> str:
    """A few words for people: what the operator is, and over what."""
    name = type(node).__name__
    if isinstance(node, Scan):
        return f"Scan {node.source}"
    if isinstance(node, Aggregate):
        keys = ", ".join(key.name for key in node.keys)
        return f"Aggregate by {keys}" if keys else "Aggregate of all rows"
    if isinstance(node, UnionAll):
        return f"Union of {len(node.branches)}"
    kind = getattr(node, "kind", None)
    return f"{name} {kind.value}" if kind is not None else name
