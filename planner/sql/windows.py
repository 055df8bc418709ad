"""Window functions: ``f(...) OVER (...)``."""

from __future__ import annotations

from sqlglot import exp

from forerun.planner.algebra.aggregate_functions import canonical, function, is_aggregate
from forerun.planner.algebra.functions import window_type
from forerun.planner.algebra.relational import SortKey, Window, WindowCall
from forerun.planner.algebra.scalar import Literal, Ref, Scalar
from forerun.planner.algebra.types import Column, DataType
from forerun.planner.sql.binder import Binder
from forerun.planner.sql.grouping import call_name
from forerun.planner.sql.identifiers import internal_name
from forerun.planner.sql.text import require_only

_OPAQUE = (exp.Subquery, exp.Select, exp.SetOperation, exp.Exists)


def window_calls(root: exp.Expr) -> list[exp.Window]:
    """The window functions of this block below ``root``."""
    found: list[exp.Window] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, _OPAQUE):
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
    columns = tuple(binder.as_columns(named_parts))
    order = sort_keys(binder, spec.args.get("order"))
    frame = _frame(binder, spec.args.get("spec"))
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
    columns = binder.as_columns(values)
    return tuple(
        sort_key(item, column) for item, column in zip(order.expressions, columns, strict=True)
    )


def sort_key(item: exp.Expr, column: Column) -> SortKey:
    ascending = not item.args.get("desc")
    nulls = item.args.get("nulls_first")
    return SortKey(column, ascending, ascending if nulls is None else bool(nulls))


def _frame(binder: Binder, spec: exp.Expr | None) -> str:
    """The frame as Spark's text. Offsets must be literals, so that the text is whole."""
    if spec is None:
        return ""
    require_only(binder.text, spec, "kind", "start", "start_side", "end", "end_side")
    start = _bound(binder, spec.args.get("start"), spec.args.get("start_side"))
    kind = str(spec.args.get("kind") or "ROWS").upper()
    if spec.args.get("end") is None:
        return f"{kind} {start}"
    return f"{kind} BETWEEN {start} AND {_bound(binder, spec.args['end'], spec.args['end_side'])}"


def _bound(binder: Binder, value: object, side: object) -> str:
    if value == "CURRENT ROW":
        return "CURRENT ROW"
    if value == "UNBOUNDED":
        return f"UNBOUNDED {side}"
    if isinstance(value, exp.Expr):
        bound = binder.bind(value)
        if isinstance(bound, Literal) and bound.text is not None:
            if bound.type.name.startswith("INTERVAL"):
                unit = bound.type.name.removeprefix("INTERVAL ")
                return f"INTERVAL '{bound.text}' {unit} {side}"
            return f"{bound.text} {side}"
        raise binder.text.unsupported(value, "a computed bound of a window frame")
    raise ValueError(f"frame bound {value!r}")
