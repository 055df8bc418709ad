"""Algebra as text for people and golden files: stable, one operator a line, shared nodes named.

A relation that occurs more than once (equal value) is written once, as ``@1 := ...``, and referred
to by that name. The text is for reading; nothing parses it.
"""

from __future__ import annotations

from collections import Counter

from forerun.planner.algebra.higher_order import LAMBDA, VARIABLE
from forerun.planner.algebra.nested import ELEMENT, FIELD
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import CONNECTIVES, INFIX, TRUE, Literal, Ref, Scalar
from forerun.planner.algebra.types import Column

_INFIX = INFIX | {"div", "&", "|", "^"}


def format_relation(relation: Relation, *, types: bool = False) -> str:
    """The tree, inputs indented below their operator. ``types`` adds the output columns' types."""
    return _Writer(relation, types).text()


def format_scalar(scalar: Scalar) -> str:
    """An expression: ``(a#1 + b#2)``, ``sum(...)``, ``'text'``, ``1.50``."""
    if isinstance(scalar, Ref):
        return str(scalar.column)
    if isinstance(scalar, Literal):
        return _literal(scalar)
    args = [format_scalar(arg) for arg in scalar.args]
    if scalar.name in CONNECTIVES:
        joined = f" {scalar.name} ".join([args[0], *(f"{arg})" for arg in args[1:])])
        return f"{'(' * (len(args) - 1)}{joined}"
    if scalar.name in _INFIX and len(args) == 2:
        return f"({args[0]} {scalar.name} {args[1]})"
    if scalar.name in ("cast", "try_cast"):
        return f"{scalar.name}({args[0]} as {scalar.type})"
    if scalar.name == LAMBDA:
        return f"({', '.join(args[1:])}) -> {args[0]}"
    if scalar.name == VARIABLE and isinstance(scalar.args[0], Literal):
        return str(scalar.args[0].text)
    if scalar.name in (FIELD, ELEMENT):
        return f"{args[0]}[{args[1]}]"
    return f"{scalar.name}({', '.join(args)})"


def _literal(literal: Literal) -> str:
    if literal.text is None:
        return "NULL"
    if literal.type.name == "STRING":
        return repr(literal.text)
    if literal.type.name in ("INT", "BOOLEAN", "DECIMAL"):
        return literal.text
    return f"{literal.type} {literal.text}"


class _Writer:
    def __init__(self, relation: Relation, types: bool) -> None:
        self.relation = relation
        self.types = types
        self.uses = Counter[Relation]()
        self._count(relation)
        self.names: dict[Relation, str] = {}
        self.lines: list[str] = []

    def _count(self, relation: Relation) -> None:
        """Count occurrences; what is below a shared node is counted once."""
        stack = [relation]
        while stack:
            node = stack.pop()
            self.uses[node] += 1
            if self.uses[node] == 1:
                stack.extend(reversed(node.inputs))

    def text(self) -> str:
        stack: list[tuple[Relation, int]] = [(self.relation, 0)]
        while stack:
            node, depth = stack.pop()
            indent = "  " * depth
            if node in self.names:
                self.lines.append(f"{indent}{self.names[node]}")
                continue
            label = ""
            if self.uses[node] > 1:
                self.names[node] = f"@{len(self.names) + 1}"
                label = f"{self.names[node]} := "
            self.lines.append(f"{indent}{label}{operator_text(node)}{self._types(node)}")
            stack.extend((child, depth + 1) for child in reversed(node.inputs))
        return "\n".join(self.lines)

    def _types(self, node: Relation) -> str:
        if not self.types:
            return ""
        return f"  -> {', '.join(f'{column}: {column.type}' for column in node.columns)}"


def operator_text(node: Relation) -> str:
    """One operator without its inputs, on one line."""
    match node:
        case Scan():
            return f"Scan {node.source}{_version(node.version)} [{_columns(node.columns)}]"
        case StateRead():
            return f"StateRead {node.family}{_version(node.version)} [{_columns(node.columns)}]"
        case Values():
            rows = ", ".join(f"({', '.join(map(format_scalar, row))})" for row in node.rows)
            return f"Values [{_columns(node.columns)}] {rows}".rstrip()
        case Filter():
            return f"Filter {format_scalar(node.predicate)}"
        case Project():
            return f"Project [{', '.join(_item(*item) for item in node.items)}]"
        case Join():
            return _join(node)
        case Aggregate():
            calls = ", ".join(f"{column} := {format_call(call)}" for column, call in node.calls)
            return f"Aggregate by [{_columns(node.keys)}]" + (f" [{calls}]" if calls else "")
        case Repeat():
            return f"Repeat {node.count}"
    return _ordered(node)


def _ordered(node: Relation) -> str:
    match node:
        case UnionAll():
            return f"UnionAll [{_columns(node.columns)}]"
        case SetOperation():
            return f"{node.kind.title()}{' all' if node.all else ''} [{_columns(node.columns)}]"
        case Sort():
            return f"Sort [{_keys(node.keys)}]"
        case Limit():
            offset = f" offset {node.offset}" if node.offset else ""
            return f"Limit {'all' if node.count is None else node.count}{offset}"
        case Generate():
            made = ", ".join(str(column) for column in node.made)
            return (
                f"Generate{' outer' if node.outer else ''} [{made}] := {format_scalar(node.call)}"
            )
        case Window():
            calls = (f"{column} := {_window(call)}" for column, call in node.calls)
            return f"Window [{', '.join(calls)}]"
    raise TypeError(f"no text for {type(node).__name__}")


def format_call(call: AggregateCall) -> str:
    """An aggregate: ``sum(distinct x) where p``, ``count(*)``."""
    args = ", ".join(map(format_scalar, call.args)) or "*"
    where = "" if call.where is None else f" where {format_scalar(call.where)}"
    within = f" within {call.within.lower()}" if call.within else ""
    return f"{call.name}({'distinct ' if call.distinct else ''}{args}){within}{where}"


def _window(call: WindowCall) -> str:
    args = ", ".join(map(format_scalar, call.args))
    over = []
    if call.partition:
        over.append(f"partition by {_columns(call.partition)}")
    if call.order:
        over.append(f"order by {_keys(call.order)}")
    if call.frame:
        over.append(call.frame.lower())
    nulls = " ignore nulls" if call.ignore_nulls else ""
    distinct = "distinct " if call.distinct else ""
    return f"{call.name}({distinct}{args}){nulls} over ({' '.join(over)})"


def _join(node: Join) -> str:
    mark = "" if node.mark is None else f" {node.mark} :="
    condition = "" if node.condition == TRUE else f" on {format_scalar(node.condition)}"
    return f"Join {node.kind}{mark}{condition}"


def _item(column: Column, scalar: Scalar) -> str:
    if scalar == Ref(column):
        return str(column)
    return f"{column} := {format_scalar(scalar)}"


def _columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(map(str, columns))


def _keys(keys: tuple[SortKey, ...]) -> str:
    parts = []
    for key in keys:
        text = str(key.column) + ("" if key.ascending else " desc")
        if key.nulls_first != key.ascending:
            text += " nulls first" if key.nulls_first else " nulls last"
        parts.append(text)
    return ", ".join(parts)


def _version(version: Version) -> str:
    return "" if version is Version.NEW else f" {version}"
