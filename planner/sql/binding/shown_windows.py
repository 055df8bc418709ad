"""Windows in names of columns: a function with all of its window, the frame that it has without
one, too."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from forerun.planner.algebra.functions import OWN_FRAMES, UP_TO_PEERS, WHOLE_PARTITION

CAST_BOUND = "cast bound"
"""The mark of a bound of a frame that Spark casts to the type of the key."""
Show = Callable[[exp.Expr], str]


def window_text(node: exp.Expr, show: Show) -> str:
    """Return a function over a window as Spark shows it; ``show`` does so with a part of it."""
    call = node.this
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
    spec = _named_window(node)
    partition, order = spec.args.get("partition_by"), spec.args.get("order")
    parts = [f"PARTITION BY {', '.join(map(show, partition))}"] if partition else []
    if order is not None:
        parts.append(f"ORDER BY {keys_text(order.expressions, show)}")
    frame = _frame(spec.args.get("spec"), name, call, show, ordered=order is not None)
    parts.append(frame)
    return f"{show(node.this)} OVER ({' '.join(parts)})"


def _named_window(node: exp.Expr) -> exp.Expr:
    """Return the PARTITION BY, ORDER BY and frame of a window, which WINDOW may have."""
    alias, block = node.args.get("alias"), node.find_ancestor(exp.Select)
    if alias is None or block is None:
        return node
    named = block.args.get("windows") or ()
    return next((one for one in named if one.name.lower() == alias.name.lower()), node)


def keys_text(keys: list[exp.Expr], show: Show) -> str:
    """Return what rows are sorted by as Spark shows it: with the places of NULLs."""
    return ", ".join(_key(key, show) for key in keys)


def _key(item: exp.Expr, show: Show) -> str:
    descends = bool(item.args.get("desc"))
    first = item.args.get("nulls_first")
    nulls = "FIRST" if (not descends if first is None else first) else "LAST"
    return f"{show(item.this)} {'DESC' if descends else 'ASC'} NULLS {nulls}"


def _frame(spec: exp.Expr | None, name: str, call: exp.Expr, show: Show, *, ordered: bool) -> str:
    if spec is not None:
        ends = [_bound(spec, end, show) for end in ("start", "end")]
        first, last = ends if spec.args.get("end") else (ends[0], "CURRENT ROW")
        return f"{str(spec.args.get('kind') or 'ROWS').upper()} BETWEEN {first} AND {last}"
    if name in OWN_FRAMES:
        return OWN_FRAMES[name] or _at_distance(call, name, show)
    return UP_TO_PEERS if ordered else WHOLE_PARTITION


def _bound(spec: exp.Expr, end: str, show: Show) -> str:
    value, side = spec.args.get(end), spec.args.get(f"{end}_side")
    if not isinstance(value, exp.Expr):
        return f"{value} {side}" if side else str(value)
    if side == "PRECEDING" and value.meta.get(CAST_BOUND):
        return f"(- {show(value)}) FOLLOWING"
    return f"{show(value)} {side}"


def _at_distance(call: exp.Expr, name: str, show: Show) -> str:
    """Return the frame of lag and lead."""
    by = show(call.expressions[1]) if len(call.expressions) > 1 else "1"
    if name == "lag":
        by = by.removeprefix("-") if by.startswith("-") else f"-{by}"
    return f"ROWS BETWEEN {by} FOLLOWING AND {by} FOLLOWING"
