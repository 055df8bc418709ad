"""ORDER BY, LIMIT and OFFSET of a block or of a set operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from forerun.planner.algebra.relational import Limit, Project, Relation, Sort, SortKey, Values
from forerun.planner.algebra.scalar import Literal, Ref, Scalar, references, substitute
from forerun.planner.algebra.type_kinds import is_ordered
from forerun.planner.algebra.types import Column
from forerun.planner.sql.binding.binder import BindContext, Binder, Bound, add_alias
from forerun.planner.sql.binding.scope import Scope
from forerun.planner.sql.query_block.conditions import SUBQUERIES
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.windows import sort_key
from forerun.planner.sql.syntax.text import require_only

KeyOf = Callable[[Sequence[Column]], SortKey]


def order_items(
    binder: Binder,
    order: exp.Expr | None,
    items: Sequence[tuple[str, Scalar]],
    listed: Sequence[Column] = (),
) -> tuple[list[KeyOf], list[Scalar]]:
    """Return what ORDER BY sorts by: for each key which output column, and the values that are
    computed beside the output for it. ``listed`` are the columns of SELECT DISTINCT, for its items:
    what is beside its output is computed of these."""
    if order is None:
        return [], []
    require_only(binder.text, order, "expressions")
    values: list[Scalar] = [Ref(column) for column in listed] or [value for _, value in items]
    hidden: list[Scalar] = []
    keys: list[KeyOf] = []
    for item in order.expressions:
        require_only(binder.text, item, "this", "desc", "nulls_first")
        if isinstance(item.this, exp.Var) and item.this.name.upper() == "ALL":
            keys += [_key(item, i) for i in range(len(items))]
            continue
        position = _ordinal(binder, item.this, len(items))
        if position is None:
            value = output_value(binder, item.this, items, listed)
            if value not in values:
                values.append(value)
                hidden.append(value)
            position = values.index(value)
        if not is_ordered(values[position].type):
            raise binder.text.error(item, f"nothing is sorted by {values[position].type}")
        keys.append(_key(item, position))
    return keys, hidden


def _key(item: exp.Expr, position: int) -> KeyOf:
    return lambda columns: sort_key(item, columns[position])


def _ordinal(binder: Binder, node: exp.Expr, count: int) -> int | None:
    inner = node.unnest()
    if isinstance(inner, exp.Placeholder):
        raise binder.text.unsupported(node, "a parameter as an item of ORDER BY")
    if not isinstance(inner, exp.Literal) or inner.is_string or not inner.name.isdigit():
        return None
    position = int(inner.name)
    if not 1 <= position <= count:
        raise binder.text.error(node, f"ORDER BY {position}: there are {count} columns")
    return position - 1


def output_value(
    binder: Binder,
    node: exp.Expr,
    items: Sequence[tuple[str, Scalar]],
    listed: Sequence[Column] = (),
) -> Scalar:
    """Return an expression of ORDER BY: names mean output columns first, then columns of the input;
    those of the input also where two output columns have the name. With ``listed`` columns it is
    computed of these; what they do not have is refused."""
    shown = items
    if listed:
        shown = [(name, Ref(column)) for (name, _), column in zip(items, listed, strict=True)]
    before = binder.aliases, binder.prefer_aliases
    binder.aliases, binder.prefer_aliases = _meanings(shown), True
    try:
        value = binder.bind(node)
    finally:
        binder.aliases, binder.prefer_aliases = before
    return _of_listed(binder, node, value, items, listed) if listed else value


def _of_listed(
    binder: Binder,
    node: exp.Expr,
    value: Scalar,
    items: Sequence[tuple[str, Scalar]],
    listed: Sequence[Column],
) -> Scalar:
    """Return a value as Spark computes it of the output of SELECT DISTINCT, in which it finds names
    of the output, and columns that are listed as they are."""
    plain = {
        item.column.id: Ref(column)
        for (name, item), column in zip(items, listed, strict=True)
        # A column in parentheses has its name, too.
        if isinstance(item, Ref) and item.column.name.lower() == (name or item.column.name).lower()
    }
    value = substitute(value, plain)
    if references(value) <= {column.id for column in listed}:
        return value
    if next(node.find_all(*SUBQUERIES), None) is not None:
        raise binder.text.unsupported(node, "a subquery in ORDER BY beside SELECT DISTINCT")
    raise binder.text.error(
        node,
        "ORDER BY something that SELECT DISTINCT does not list",
        "name a column of the output, by its name there",
    )


def _meanings(items: Sequence[tuple[str, Scalar]]) -> dict[str, Scalar | None]:
    """Return what names of the output mean, None where two columns have one."""
    aliases: dict[str, Scalar | None] = {}
    for name, value in items:
        add_alias(aliases, name, value)
    return aliases


def ordered_bound(
    context: BindContext,
    node: exp.Expr,
    relation: Relation,
    sort: tuple[SortKey, ...],
    visible: tuple[Column, ...],
    names: tuple[str, ...],
) -> Bound:
    """Sort, cut, and drop the columns that only ORDER BY needed."""
    if sort:
        relation = Sort(relation, sort)
    limit, offset = _count(context, node, "limit"), _count(context, node, "offset")
    if limit is not None or offset:
        relation = Limit(relation, limit, offset or 0)
    if relation.columns != visible:
        relation = Project(relation, tuple((column, Ref(column)) for column in visible))
    return Bound(relation, names, ordered=bool(sort))


def _count(context: BindContext, node: exp.Expr, clause: str) -> int | None:
    """The constant of LIMIT or OFFSET; None without one and for LIMIT ALL."""
    part = node.args.get(clause)
    if part is None:
        return None
    if isinstance(part, exp.Fetch):
        raise context.text.unsupported(part, "FETCH", "write LIMIT")
    require_only(context.text, part, "expression")
    value = part.args["expression"]
    if isinstance(value, exp.Var) and value.name.upper() == "ALL":
        return None
    binder = ExpressionBinder(context, Scope(()), Values((), ((),)))
    bound = binder.bind(value)
    if not isinstance(bound, Literal) or not bound.type.is_integer or bound.text is None:
        raise context.text.unsupported(value, f"a computed {clause.upper()}")
    if not -(2**31) <= int(bound.text) < 2**31 or bound.type.name == "BIGINT":
        raise context.text.error(value, f"{clause.upper()} takes an INT")
    if int(bound.text) < 0:
        raise context.text.error(value, f"{clause.upper()} must not be negative")
    return int(bound.text)
