"""Names of output columns: the alias, the column's own name, or what Spark would call it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.sql.syntax.parser import IS_NOT, LITERAL, UNIT_FIRST, WRITTEN

PATH = "path"
"""The mark of a column: what it is called inside of an expression, its fields included."""
FIELD = "field"
"""The mark of a column of which a field is meant."""
_SUFFIX = re.compile(r"(?<=[\d.])(BD|[LSYDF])\Z", re.IGNORECASE)
_BY_THEIR_NAME = ("window", "session_window")
"""Functions whose column Spark calls by their names alone."""
CASTS = {
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date",
    "timestamp", "decimal", "binary",
}  # fmt: skip
"""Types that may be called: ``int(a)``."""
_DIGITS = re.compile(r"(DECIMAL\(\d+), (\d+\))")
_INTERNAL = re.compile(r"[^A-Za-z0-9_]+")


def output_name(node: exp.Expr) -> str:
    """Return the name that Spark gives an item of a SELECT list (``ResolveAliases``)."""
    if isinstance(node, exp.Alias):
        return str(node.alias)
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in _BY_THEIR_NAME:
        return str(node.this).lower()
    return _own_name(node) or _own_name(_cast(node)) or _pretty(node)


def _own_name(node: exp.Expr | None) -> str:
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


def _cast(node: exp.Expr) -> exp.Expr | None:
    """Return what a cast is of, if Spark calls the cast as it calls that: a column, but no field of
    one. ``int(a)`` is a cast, too."""
    inner = _called_as(node)
    if isinstance(node, exp.Cast | exp.TryCast) and not node.meta.get(LITERAL):
        inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    of_field = isinstance(inner, exp.Dot) or (inner is not None and inner.meta.get(FIELD))
    return None if of_field else inner


def _called_as(node: exp.Expr) -> exp.Expr | None:
    """Return the argument of a function that is a cast; None of another expression."""
    is_call = isinstance(node, exp.Anonymous) and len(node.expressions) == 1
    return node.expressions[0] if is_call and str(node.this).lower() in CASTS else None


def internal_name(name: str) -> str:
    """A short form for generated SQL, without characters that tables or files may refuse."""
    cleaned = _INTERNAL.sub("_", name).strip("_")
    return cleaned[:40].rstrip("_") or "expression"


_INFIX: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=",
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "AND", exp.Or: "OR",
    exp.NullSafeEQ: "<=>", exp.IntDiv: "div", exp.BitwiseAnd: "&", exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}  # fmt: skip
_IN_CAPITALS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh cot csc degrees e exp expm1 floor "
    "hypot log log10 log1p log2 pi power radians regexp regexp_like rlike sec signum sin sinh sqrt "
    "tan tanh"
)
_CALLED = {
    **dict.fromkeys(function("collect_list").synonyms, "collect_list"),
    "random": "rand", "curdate": "current_date", "dateadd": "date_add",
    **{name: name.upper() for name in _IN_CAPITALS.split()},
}  # fmt: skip
"""Functions that Spark calls otherwise than they are written."""
_BY_UNITS = {name: f"timestamp{'diff' if 'diff' in name else 'add'}" for name in UNIT_FIRST}
"""How Spark calls functions that are called with a unit."""
_SHOWN = dict.fromkeys(("first", "first_value", "last", "last_value", "any_value", "from_json"), 1)
"""Functions of which Spark shows so many arguments."""
_ADDED = {
    ("split", 2): "-1", ("regexp_replace", 3): "1", ("locate", 2): "1", ("position", 2): "1",
    ("months_between", 2): "true", ("sort_array", 1): "true",
    ("round", 1): "0", ("regexp_instr", 2): "0", ("replace", 2): "",
    ("unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss", ("from_unixtime", 1): "yyyy-MM-dd HH:mm:ss",
}  # fmt: skip
"""Arguments that Spark adds, by how many are written."""


def _pretty(node: exp.Expr) -> str:
    if PATH in node.meta:
        return str(node.meta[PATH])
    way = next((_WAYS[kind] for kind in type(node).__mro__ if kind in _WAYS), None)
    if way is not None:
        return way(node)
    if type(node) in _INFIX:
        return f"({_pretty(node.this)} {_INFIX[type(node)]} {_pretty(node.expression)})"
    return str(node.sql(dialect="spark"))


def _all(nodes: Iterable[exp.Expr]) -> str:
    return ", ".join(map(_pretty, nodes))


def _literal(node: exp.Expr) -> str:
    return str(node.this) if node.is_string else _SUFFIX.sub("", str(node.this))


def _of_cast(node: exp.Expr) -> str:
    to = _DIGITS.sub(r"\1,\2", node.args["to"].sql(dialect="spark"))
    if node.meta.get(LITERAL):
        return f"{to} '{node.this.name}'"
    return f"{'TRY_' if isinstance(node, exp.TryCast) else ''}CAST({_pretty(node.this)} AS {to})"


def _not(node: exp.Expr) -> str:
    inner = node.this
    if node.meta.get(IS_NOT) and isinstance(inner.expression, exp.Null):
        return f"({_pretty(inner.this)} IS NOT NULL)"
    return f"(NOT {_pretty(node.this)})"


def _negated(node: exp.Expr, text: str) -> str:
    return f"(NOT {text})" if node.args.get("negate") else text


def _is(node: exp.Expr) -> str:
    null = isinstance(node.expression, exp.Null)
    return f"({_pretty(node.this)} {'IS NULL' if null else f'<=> {_pretty(node.expression)}'})"


def _case(node: exp.Expr) -> str:
    of = node.this
    branches = [
        f"WHEN {f'({_pretty(of)} = {_pretty(one.this)})' if of else _pretty(one.this)} "
        f"THEN {_pretty(one.args['true'])}"
        for one in node.args["ifs"]
    ]
    default = node.args.get("default")
    rest = [f"ELSE {_pretty(default)}"] if default is not None else []
    return " ".join(("CASE", *branches, *rest, "END"))


def _in(node: exp.Expr) -> str:
    listed = "listquery()" if node.args.get("query") is not None else _all(node.expressions)
    return f"({_pretty(node.this)} IN ({listed}))"


def _call(node: exp.Expr) -> str:
    args, name = node.expressions, str(node.this).lower()
    if (cast := _called_as(node)) is not None:
        return _pretty(cast)
    if name == "positive":
        return f"(+ {_all(args)})"
    if name in ("isnull", "isnotnull") and len(args) == 1:
        return f"({_pretty(args[0])} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
    distinct = "DISTINCT " if args and isinstance(args[0], exp.Distinct) else ""
    if distinct:
        args = args[0].expressions
    args = args[: _SHOWN.get(name, len(args))]
    shown = [_pretty_argument(argument) for argument in args]
    if name == "log" and len(shown) == 1:
        shown.insert(0, "E()")
    if (name, len(shown)) in _ADDED:
        shown.append(_ADDED[name, len(shown)])
    if name in ("aggregate", "reduce") and len(shown) == 3:
        shown.append(f"lambdafunction({_VARIABLE}, {_VARIABLE})")
    called = _CALLED.get(name, name)
    if len(shown) == 3:
        called = _BY_UNITS.get(name, called)
    elif name in ("ceil", "floor") and len(shown) == 2:
        called = name
    return f"{called}({distinct}{', '.join(shown)})"


_VARIABLE = "namedlambdavariable()"


def _lambda(node: exp.Expr) -> str:
    return (
        f"lambdafunction({', '.join((_pretty(node.this), *[_VARIABLE] * len(node.expressions)))})"
    )


def _pretty_argument(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return f"{_pretty(node.this)} AS {node.alias}"
    return "1" if isinstance(node, exp.Star) else _pretty(node)


def _negative(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Literal):
        return f"-{_pretty(node.this)}"
    return f"(- {_pretty(node.this)})"


def _trim(node: exp.Expr) -> str:
    side, marks = str(node.args.get("position") or "").upper(), node.args.get("expression")
    if marks is not None:
        return f"TRIM({side or 'BOTH'} {_pretty(marks)} FROM {_pretty(node.this)})"
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
    return f"{name}({_pretty(node.this)})"


def _variant(node: exp.Expr) -> str:
    path = "".join(
        f".{one.this}" if isinstance(one, exp.JSONPathKey) else f"[{one.this}]"
        for one in node.expression.expressions[1:]
    )
    name = _own_name(node)
    return f"variant_get({_pretty(node.this)}, ${path}){f' AS {name}' if name else ''}"


_WAYS: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Paren: lambda node: _pretty(node.this),
    exp.Alias: lambda node: _pretty(node.this),
    exp.Column: lambda node: str(node.name),
    exp.Dot: lambda node: f"{_pretty(node.this)}.{node.expression.name}",
    exp.Bracket: lambda node: f"{_pretty(node.this)}[{_all(node.expressions)}]",
    exp.Literal: _literal,
    exp.Boolean: lambda node: str(node.this).lower(),
    exp.Subquery: lambda node: (
        f"scalarsubquery({', '.join(c.name for c in node.find_all(exp.Column))})"
    ),
    exp.Cast: _of_cast,
    exp.Not: _not,
    exp.Neg: _negative,
    exp.Is: _is,
    exp.NEQ: lambda node: f"(NOT ({_pretty(node.this)} = {_pretty(node.expression)}))",
    exp.NullSafeNEQ: lambda node: f"(NOT ({_pretty(node.this)} <=> {_pretty(node.expression)}))",
    exp.Between: lambda node: f"between({_all((node.this, node.args['low'], node.args['high']))})",
    exp.In: _in,
    exp.Like: lambda node: _negated(node, f"{_pretty(node.this)} LIKE {_pretty(node.expression)}"),
    exp.ILike: lambda node: _negated(node, f"ilike({_all((node.this, node.expression))})"),
    exp.RegexpLike: lambda node: f"RLIKE({_all((node.this, node.expression))})",
    exp.Escape: lambda node: f"{_pretty(node.this)} ESCAPE '{node.expression.name}'",
    exp.DPipe: lambda node: f"concat({_all((node.this, node.expression))})",
    exp.If: lambda node: f"(IF({_all((node.this, node.args['true'], node.args['false']))}))",
    exp.Case: _case,
    exp.Anonymous: _call,
    exp.Filter: lambda node: f"{_pretty(node.this)} FILTER (WHERE {_pretty(node.expression.this)})",
    exp.Substring: lambda node: (
        f"{node.meta.get(WRITTEN, 'substring')}"
        f"({_all(filter(None, map(node.args.get, ('this', 'start', 'length'))))})"
    ),
    exp.Trim: _trim,
    exp.StrPosition: lambda node: f"locate({_all((node.args['substr'], node.this))}, 1)",
    exp.Extract: lambda node: f"extract({node.name} FROM {_pretty(node.expression)})",
    exp.Lambda: _lambda,
    exp.Identifier: lambda _: _VARIABLE,
    exp.Transform: lambda node: f"transform({_all((node.this, node.expression))})",
    exp.Exists: lambda _: "exists()",
    exp.CurrentDate: lambda _: "current_date()",
    exp.CurrentTimestamp: lambda _: "current_timestamp()",
    exp.JSONExtract: _variant,
}
"""How Spark writes an expression in the name of a column, by its kind (``toPrettySQL``)."""
