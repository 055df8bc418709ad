"""GROUP BY, aggregate functions and DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import function, is_aggregate, type_of
from forerun.planner.algebra.aggregates.record import AggregateFunction
from forerun.planner.algebra.relational import Aggregate, AggregateCall
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, references, walk
from forerun.planner.algebra.signatures import WITHOUT_DISTINCT
from forerun.planner.algebra.spark_functions import KINDS, FunctionKind
from forerun.planner.algebra.types import DOUBLE, STRING, Column
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.calls import require_fit
from forerun.planner.sql.binding.coercion import cast
from forerun.planner.sql.binding.identifiers import internal_name
from forerun.planner.sql.binding.scope import outer_columns, parts_of
from forerun.planner.sql.query_block.conditions import SUBQUERIES
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.grouping_sets import (
    GroupingSets,
    Keys,
    expand_rows,
    grouping_value,
)
from forerun.planner.sql.syntax.text import QueryText, require_only

_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def aggregate_calls(root: exp.Expr) -> list[exp.Expr]:
    """The aggregate calls of this block below ``root``, outermost first; not those of subqueries
    and not window functions (but those inside of their arguments)."""
    found: list[exp.Expr] = []
    stack: list[tuple[exp.Expr, bool]] = [(root, False)]
    while stack:
        node, windowed = stack.pop()
        if isinstance(node, SUBQUERIES):
            continue
        if isinstance(node, exp.Window):
            parts = [*(node.args.get("partition_by") or ()), node.args.get("order")]
            stack += [(part, False) for part in reversed(parts) if part is not None]
            stack.append((node.this, True))
            continue
        if not windowed and is_aggregate(call_name(node) or ""):
            found.append(node)
            continue
        inside = windowed and isinstance(node, _WRAPPERS)
        children = list(node.iter_expressions())
        stack += [(child, inside) for child in reversed(children)]
    return found


def call_name(node: exp.Expr) -> str | None:
    """The function an aggregate or window call names, looking through FILTER and IGNORE NULLS."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return None


@dataclass
class GroupKeys:
    """The group keys of a block, by the scalar each one is in terms of the block's input.

    ``written``: the keys that hold a subquery, as they are written. To bind a subquery joins it to
    the rows, so the one in the SELECT list is found to be the key by its text, not by its value.
    """

    text: QueryText
    inner: Binder
    keys: dict[Scalar, Column]
    written: tuple[tuple[exp.Expr, Column], ...] = ()

    def match(self, node: exp.Expr) -> Scalar | None:
        """The key column if ``node`` is a group expression."""
        for key, of_subquery in self.written:
            if node is key or node.unnest() == key.unnest():
                return Ref(of_subquery)
        if not self.keys or isinstance(node, exp.Literal | exp.Null | exp.Boolean):
            return None
        if any(True for _ in node.find_all(*SUBQUERIES, exp.Window)) or aggregate_calls(node):
            return None
        if not self._resolves(node):
            return None
        column = self.keys.get(self.inner.bind(node))
        return None if column is None else Ref(column)

    def _resolves(self, node: exp.Expr) -> bool:
        """Do all names exist in the block's input? (Others are aliases, or errors found later.)"""
        columns = [node] if isinstance(node, exp.Column) else list(node.find_all(exp.Column))
        return all(self.inner.scope.meaning(parts_of(column))[0] for column in columns)

    def refuse(self, node: exp.Expr) -> None:
        raise self.text.error(
            node,
            f"column {node.name} is neither in GROUP BY nor inside an aggregate function",
            f"add {node.name} to GROUP BY, or write any_value({node.name})",
        )


def require_own(text: QueryText, node: exp.Expr, values: Iterable[Scalar]) -> None:
    """Refuse columns of an enclosing query in what is grouped by, aggregated or made of that: Spark
    takes them in HAVING alone."""
    if any(outer_columns(value) for value in values):
        what = "a column of the enclosing query where rows are grouped or have windows"
        raise text.error(node, what, "compute it in a subquery of FROM, or add it above")


def bind_call(binder: Binder, node: exp.Expr) -> AggregateCall:
    """An aggregate function over the rows of ``binder.relation``."""
    where, ignore_nulls, inner = None, False, node
    ordered: exp.Expr | None = None
    while isinstance(inner, _WRAPPERS):
        ordered = inner if isinstance(inner, exp.WithinGroup) else ordered
        if isinstance(inner, exp.Filter):
            where = binder.predicate(inner.args["expression"].this)
        ignore_nulls = ignore_nulls or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    require_only(binder.text, inner, "this", "expressions")
    written, arguments, key = _within_group(binder, ordered, inner)
    known, distinct = function(written), False
    name = known.name
    if arguments and isinstance(arguments[0], exp.Distinct):
        require_only(binder.text, arguments[0], "expressions")
        arguments, distinct = list(arguments[0].expressions), True
    if [type(a) for a in arguments] == [exp.Star]:
        if known.takes_star and distinct:
            hint = "Spark takes it in SELECT only: name the columns here"
            raise binder.text.error(node, f"{written}(DISTINCT *) in this place", hint)
        if not known.takes_star:
            raise binder.text.error(node, f"{written} does not take *")
        return AggregateCall(name, (), False, where)
    args = tuple(binder.bind(argument) for argument in arguments)
    if not args and key is None:
        raise binder.text.error(node, f"{written} needs an argument")
    _check_call(binder, node, known, args, distinct=distinct, ignore_nulls=ignore_nulls)
    if ignore_nulls:
        args = (*args, TRUE)
    _require_arity(binder, node, known, len(args))
    if known.takes_star and not distinct and all(_never_null(arg) for arg in args):
        args = ()
    if known.of_numbers:
        args = tuple(cast(arg, DOUBLE) if arg.type == STRING else arg for arg in args)
    call = AggregateCall(name, args, distinct, where)
    return call if key is None else _ordered(binder, call, key)


def _ordered(binder: Binder, call: AggregateCall, key: exp.Expr) -> AggregateCall:
    """The call with what WITHIN GROUP orders by as its last argument."""
    direction, by = "DESC" if key.args.get("desc") else "ASC", binder.bind(key.this)
    least, most = function(call.name).takes_order or (0, 0)
    if not least <= len(call.args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        many = f"{call.name} takes {wanted} arguments beside WITHIN GROUP, not {len(call.args)}"
        raise binder.text.error(key, many)
    if call.distinct and call.args[:1] != (by,):
        what = f"{call.name} of DISTINCT values is ordered by these"
        raise binder.text.error(key, what, "order by them")
    return replace(call, args=(*call.args, by), within=direction)


def _values(arguments: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The arguments of a call, those behind DISTINCT too."""
    return [
        value
        for argument in arguments
        for value in (argument.expressions if isinstance(argument, exp.Distinct) else [argument])
    ]


def _within_group(
    binder: Binder, node: exp.Expr | None, inner: exp.Expr
) -> tuple[str, list[exp.Expr], exp.Expr | None]:
    """The function of a call, its arguments, and the key by which WITHIN GROUP (``node``) orders:
    ``percentile_cont(p) WITHIN GROUP (ORDER BY x)`` is ``percentile(x, p)`` without one, by which
    Spark replaces it."""
    written, arguments = call_name(inner) or "", list(inner.expressions)
    if node is None:
        return written, arguments, None
    key, *more = node.args["expression"].expressions
    known = function(written)
    if known.takes_order is None:
        raise binder.text.error(node, f"{written} has no WITHIN GROUP")
    placed = key.args.get("nulls_first") is bool(key.args.get("desc"))
    values = _values(arguments)
    if more or (placed and known.by_order and values and key.this not in values):
        hint = "order by one column, in the order that Spark gives NULLs"
        raise binder.text.unsupported(node, f"{written} WITHIN GROUP in this form", hint)
    alone = len(arguments) == 1 and not isinstance(arguments[0], exp.Distinct)
    if known.ordered is not None and alone and not key.args.get("desc"):
        return known.ordered, [key.this, *arguments], None
    return written, arguments, key


def _check_call(
    binder: Binder,
    node: exp.Expr,
    known: AggregateFunction,
    args: tuple[Scalar, ...],
    *,
    distinct: bool,
    ignore_nulls: bool,
) -> None:
    """Refuse what Spark does not take together with an aggregate function."""
    written = call_name(node) or known.name
    require_fit(binder, node, written, args)
    if ignore_nulls and not known.skips_nulls:
        raise binder.text.error(node, f"{written} has no IGNORE NULLS")
    if distinct and (known.skips_nulls or known.name in WITHOUT_DISTINCT):
        raise binder.text.unsupported(node, f"{written} with DISTINCT", "leave DISTINCT out")
    fixed = args[known.constant :][:1] if known.constant is not None else ()
    if any(references(arg) for arg in fixed):
        raise binder.text.error(node, f"{written} takes a constant in that place")
    if any(_is_drawn(part) for arg in args for part in walk(arg)):
        raise binder.text.error(
            node, f"{written} of a random value", "draw it in a subquery of FROM"
        )


def _is_drawn(part: Scalar) -> bool:
    """Return whether it is another value in each row, whatever the row holds."""
    kind = KINDS.get(part.name) if isinstance(part, Call) else None
    return kind in (FunctionKind.RANDOM, FunctionKind.PLACE)


def _require_arity(binder: Binder, node: exp.Expr, known: AggregateFunction, given: int) -> None:
    least, most = known.arguments
    if given < least or (most is not None and given > most):
        wanted = str(least) if least == most else f"{least} to {most}"
        raise binder.text.error(node, f"{known.name} takes {wanted} arguments, not {given}")


def _never_null(arg: Scalar) -> bool:
    return isinstance(arg, Literal) and arg.text is not None


def call_column(binder: Binder, call: AggregateCall) -> Column:
    return binder.context.session.columns.new(internal_name(call.name), type_of(call))


def group(
    binder: ExpressionBinder,
    keys: Keys,
    calls: list[exp.Expr],
    sets: GroupingSets | None = None,
    written: Mapping[int, tuple[exp.Expr, Scalar]] | None = None,
) -> ExpressionBinder:
    """Aggregate the binder's relation; returns a binder for what stands above the aggregation.
    ``written``: the nodes of the keys with what they were bound to, by the node's identity."""
    known: dict[int, Scalar] = {}
    made: dict[AggregateCall, Column] = {}
    of_sets = [node for node in calls if call_name(node) in ("grouping", "grouping_id")]
    for node in calls:
        if node in of_sets:
            continue
        call = bind_call(binder, node)
        require_own(binder.text, node, [*call.args, *([] if call.where is None else [call.where])])
        if call not in made:
            made[call] = call_column(binder, call)
        known[id(node)] = Ref(made[call])
    # The binder adds columns for computed keys; equal keys are one.
    unique = list(dict.fromkeys(scalar for _, scalar in keys))
    names = {scalar: name for name, scalar in reversed(keys)}
    columns = binder.as_columns([(names[scalar], scalar) for scalar in unique])
    rows, by = binder.relation, tuple(dict.fromkeys(columns))
    if sets is not None:
        expanded = expand_rows(binder, rows, columns, sets)
        rows, columns, by = expanded.relation, list(expanded.keys), expanded.group
    for node in of_sets:
        if sets is None or not isinstance(node, exp.Anonymous):
            raise binder.text.error(
                node,
                f"{call_name(node)} without ROLLUP, CUBE or GROUPING SETS",
                "leave it out: every group has all keys",
            )
        known[id(node)] = grouping_value(binder, node, sets, expanded.id)
    by_scalar = dict(zip(unique, columns, strict=True))
    pairs = tuple((column, call) for call, column in made.items())
    relation = Aggregate(rows, by, pairs)
    subqueries = tuple(
        (node, by_scalar[scalar])
        for node, scalar in (written or {}).values()
        if scalar in by_scalar and any(True for _ in node.find_all(*SUBQUERIES))
    )
    keys_of = GroupKeys(binder.text, binder, by_scalar, subqueries)
    return ExpressionBinder(binder.context, binder.scope, relation, known, keys_of)
