"""Expressions of the query, one handler per kind of sqlglot node. What has none is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp

from forerun.planner.algebra.scalar import FALSE, TRUE, Call, Literal, Scalar, connected
from forerun.planner.algebra.type_kinds import can_cast, kind_of
from forerun.planner.algebra.types import BOOLEAN, DOUBLE, NULL, STRING, UNKNOWN, DataType
from forerun.planner.sql.binding import calls, lambdas, literals, moments, paths, patterns
from forerun.planner.sql.binding.binder import Binder, construct_name
from forerun.planner.sql.binding.coercion import alike, arithmetic, cast, compare, unify
from forerun.planner.sql.binding.parameters import bind_parameter
from forerun.planner.sql.binding.scope import parts_of
from forerun.planner.sql.binding.shown import SIDES
from forerun.planner.sql.subqueries import apply
from forerun.planner.sql.subqueries.negation import without_outer_not
from forerun.planner.sql.syntax.parser import LITERAL
from forerun.planner.sql.syntax.text import require_only

_OF_ROWS = "Spark casts no field of a row: write values of the same types, a BIGINT as 1L"

_Node = TypeVar("_Node", bound=exp.Expr)


class ExpressionBinder(Binder):
    """The binder of all expressions outside of aggregate and window functions."""

    def bind(self, node: exp.Expr) -> Scalar:
        if id(node) in self.known:
            return self.known[id(node)]
        if (key := self.group_key(node)) is not None:
            return key
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise self.text.unsupported(node, construct_name(node))
        require_only(self.text, node, *HANDLED[type(node)])
        return handler(self, node)


def _column(binder: Binder, node: exp.Expr) -> Scalar:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        raise binder.text.unsupported(node, "* in this place", calls.NAME_COLUMNS)
    return binder.column(node, parts_of(node))


def _literal(binder: Binder, node: exp.Expr) -> Scalar:
    if node.args.get("is_string"):
        return Literal(str(node.this), STRING)
    return literals.number(binder.text, node, str(node.this))


def _raw_string(_binder: Binder, node: exp.Expr) -> Scalar:
    return Literal(str(node.this), STRING)


def _hexadecimal(_binder: Binder, node: exp.Expr) -> Scalar:
    return literals.hexadecimal(_as(exp.HexString, node))


def _interval(binder: Binder, node: exp.Expr) -> Scalar:
    return literals.interval(binder.text, _as(exp.Interval, node))


def _boolean(_binder: Binder, node: exp.Expr) -> Scalar:
    return TRUE if node.this else FALSE


def _paren(binder: Binder, node: exp.Expr) -> Scalar:
    return binder.bind(node.this)


def _negation(binder: Binder, node: exp.Expr) -> Scalar:
    value = binder.bind(node.this)
    if isinstance(value, Literal) and value.type.is_numeric and value.text is not None:
        return literals.negated(value)
    if value.type in (STRING, NULL):
        value = cast(value, DOUBLE)
    _require_number(binder, node, value)
    return Call("neg", (value,), value.type)


def _require_number(binder: Binder, node: exp.Expr, value: Scalar) -> None:
    """Refuse a sign before what is neither a number nor an interval."""
    if kind_of(value.type) and kind_of(value.type) not in "vilfecmw":
        raise binder.text.error(node, f"a sign needs a number or an interval, not {value.type}")


def _not(binder: Binder, node: exp.Expr) -> Scalar:
    inner = node.this.unnest()
    if isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return apply.in_as_value(binder, inner, negated=True)
    pushed = without_outer_not(inner)
    if pushed:
        return binder.predicate(pushed)
    value = binder.bind(inner)
    if value.type == STRING:
        return Call("not", (cast(value, BOOLEAN),), BOOLEAN)
    return Call("not", (binder.condition(inner, value),), BOOLEAN)


def _connector(name: str) -> Callable[[Binder, exp.Expr], Scalar]:
    def handler(binder: Binder, node: exp.Expr) -> Scalar:
        # A chain of a thousand ORs is one deep tree: walk its left spine without recursion.
        kind, parts = type(node), []
        while type(node) is kind:
            parts.append(node.args["expression"])
            node = node.this
        nodes = [node, *reversed(parts)]
        bound = [binder.bind(part) for part in nodes]
        first = {value.type for value in bound[:2]}
        if BOOLEAN in first:  # a text beside a condition is one
            bound = [cast(value, BOOLEAN) if value.type == STRING else value for value in bound]
        pairs = zip(nodes, bound, strict=True)
        return connected(name, [binder.condition(part, value) for part, value in pairs])

    return handler


def _comparison(op: str) -> Callable[[Binder, exp.Expr], Scalar]:
    def handler(binder: Binder, node: exp.Expr) -> Scalar:
        for side in (node.this, node.args["expression"]):
            if isinstance(side, exp.All | exp.Any):
                raise binder.text.unsupported(side, construct_name(side))
        left, right = binder.bind(node.this), binder.bind(node.args["expression"])
        return compared(binder, node, op, left, right)

    return handler


def compared(binder: Binder, node: exp.Expr, op: str, left: Scalar, right: Scalar) -> Scalar:
    result = compare(op, left, right)
    if result is None:
        raise binder.text.error(
            node, f"{left.type} and {right.type} cannot be compared", "cast one of the sides"
        )
    return result


def _distinct_from(binder: Binder, node: exp.Expr) -> Scalar:
    return Call("not", (_comparison("<=>")(binder, node),), BOOLEAN)


def _arithmetic(op: str) -> Callable[[Binder, exp.Expr], Scalar]:
    def handler(binder: Binder, node: exp.Expr) -> Scalar:
        left, right = binder.bind(node.this), binder.bind(node.args["expression"])
        result = arithmetic(op, left, right)
        node.meta[SIDES] = left.type, right.type
        if result is None:
            raise binder.text.error(node, f"{op} does not take {left.type} and {right.type}")
        return result

    return handler


def _bitwise(name: str) -> Callable[[Binder, exp.Expr], Scalar]:
    def handler(binder: Binder, node: exp.Expr) -> Scalar:
        pair = unify((binder.bind(node.this), binder.bind(node.args["expression"])))
        if pair is not None and pair[1] == NULL:
            return Call(name, pair[0], UNKNOWN)
        if pair is None or (pair[1].is_known and not pair[1].is_integer):
            raise binder.text.error(node, f"{name} takes integers")
        return Call(name, pair[0], pair[1])

    return handler


def _bitwise_not(binder: Binder, node: exp.Expr) -> Scalar:
    value = binder.bind(node.this)
    if value.type == NULL:
        return Call("~", (value,), UNKNOWN)
    if value.type.is_known and not value.type.is_integer:
        raise binder.text.error(node, f"~ takes an integer, not {value.type}")
    return Call("~", (value,), value.type)


def _concatenation(binder: Binder, node: exp.Expr) -> Scalar:
    parts = tuple(binder.bind(part) for part in (node.this, node.args["expression"]))
    return calls.concatenated(binder, node, "||", parts)


def _adjacent_strings(binder: Binder, node: exp.Expr) -> Scalar:
    parts = [binder.bind(part) for part in node.expressions]
    texts = [p.text for p in parts if isinstance(p, Literal) and p.text is not None]
    if len(texts) != len(parts):
        raise binder.text.unsupported(node, "adjacent expressions")
    return Literal("".join(texts), STRING)


def _is(binder: Binder, node: exp.Expr) -> Scalar:
    test, value = node.args["expression"], binder.bind(node.this)
    if isinstance(test, exp.Null):
        return Call("isnull", (value,), BOOLEAN)
    if isinstance(test, exp.Boolean):
        if value.type.is_known and value.type not in (BOOLEAN, STRING, NULL):
            raise binder.text.error(node, f"IS TRUE asks of a condition, not of {value.type}")
        return Call("<=>", (cast(value, BOOLEAN), TRUE if test.this else FALSE), BOOLEAN)
    raise binder.text.unsupported(node, f"IS {test.sql(dialect='spark').upper()}")


def _between(binder: Binder, node: exp.Expr) -> Scalar:
    value = binder.bind(node.this)
    low = compared(binder, node, ">=", value, binder.bind(node.args["low"]))
    high = compared(binder, node, "<=", value, binder.bind(node.args["high"]))
    return Call("and", (low, high), BOOLEAN)


def _in(binder: Binder, node: exp.Expr) -> Scalar:
    if node.args.get("query") is not None:
        return apply.in_as_value(binder, _as(exp.In, node), negated=False)
    values = [binder.bind(part) for part in (node.this, *node.expressions)]
    if (rows := alike(values)) is not None:
        return Call("in", rows, BOOLEAN)
    pair = unify(values)
    if pair is None or any(kind_of(value.type) == "p" for value in values):
        types = ", ".join(dict.fromkeys(str(v.type) for v in values))
        hint = _OF_ROWS if "STRUCT" in types else ""
        raise binder.text.error(node, f"the IN list mixes types that do not compare: {types}", hint)
    return Call("in", pair[0], BOOLEAN)


def _exists(binder: Binder, node: exp.Expr) -> Scalar:
    return apply.exists_as_value(binder, _as(exp.Exists, node))


def _cast(name: str) -> Callable[[Binder, exp.Expr], Scalar]:
    def handler(binder: Binder, node: exp.Expr) -> Scalar:
        value = binder.bind(node.this)
        to = literals.type_of(binder.text, node.args["to"])
        if node.meta.get(LITERAL) and isinstance(value, Literal):
            literals.require_moment(binder.text, node, value.text or "", to)
        if not can_cast(value.type, to):
            raise binder.text.error(node, f"{value.type} cannot be cast to {to}")
        if name == "try_cast":
            return Call("try_cast", (value,), to)
        return literals.written_cast(value, to)

    return handler


def _case(binder: Binder, node: exp.Expr) -> Scalar:
    subject = binder.bind(node.this) if node.this is not None else None
    conditions, values = [], []
    for branch in node.args["ifs"]:
        if subject is None:
            conditions.append(binder.predicate(branch.this))
        else:
            conditions.append(compared(binder, branch, "=", subject, binder.bind(branch.this)))
        values.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    values.append(Literal(None, NULL) if default is None else binder.bind(default))
    return _case_of(binder, node, conditions, values)


def _if(binder: Binder, node: exp.Expr) -> Scalar:
    condition = binder.condition(node.this, binder.bind(node.this))
    other = node.args.get("false")
    values = [binder.bind(node.args["true"])]
    values.append(Literal(None, NULL) if other is None else binder.bind(other))
    return _case_of(binder, node, [condition], values)


def _case_of(
    binder: Binder, node: exp.Expr, conditions: list[Scalar], values: list[Scalar]
) -> Scalar:
    pair = unify(values)
    if pair is None:
        types = ", ".join(dict.fromkeys(str(v.type) for v in values))
        raise binder.text.error(node, f"the branches have no common type: {types}", "cast them")
    branches, type_ = pair
    parts = [p for pairs in zip(conditions, branches, strict=False) for p in pairs]
    return Call("case", (*parts, branches[-1]), type_)


def _now(name: str, type_: str) -> Callable[[Binder, exp.Expr], Scalar]:
    def handler(_binder: Binder, _node: exp.Expr) -> Scalar:
        return Call(name, (), DataType(type_))

    return handler


def _alias(binder: Binder, node: exp.Expr) -> Scalar:
    return binder.bind(node.this)


def _as(kind: type[_Node], node: exp.Expr) -> _Node:
    if not isinstance(node, kind):
        raise TypeError(f"{kind.__name__} expected, not {type(node).__name__}")
    return node


def _transform(binder: Binder, node: exp.Expr) -> Scalar:
    arguments = [one for one in (node.this, node.args.get("expression")) if one is not None]
    return lambdas.higher_order(binder, node, "transform", arguments)


_ALL_OF_LIKE = ("this", "expression", "negate")
_CONSUMED: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Tuple: ("expressions",),
    exp.Column: ("this", "table", "db", "catalog"),
    exp.Literal: ("this", "is_string"),
    exp.HexString: ("this", "is_integer"),
    exp.Interval: ("this", "unit"),
    exp.Div: ("this", "expression", "typed", "safe"),
    exp.DPipe: ("this", "expression", "safe"),
    exp.Concat: ("expressions", "safe", "coalesce"),
    exp.Between: ("this", "low", "high"),
    exp.In: ("this", "expressions", "query"),
    exp.Like: _ALL_OF_LIKE,
    exp.ILike: _ALL_OF_LIKE,
    exp.RegexpLike: ("this", "expression"),
    exp.Cast: ("this", "to", "safe"),
    exp.TryCast: ("this", "to", "safe"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Alias: ("this", "alias"),
    exp.Anonymous: ("this", "expressions"),
    exp.Bracket: ("this", "expressions", "json_access"),
    exp.JSONExtract: ("this", "expression", "variant_extract", "requires_json"),
    exp.Identifier: ("this", "quoted"),
    exp.Substring: ("this", "start", "length"),
    exp.Trim: ("this", "position", "expression"),
    exp.StrPosition: ("this", "substr", "position"),
    exp.Overlay: ("this", "expression", "from_", "for_"),
    # A query as a value: what belongs to it is read, or refused, where queries are bound.
    exp.Subquery: tuple(exp.Subquery.arg_types),
    exp.Select: tuple(exp.Select.arg_types),
}
"""The parts of each node that its handler reads; a node with any other part is refused."""

_HANDLERS: dict[type[exp.Expr], Callable[[Binder, exp.Expr], Scalar]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.RawString: _raw_string,
    exp.HexString: _hexadecimal,
    exp.Interval: _interval,
    exp.Null: lambda _binder, _node: Literal(None, NULL),
    exp.Boolean: _boolean,
    exp.Paren: _paren,
    exp.Neg: _negation,
    exp.Not: _not,
    exp.And: _connector("and"),
    exp.Or: _connector("or"),
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("<>"),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("<=>"),
    exp.NullSafeNEQ: _distinct_from,
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.Mod: _arithmetic("%"),
    exp.IntDiv: _arithmetic("div"),
    exp.BitwiseAnd: _bitwise("&"),
    exp.BitwiseOr: _bitwise("|"),
    exp.BitwiseXor: _bitwise("^"),
    exp.BitwiseNot: _bitwise_not,
    exp.DPipe: _concatenation,
    exp.Concat: _adjacent_strings,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Tuple: calls.row,
    exp.Subquery: apply.scalar,
    exp.Select: apply.scalar,
    exp.Like: patterns.LIKE,
    exp.ILike: patterns.ILIKE,
    exp.Escape: patterns.escape,
    exp.RegexpLike: patterns.RLIKE,
    exp.Cast: _cast("cast"),
    exp.TryCast: _cast("try_cast"),
    exp.Case: _case,
    exp.If: _if,
    exp.CurrentDate: _now("current_date", "DATE"),
    exp.CurrentTimestamp: _now("current_timestamp", "TIMESTAMP"),
    exp.Placeholder: bind_parameter,
    exp.Alias: _alias,
    exp.Identifier: lambdas.variable,
    exp.Transform: _transform,
    exp.Dot: paths.dot,
    exp.Bracket: paths.bracket,
    exp.JSONExtract: paths.in_variant,
    exp.Anonymous: calls.function,
    exp.Extract: moments.extract,
    exp.Substring: calls.substring,
    exp.Trim: calls.trim,
    exp.StrPosition: calls.position,
    exp.Overlay: calls.overlay,
}

HANDLED = {kind: _CONSUMED.get(kind, ("this", "expression")) for kind in _HANDLERS}
"""Every kind of node that has a handler, with the parts it may have."""
