"""The identity of a relation: text and hash that do not depend on column ids.

Two plans that mean the same sub-query, made at different times or for different queries, have the
same canonical text: columns are called by their position in the inputs of the node that reads
them (``$0``, ``$1``, ...), so neither ids nor output names matter, only source names, source column
names, types and structure. What obviously commutes is put in order: the parts of AND and OR, the
sides of ``=``, ``<>`` and ``<=>``; ``>`` is written as ``<`` turned round.

Different text does not promise a different meaning; equal text promises an equal one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
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
    Window,
    WindowCall,
    fold,
)
from forerun.planner.algebra.scalar import CONNECTIVES, Call, Literal, Ref, Scalar, operands
from forerun.planner.algebra.types import Column, ColumnId

_SYMMETRIC = frozenset({"=", "<>", "<=>"})
_TURNED = {">": "<", ">=": "<="}
Positions = Mapping[ColumnId, int]


def fingerprint(relation: Relation, *extra: str, known: dict[int, str] | None = None) -> str:
    """Hex SHA-256 over the canonical text and ``extra`` (what else the rows depend on). ``known``:
    as of :func:`canonical`."""
    data = json.dumps([canonical(relation, known), *extra], ensure_ascii=True)
    return hashlib.sha256(data.encode()).hexdigest()


def canonical(relation: Relation, known: dict[int, str] | None = None) -> str:
    """The relation as text without column ids. ``known``: texts of nodes that have been written
    before and are still there, by their identity; it is added to.

    Raises UnknownOperatorError for an operator it has not been told about: a node without canonical
    text must not be kept under a name that another one could have.
    """

    def with_inputs(node: Relation, inputs: tuple[str, ...]) -> str:
        own = node_text(node)
        return f"{own}({', '.join(inputs)})" if inputs else own

    return fold(relation, with_inputs, known)


def canonical_scalar(scalar: Scalar, positions: Positions) -> str:
    """A scalar with its references written as positions. References out of ``positions`` are
    a KeyError: the caller names every input column."""
    if isinstance(scalar, Ref):
        return f"${positions[scalar.column.id]}"
    if isinstance(scalar, Literal):
        value = "NULL" if scalar.text is None else _quoted(scalar.text)
        return f"{value}:{scalar.type.sql}"
    return _call(scalar, positions)


def _call(call: Call, positions: Positions) -> str:
    if call.name in CONNECTIVES:
        parts = {canonical_scalar(part, positions) for part in operands(call.name, call)}
        return f"{call.name}({', '.join(sorted(parts))})"
    args = [canonical_scalar(arg, positions) for arg in call.args]
    name = call.name
    if name in _TURNED:
        name, args = _TURNED[name], args[::-1]
    elif name in _SYMMETRIC:
        args = sorted(args)
    return f"{name}:{call.type.sql}({', '.join(args)})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _positions(columns: Iterable[Column]) -> Positions:
    return {column.id: position for position, column in enumerate(columns)}


def _sort_key(key: SortKey, positions: Positions) -> str:
    order = "asc" if key.ascending else "desc"
    nulls = "first" if key.nulls_first else "last"
    return f"${positions[key.column.id]} {order} {nulls}"


@operator_pass("fingerprint")
def node_text(node: Relation) -> str:
    """The node's own part of the canonical text, without its inputs."""
    raise NotImplementedError


@node_text.register(Scan)
def _scan(node: Scan) -> str:
    columns = ", ".join(f"{_quoted(c.name)}:{c.type.sql}" for c in node.scanned)
    return f"scan {_quoted(node.source)} {node.version} [{columns}]"


@node_text.register(StateRead)
def _state_read(node: StateRead) -> str:
    pairs = zip(node.stored, node.read, strict=True)
    columns = ", ".join(f"{_quoted(name)}:{column.type.sql}" for name, column in pairs)
    return f"state {_quoted(node.family)} {node.version} [{columns}]"


@node_text.register(Values)
def _values(node: Values) -> str:
    types = ", ".join(column.type.sql for column in node.listed)
    rows = ", ".join(
        "(" + ", ".join(canonical_scalar(value, {}) for value in row) + ")" for row in node.rows
    )
    return f"values [{types}] [{rows}]"


@node_text.register(Filter)
def _filter(node: Filter) -> str:
    return f"filter[{canonical_scalar(node.predicate, _positions(node.input.columns))}]"


@node_text.register(Project)
def _project(node: Project) -> str:
    positions = _positions(node.input.columns)
    items = ", ".join(
        f"{canonical_scalar(scalar, positions)} as {column.type.sql}"
        for column, scalar in node.items
    )
    return f"project[{items}]"


@node_text.register(Join)
def _join(node: Join) -> str:
    positions = _positions((*node.left.columns, *node.right.columns))
    return f"{node.kind} join[{canonical_scalar(node.condition, positions)}]"


@node_text.register(Aggregate)
def _aggregate(node: Aggregate) -> str:
    positions = _positions(node.input.columns)
    keys = ", ".join(f"${positions[key.id]}" for key in node.keys)
    calls = ", ".join(
        f"{_aggregate_call(call, positions)} as {column.type.sql}" for column, call in node.calls
    )
    return f"aggregate[{keys}; {calls}]"


def _aggregate_call(call: AggregateCall, positions: Positions) -> str:
    args = ", ".join(canonical_scalar(arg, positions) for arg in call.args)
    distinct = "distinct " if call.distinct else ""
    where = "" if call.where is None else f" where {canonical_scalar(call.where, positions)}"
    within = f" within {call.within}" if call.within else ""
    return f"{call.name}({distinct}{args}){within}{where}"


@node_text.register(Repeat)
def _repeat(node: Repeat) -> str:
    return f"repeat[${_positions(node.input.columns)[node.count.id]}]"


@node_text.register(Generate)
def _generate(node: Generate) -> str:
    types = ", ".join(column.type.sql for column in node.made)
    call = canonical_scalar(node.call, _positions(node.input.columns))
    return f"generate{' outer' if node.outer else ''}[{call} as {types}]"


@node_text.register(UnionAll)
def _union(node: UnionAll) -> str:
    return f"union all[{', '.join(column.type.sql for column in node.merged)}]"


@node_text.register(Recursion)
def _recursion(node: Recursion) -> str:
    types = ", ".join(column.type.sql for column in node.made)
    steps = node.steps
    parts = (canonical(part) for part in (steps.first, steps.step))
    return f"recursion {_quoted(steps.name)} [{types}] [{'; '.join(parts)}]"


@node_text.register(SetOperation)
def _set_operation(node: SetOperation) -> str:
    types = ", ".join(column.type.sql for column in node.merged)
    return f"{node.kind}{' all' if node.all else ''}[{types}]"


@node_text.register(Sort)
def _sort(node: Sort) -> str:
    positions = _positions(node.input.columns)
    return f"sort[{', '.join(_sort_key(key, positions) for key in node.keys)}]"


@node_text.register(Limit)
def _limit(node: Limit) -> str:
    return f"limit[{node.count} offset {node.offset}]"


@node_text.register(Window)
def _window(node: Window) -> str:
    positions = _positions(node.input.columns)
    calls = ", ".join(
        f"{_window_call(call, positions)} as {column.type.sql}" for column, call in node.calls
    )
    return f"window[{calls}]"


def _window_call(call: WindowCall, positions: Positions) -> str:
    args = ", ".join(canonical_scalar(arg, positions) for arg in call.args)
    partition = ", ".join(f"${positions[column.id]}" for column in call.partition)
    order = ", ".join(_sort_key(key, positions) for key in call.order)
    flags = f"{'distinct ' if call.distinct else ''}{'ignore nulls ' if call.ignore_nulls else ''}"
    return f"{call.name}({flags}{args}) over ({partition}; {order}; {_quoted(call.frame)})"
