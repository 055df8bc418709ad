"""Window functions: ``f(...) OVER (...)``."""

from __future__ import annotations

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import canonical, function, is_aggregate
from forerun.planner.algebra.functions import window_type
from forerun.planner.algebra.relational import SortKey, Window, WindowCall
from forerun.planner.algebra.scalar import Literal, Ref, Scalar
from forerun.planner.algebra.types import Column, DataType
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.calls import require_fit
from forerun.planner.sql.binding.identifiers import internal_name
from forerun.planner.sql.binding.shown_windows import CAST_BOUND
from forerun.planner.sql.query_block.conditions import SUBQUERIES
from forerun.planner.sql.query_block.grouping import call_name, require_own
from forerun.planner.sql.query_block.window_rules import (
    check_function,
    check_offset,
    check_range,
    check_window,
)
from forerun.planner.sql.syntax.text import require_only


def window_calls(root: exp.Expr) -> list[exp.Window]:
    """The window functions of this block below ``root``."""
    found: list[exp.Window] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, SUBQUERIES):
            continue
        if isinstance(node, exp.Window):
            found.append(node)
        else:
            stack.extend(reversed(list(node.iter_expressions())))
    return found


def add_windows(binder: Binder, nodes: list[exp.Window], named: dict[str, exp.Window]) -> None:
    """Compute the window functions as columns of the binder's relation."""
    calls: list[tuple[Column, WindowCall]] = []
    made: dict[WindowCall, Column] = {}
    for node in nodes:
        call, type_ = _bind(binder, node, named)
        if call not in made:
            made[call] = binder.context.session.columns.new(internal_name(call.name), type_)
            calls.append((made[call], call))
        binder.known[id(node)] = Ref(made[call])
    if calls:
        binder.relation = Window(binder.relation, tuple(calls))


def _bind(
    binder: Binder, node: exp.Window, named: dict[str, exp.Window]
) -> tuple[WindowCall, DataType]:
    spec = _specification(binder, node, named)
    inner, ignore_nulls = node.this, False
    while isinstance(inner, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        if isinstance(inner, exp.Filter):
            raise binder.text.unsupported(inner, "FILTER on a window function")
        ignore_nulls = ignore_nulls or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    name = call_name(inner)
    if name is None or not isinstance(inner, exp.Anonymous):
        raise binder.text.unsupported(node, f"OVER after {inner.sql(dialect='spark')}")
    name = canonical(name) if is_aggregate(name) else name
    arguments, distinct = list(inner.expressions), False
    if arguments and isinstance(arguments[0], exp.Distinct):
        arguments, distinct = list(arguments[0].expressions), True
    known = function(name) if is_aggregate(name) else None
    takes_star = known is not None and known.takes_star
    if [type(a) for a in arguments] == [exp.Star] and takes_star:
        arguments = []
    args = tuple(binder.bind(argument) for argument in arguments)
    check_function(binder.text, node, name, args, skips=ignore_nulls)
    if known is not None and args:
        require_fit(binder, node, name, args)
    if distinct:
        raise binder.text.error(node, "a window function with DISTINCT", "Spark has none")
    if known is not None and known.skips_nulls and len(args) == 2:
        ignore_nulls, args = args[1] == Literal("true", args[1].type), args[:1]
    if takes_star and args and all(isinstance(a, Literal) and a.text for a in args):
        args = ()
    types = tuple(arg.type for arg in args)
    type_ = window_type(name, types)
    if type_ is None and known is not None:
        type_ = known.result(types)
    if type_ is None:
        raise binder.text.error(node, f"{name} is not a window function")
    partition = spec.args.get("partition_by") or []
    named_parts = [(f"{name}_key", binder.bind(part)) for part in partition]
    require_own(binder.text, node, [*args, *(key for _, key in named_parts)])
    columns = tuple(dict.fromkeys(binder.as_columns(named_parts)))
    order = sort_keys(binder, spec.args.get("order"))
    frame = _frame(binder, spec.args.get("spec"), order)
    check_window(binder.text, node, name, columns, order, frame)
    return WindowCall(name, args, columns, order, frame, distinct, ignore_nulls), type_


def _specification(binder: Binder, node: exp.Window, named: dict[str, exp.Window]) -> exp.Window:
    """The PARTITION BY, ORDER BY and frame, from the call or from the WINDOW clause."""
    alias = node.args.get("alias")
    if alias is None:
        require_only(binder.text, node, "this", "partition_by", "order", "spec", "over")
        return node
    require_only(binder.text, node, "this", "alias", "over")
    found = named.get(alias.name.lower())
    if found is None:
        raise binder.text.unknown(alias, "window", alias.name, list(named))
    require_only(binder.text, found, "this", "partition_by", "order", "spec", "over")
    return found


def sort_keys(binder: Binder, order: exp.Order | None) -> tuple[SortKey, ...]:
    """ORDER BY inside OVER: columns of the relation, with their directions."""
    if order is None:
        return ()
    values: list[tuple[str, Scalar]] = []
    for item in order.expressions:
        require_only(binder.text, item, "this", "desc", "nulls_first")
        values.append(("sort_key", binder.bind(item.this)))
        require_own(binder.text, item, [values[-1][1]])
    columns = binder.as_columns(values)
    return tuple(
        sort_key(item, column) for item, column in zip(order.expressions, columns, strict=True)
    )


def sort_key(item: exp.Expr, column: Column) -> SortKey:
    ascending = not item.args.get("desc")
    nulls = item.args.get("nulls_first")
    return SortKey(column, ascending, ascending if nulls is None else bool(nulls))


def _frame(binder: Binder, spec: exp.Expr | None, order: tuple[SortKey, ...]) -> str:
    """The frame as Spark's text. Offsets must be literals, so that the text is whole."""
    if spec is None:
        return ""
    require_only(binder.text, spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "ROWS").upper()
    offsets: list[Literal] = []
    shown = []
    for which in ("start", "end"):
        value = spec.args.get(which)
        if value is not None:
            offset = _offset(binder, value)
            if offset is not None:
                check_offset(binder.text, spec, kind, offset)
                value.meta[CAST_BOUND] = kind == "RANGE" and _is_cast(offset, order)
                offsets.append(offset)
            shown.append(_bound(offset, value, spec.args.get(f"{which}_side")))
    if kind == "RANGE":
        check_range(binder.text, spec, offsets, order)
    return f"{kind} BETWEEN {' AND '.join(shown)}" if len(shown) > 1 else f"{kind} {shown[0]}"


def _is_cast(offset: Literal, order: tuple[SortKey, ...]) -> bool:
    """Return whether the offset of a frame by RANGE gets the type of the key."""
    return any(offset.type != k.column.type and k.column.type.is_numeric for k in order)


def _offset(binder: Binder, value: object) -> Literal | None:
    """The distance of a bound from the current row; None for one without."""
    if not isinstance(value, exp.Expr):
        return None
    bound = binder.bind(value)
    if isinstance(bound, Literal) and bound.text is not None:
        return bound
    raise binder.text.unsupported(value, "a computed bound of a window frame")


def _bound(offset: Literal | None, value: object, side: object) -> str:
    if offset is None:
        return "CURRENT ROW" if value == "CURRENT ROW" else f"{value} {side}"
    if offset.type.name.startswith("INTERVAL"):
        unit = offset.type.name.removeprefix("INTERVAL ")
        return f"INTERVAL '{offset.text}' {unit} {side}"
    return f"{offset.text} {side}"
