"""Names of columns that Spark makes of an expression without an alias (``toPrettySQL``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import reduce

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import canonical, is_aggregate
from forerun.planner.algebra.aggregates.shown import ORDERED, Ordered
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import UNKNOWN
from forerun.planner.sql.binding.shown_calls import VARIABLE, call_text
from forerun.planner.sql.binding.shown_constants import floating, length_of_time, typed
from forerun.planner.sql.binding.shown_windows import keys_text, window_text
from forerun.planner.sql.syntax.parser import BARE, IS_NOT, LITERAL, WRITTEN

PATH = "path"
"""The mark of a column: what it is called inside of an expression, its fields included."""
FIELD = "field"
"""The mark of a column of which a field is meant."""
OF_MAP = "of a map"
"""The mark of a bracket or a dot that is bound: whether the value before it is a map."""
SIDES = "sides"
"""The mark of arithmetic and of calls that are bound: the types of the sides, or of arguments."""
CONSTANT = "constant"
"""The mark of a number or a length of time that is bound: it as a constant."""
OUTER_COLUMN = "outer column"
"""The mark of a column of an enclosing query."""
CASTS = {
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date",
    "timestamp", "decimal", "binary",
}  # fmt: skip
"""Types that may be called: ``int(a)``."""
_DIGITS = re.compile(r"(DECIMAL\(\d+), (\d+\))")
_INFIX: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=",
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "AND", exp.Or: "OR",
    exp.NullSafeEQ: "<=>", exp.IntDiv: "div", exp.BitwiseAnd: "&", exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}  # fmt: skip


def own_name(node: exp.Expr | None) -> str:
    """Return the name of a column, the last one where it is written with several, of a field, and
    of a step into a VARIANT; empty of another expression."""
    inner = node
    while isinstance(inner, exp.Dot | exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Column) and node is not None:
        return str(node.name)
    if isinstance(node, exp.JSONExtract):
        steps = [
            one.name for one in node.expression.expressions if isinstance(one, exp.JSONPathKey)
        ]
        return steps[-1] if steps else ""
    return ""


def field_name(node: exp.Expr) -> str:
    """Return the name that Spark gives a value as a field of ``struct`` or ``arrays_zip``: that of
    an alias, a column, a variable of a lambda or a field, the text by which an element is read,
    and ``CURRENT_DATE`` and the like without parentheses; empty of another expression."""
    inner = node.unnest()
    if isinstance(inner, exp.Alias):
        return str(inner.alias)
    if isinstance(inner, exp.Identifier | exp.Column | exp.Dot):
        return str(inner.name)
    if isinstance(inner, exp.Bracket):
        return _constant_text(inner.expressions[0])
    return str(inner.meta.get(BARE, "")) or own_name(inner)


def _constant_text(node: exp.Expr) -> str:
    """Return what a constant text says, which may be written in parts; empty of another value."""
    inner = node.unnest()
    if isinstance(inner, exp.Concat):
        return "".join(map(_constant_text, inner.expressions))
    is_text = isinstance(inner, exp.RawString) or (
        isinstance(inner, exp.Literal) and inner.is_string
    )
    return str(inner.name) if is_text else ""


def called_as(node: exp.Expr) -> exp.Expr | None:
    """Return the argument of a function that is a cast; None of another expression."""
    is_call = isinstance(node, exp.Anonymous) and len(node.expressions) == 1
    return node.expressions[0] if is_call and str(node.this).lower() in CASTS else None


def shown(node: exp.Expr) -> str:
    """Return an expression as Spark shows it; one that Spark would show by its types before it is
    bound, as it is written."""
    if PATH in node.meta:
        return str(node.meta[PATH])
    way = next((_WAYS[kind] for kind in type(node).__mro__ if kind in _WAYS), None)
    if way is not None:
        return way(node)
    if type(node) in _INFIX:
        return _infix(node, _INFIX[type(node)])
    return str(node.sql(dialect="spark"))


def _infix(node: exp.Expr, sign: str) -> str:
    """Return how Spark shows an operator: of moments some are functions, and some stand without
    parentheses (``BinaryArithmeticWithDatetimeResolver``)."""
    one, other = shown(node.this), shown(node.expression)
    left, right = node.meta.get(SIDES, _NOT_BOUND)
    of, by = kind_of(left), kind_of(right)
    if (sign == "+" and by in _MOMENTS and of not in _MOMENTS) or (
        sign == "*" and by in _LENGTHS and of not in _LENGTHS
    ):
        one, other, of, by, right = other, one, by, of, left
    if sign in ("+", "-"):
        if of == "d" and by == "i":
            return f"date_{'add' if sign == '+' else 'sub'}({one}, {other})"
        if of == "d" and right.name == "INTERVAL DAY":
            days = f"extractansiintervaldays({other})"
            return f"date_add({one}, {days if sign == '+' else f'(- {days})'})"
        if (of in _MOMENTS and by in (*_LENGTHS, "v")) or (of == "s" and by in _LENGTHS):
            return f"{one} {sign} {other}"
    return f"({one} {sign} {other})"


_MOMENTS, _LENGTHS = frozenset("dtn"), frozenset("mw")
_NOT_BOUND = UNKNOWN, UNKNOWN


def _interval(node: exp.Expr) -> str:
    length = node.meta.get(CONSTANT)
    return str(node.sql(dialect="spark")) if length is None else length_of_time(length)


def _skipping(node: exp.Expr) -> str:
    """Return a function with IGNORE NULLS, of which Spark forgets how it was written."""
    name, text = str(node.this.this).lower(), shown(node.this)
    if is_aggregate(name):
        return canonical(name) + text.removeprefix(name)
    return f"{text} ignore nulls" if name == "nth_value" else text


def _all(nodes: Iterable[exp.Expr]) -> str:
    return ", ".join(map(shown, nodes))


def _literal(node: exp.Expr) -> str:
    constant = None if node.is_string else node.meta.get(CONSTANT)
    if constant is None:
        return str(node.this)
    return floating(constant.text, constant.type) if constant.type.is_floating else constant.text


def _of_cast(node: exp.Expr) -> str:
    to = _DIGITS.sub(r"\1,\2", node.args["to"].sql(dialect="spark"))
    if node.meta.get(LITERAL):
        return typed(to, node.this.name)
    return f"{'TRY_' if isinstance(node, exp.TryCast) else ''}CAST({shown(node.this)} AS {to})"


def _not(node: exp.Expr) -> str:
    inner = node.this
    if node.meta.get(IS_NOT) and isinstance(inner.expression, exp.Null):
        return f"({shown(inner.this)} IS NOT NULL)"
    return f"(NOT {shown(node.this)})"


def _negated(node: exp.Expr, text: str) -> str:
    return f"(NOT {text})" if node.args.get("negate") else text


def _is(node: exp.Expr) -> str:
    null = isinstance(node.expression, exp.Null)
    return f"({shown(node.this)} {'IS NULL' if null else f'<=> {shown(node.expression)}'})"


def _case(node: exp.Expr) -> str:
    of = node.this
    branches = [
        f"WHEN {f'({shown(of)} = {shown(one.this)})' if of else shown(one.this)} "
        f"THEN {shown(one.args['true'])}"
        for one in node.args["ifs"]
    ]
    default = node.args.get("default")
    rest = [f"ELSE {shown(default)}"] if default is not None else []
    return " ".join(("CASE", *branches, *rest, "END"))


def _in(node: exp.Expr) -> str:
    if node.args.get("query") is None:
        return f"({shown(node.this)} IN ({_all(node.expressions)}))"
    of = node.this.unnest()
    asked = _row_that_is_asked(of) if isinstance(of, exp.Tuple) else shown(of)
    return f"({asked} IN (listquery()))"


def _row(node: exp.Expr) -> str:
    names = (field_name(one) or f"col{at}" for at, one in enumerate(node.expressions, start=1))
    pairs = (f"{name}, {_argument(one)}" for name, one in zip(names, node.expressions, strict=True))
    return f"named_struct({', '.join(pairs)})"


def _row_that_is_asked(node: exp.Expr) -> str:
    """Return a row beside IN and a query, whose names Spark shows as texts."""
    names = (own_name(one) or f"_{at}" for at, one in enumerate(node.expressions))
    pairs = (f"'{name}', {shown(one)}" for name, one in zip(names, node.expressions, strict=True))
    return f"named_struct({', '.join(pairs)})"


def _read_from_outside(node: exp.Expr) -> str:
    """Return the columns of enclosing queries that a subquery reads."""
    columns = (one for one in node.find_all(exp.Column) if one.meta.get(OUTER_COLUMN))
    return ", ".join(dict.fromkeys(map(shown, columns)))


def _like(node: exp.Expr) -> str:
    if not isinstance(node.expression, exp.Any | exp.All):
        return _negated(node, f"{shown(node.this)} LIKE {shown(node.expression)}")
    return _several(node, shown(node.this))


def _ilike(node: exp.Expr) -> str:
    if not isinstance(node.expression, exp.Any | exp.All):
        return _negated(node, f"ilike({_all((node.this, node.expression))})")
    return _several(node, f"lower({shown(node.this)})")


def _escape(node: exp.Expr) -> str:
    text, mark = shown(node.this), f" ESCAPE '{node.expression.name}'"
    return f"{text[:-1]}{mark})" if node.this.args.get("negate") else f"{text}{mark}"


def _several(node: exp.Expr, value: str) -> str:
    """Return LIKE with ANY or ALL, which is a function of its own where patterns are constants."""
    patterns = node.expression
    every, negated = isinstance(patterns, exp.All), bool(node.args.get("negate"))
    several = patterns.this.expressions or [patterns.this.unnest()]
    if all(isinstance(one, exp.Literal) for one in several):
        name = f"{'not' if negated else ''}like{'all' if every else 'any'}"
        return f"{name}({value})"
    each = [_negated(node, f"{value} LIKE {shown(one)}") for one in several]
    return reduce(lambda one, other: f"({one} {'AND' if every else 'OR'} {other})", each)


def _call(node: exp.Expr, name: str = "") -> str:
    args, name = node.expressions, name or str(node.this).lower()
    if (cast := called_as(node)) is not None:
        return shown(cast)
    if sign := node.meta.get(WRITTEN):
        return f"({shown(args[0])} {sign} {shown(args[1])})"
    if (
        name in ("to_char", "to_varchar")
        and kind_of(node.meta.get(SIDES, _NOT_BOUND)[0]) in _MOMENTS
    ):
        name = "date_format"
    distinct = bool(args) and isinstance(args[0], exp.Distinct)
    args = args[0].expressions if distinct else args
    return call_text(name, list(map(_argument, args)), distinct=distinct)


def _substring(node: exp.Expr) -> str:
    parts = filter(None, map(node.args.get, ("this", "start", "length")))
    return call_text(node.meta.get(WRITTEN, "substring"), list(map(shown, parts)))


def _overlay(node: exp.Expr) -> str:
    parts = filter(None, map(node.args.get, ("this", "expression", "from_", "for_")))
    return call_text("overlay", list(map(shown, parts)))


def _position(node: exp.Expr) -> str:
    parts = filter(None, map(node.args.get, ("substr", "this", "position")))
    return call_text(node.meta.get(WRITTEN, "locate"), list(map(shown, parts)))


def _within_group(node: exp.Expr) -> str:
    """Return an aggregate over ordered values: which way is all that some of them keep of it."""
    call, keys = node.this, node.expression.expressions
    name = canonical(str(call.this).lower())
    shows = ORDERED.get(name, Ordered.KEYS)
    text = keys_text(keys, shown)
    if shows is not Ordered.KEYS:
        descends = bool(keys[0].args.get("desc")) != (shows is Ordered.OTHER_WAY)
        text = f"{shown(keys[0].this)}{' DESC' if descends else ''}"
    return f"{_call(call, name)} WITHIN GROUP (ORDER BY {text})"


def _part(node: exp.Expr) -> str:
    """Return a field, which Spark shows after a dot however it is written, or an element."""
    is_dot = isinstance(node, exp.Dot)
    name = node.expression.name if is_dot else _constant_text(node.expressions[0])
    if name and not node.meta.get(OF_MAP, not is_dot):
        return f"{shown(node.this)}.{name}"
    return f"{shown(node.this)}[{name or _all(node.expressions)}]"


def _lambda(node: exp.Expr) -> str:
    return f"lambdafunction({', '.join((shown(node.this), *[VARIABLE] * len(node.expressions)))})"


def _argument(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return f"{shown(node.this)} AS {node.alias}"
    return "1" if isinstance(node, exp.Star) else shown(node)


def _negative(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Literal):
        text = shown(node.this)
        return text if text == "0" else f"-{text}"
    return f"(- {shown(node.this)})"


def _trim(node: exp.Expr) -> str:
    side, marks = str(node.args.get("position") or "").upper(), node.args.get("expression")
    if marks is not None:
        return f"TRIM({side or 'BOTH'} {shown(marks)} FROM {shown(node.this)})"
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
    return f"{name}({shown(node.this)})"


def _variant(node: exp.Expr) -> str:
    path = "".join(
        f".{one.this}" if isinstance(one, exp.JSONPathKey) else f"[{one.this}]"
        for one in node.expression.expressions[1:]
    )
    name = own_name(node)
    return f"variant_get({shown(node.this)}, ${path}){f' AS {name}' if name else ''}"


_WAYS: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Paren: lambda node: shown(node.this),
    exp.Alias: lambda node: shown(node.this),
    exp.Column: lambda node: str(node.name),
    exp.Dot: _part,
    exp.Bracket: _part,
    exp.Literal: _literal,
    exp.Boolean: lambda node: str(node.this).lower(),
    exp.Subquery: lambda node: f"scalarsubquery({_read_from_outside(node)})",
    exp.Tuple: _row,
    exp.RawString: lambda node: str(node.this),
    exp.Concat: lambda node: "".join(map(shown, node.expressions)),
    exp.BitwiseNot: lambda node: f"~{shown(node.this)}",
    exp.WithinGroup: _within_group,
    exp.Overlay: _overlay,
    exp.Cast: _of_cast,
    exp.Not: _not,
    exp.Neg: _negative,
    exp.Is: _is,
    exp.NEQ: lambda node: f"(NOT ({shown(node.this)} = {shown(node.expression)}))",
    exp.NullSafeNEQ: lambda node: f"(NOT ({shown(node.this)} <=> {shown(node.expression)}))",
    exp.Between: lambda node: f"between({_all((node.this, node.args['low'], node.args['high']))})",
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _ilike,
    exp.HexString: lambda node: f"X'{node.name.upper()}'",
    exp.RegexpLike: lambda node: f"RLIKE({_all((node.this, node.expression))})",
    exp.Escape: _escape,
    exp.DPipe: lambda node: f"concat({_all((node.this, node.expression))})",
    exp.If: lambda node: f"(IF({_all((node.this, node.args['true'], node.args['false']))}))",
    exp.Case: _case,
    exp.Anonymous: _call,
    exp.Filter: lambda node: f"{shown(node.this)} FILTER (WHERE {shown(node.expression.this)})",
    exp.Substring: _substring,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Extract: lambda node: (
        f"extract({node.meta.get(WRITTEN, node.name)} FROM {shown(node.expression)})"
    ),
    exp.IgnoreNulls: _skipping,
    exp.RespectNulls: lambda node: shown(node.this),
    exp.Lambda: _lambda,
    exp.Identifier: lambda _: VARIABLE,
    exp.Transform: lambda node: f"transform({_all((node.this, node.expression))})",
    exp.Exists: lambda node: f"exists({_read_from_outside(node)})",
    exp.CurrentDate: lambda _: "current_date()",
    exp.CurrentTimestamp: lambda _: "current_timestamp()",
    exp.JSONExtract: _variant,
    exp.Interval: _interval,
    exp.Window: lambda node: window_text(node, shown),
}
"""How Spark writes an expression in the name of a column, by its kind (``toPrettySQL``)."""
