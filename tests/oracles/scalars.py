"""Scalar expressions compiled to Python functions of a row."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

from forerun.planner.algebra.higher_order import VARIABLE
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import NULL, STRING, Column, ColumnId, DataType
from tests.oracles.casts import cast, to_decimal, to_float, to_integer
from tests.oracles.functions import FUNCTIONS
from tests.oracles.intervals import move, parse_interval
from tests.oracles.lambdas import higher_order, variable
from tests.oracles.nested import NESTED
from tests.oracles.typing_rules import common_type, numeric_type, type_of
from tests.oracles.values import (
    EXACT,
    DivideByZeroError,
    Evaluate,
    EvaluationError,
    Months,
    NotInterpretedError,
    Row,
    Value,
    compare,
)

Layout = dict[ColumnId, int]
_COMPARE: dict[str, Callable[[int], bool]] = {
    "=": lambda c: c == 0,
    "<>": lambda c: c != 0,
    "<": lambda c: c < 0,
    "<=": lambda c: c <= 0,
    ">": lambda c: c > 0,
    ">=": lambda c: c >= 0,
}
_SYNONYMS = {"==": "=", "!=": "<>", "mod": "%"}


def layout_of(columns: tuple[Column, ...]) -> Layout:
    """Where the value of each column lies in a row."""
    return {column.id: position for position, column in enumerate(columns)}


def literal_value(literal: Literal) -> Value:
    if literal.text is None:
        return None
    if literal.type.name.startswith("INTERVAL"):
        return parse_interval(literal.text, literal.type)
    if literal.type == STRING:
        return literal.text
    return cast(literal.text, STRING, literal.type)


def compile_scalar(scalar: Scalar, layout: Layout) -> Evaluate:
    """A function from a row to the value of the expression; it raises Spark's run-time errors."""
    if isinstance(scalar, Ref):
        position = layout[scalar.column.id]
        return lambda row: row[position]
    if isinstance(scalar, Literal):
        value = literal_value(scalar)
        return lambda row: value
    name = _SYNONYMS.get(scalar.name, scalar.name)
    if special := _SPECIAL.get(name):
        return special(scalar, layout)
    if name == VARIABLE:
        return variable(scalar, layout)
    if made := higher_order(scalar, layout, compile_scalar):
        return made
    args = [compile_scalar(arg, layout) for arg in scalar.args]
    if name in _COMPARE:
        return _comparison(scalar, args, _COMPARE[name])
    if name in ("+", "-", "*", "/", "%"):
        return _arithmetic(name, scalar, args)
    return _function(name, scalar, args)


def compile_predicate(predicate: Scalar, layout: Layout) -> Callable[[Row], bool]:
    """True where the predicate is true: neither false nor NULL."""
    evaluate = compile_scalar(predicate, layout)
    return lambda row: evaluate(row) is True


def _converted(scalars: tuple[Scalar, ...], args: list[Evaluate], to: DataType) -> list[Evaluate]:
    """The arguments, brought to one type."""
    return [_convert(arg, type_of(s), to) for s, arg in zip(scalars, args, strict=True)]


def _convert(arg: Evaluate, source: DataType, target: DataType) -> Evaluate:
    if source in (target, NULL) or not source.is_known or not target.is_known:
        return arg
    return lambda row: cast(arg(row), source, target)


def _comparison(call: Call, args: list[Evaluate], test: Callable[[int], bool]) -> Evaluate:
    left, right = _converted(call.args, args, common_type([type_of(a) for a in call.args]))

    def evaluate(row: Row) -> Value:
        a, b = left(row), right(row)
        return None if a is None or b is None else test(compare(a, b))

    return evaluate


def _null_safe_equals(call: Call, layout: Layout) -> Evaluate:
    args = [compile_scalar(arg, layout) for arg in call.args]
    left, right = _converted(call.args, args, common_type([type_of(a) for a in call.args]))

    def evaluate(row: Row) -> Value:
        a, b = left(row), right(row)
        return a is b if a is None or b is None else compare(a, b) == 0

    return evaluate


def _connective(call: Call, layout: Layout) -> Evaluate:
    """AND and OR in three-valued logic; the right side is not evaluated when the left decides."""
    decisive = call.name == "or"
    parts = [compile_scalar(arg, layout) for arg in call.args]

    def evaluate(row: Row) -> Value:
        unknown = False
        for part in parts:
            value = part(row)
            if value is decisive:
                return decisive
            unknown = unknown or value is None
        return None if unknown else not decisive

    return evaluate


def _negation(call: Call, layout: Layout) -> Evaluate:
    arg = compile_scalar(call.args[0], layout)

    def evaluate(row: Row) -> Value:
        value = arg(row)
        return None if value is None else not value

    return evaluate


def _null_test(call: Call, layout: Layout) -> Evaluate:
    arg, wanted = compile_scalar(call.args[0], layout), call.name == "isnull"
    return lambda row: (arg(row) is None) is wanted


def _case(call: Call, layout: Layout) -> Evaluate:
    """CASE and IF evaluate only the branch that is taken."""
    if call.name == "if":
        call = Call("case", call.args, call.type)
    result = type_of(call)
    conditions = [compile_scalar(arg, layout) for arg in call.args[:-1:2]]
    scalars = (*call.args[1::2], call.args[-1])
    values = _converted(scalars, [compile_scalar(arg, layout) for arg in scalars], result)

    def evaluate(row: Row) -> Value:
        for condition, value in zip(conditions, values, strict=False):
            if condition(row) is True:
                return value(row)
        return values[-1](row)

    return evaluate


def _coalesce(call: Call, layout: Layout) -> Evaluate:
    result = common_type([type_of(a) for a in call.args])
    args = _converted(call.args, [compile_scalar(a, layout) for a in call.args], result)

    def evaluate(row: Row) -> Value:
        return next((v for arg in args if (v := arg(row)) is not None), None)

    return evaluate


def _cast_call(call: Call, layout: Layout) -> Evaluate:
    arg, source, lenient = compile_scalar(call.args[0], layout), type_of(call.args[0]), call.name

    def evaluate(row: Row) -> Value:
        try:
            return cast(arg(row), source, call.type)
        except EvaluationError:
            if lenient == "try_cast":
                return None
            raise

    return evaluate


def _in_list(call: Call, layout: Layout) -> Evaluate:
    common = common_type([type_of(a) for a in call.args])
    value, *listed = _converted(call.args, [compile_scalar(a, layout) for a in call.args], common)

    def evaluate(row: Row) -> Value:
        wanted = value(row)
        if wanted is None:
            return None
        unknown = False
        for item in listed:
            candidate = item(row)
            if candidate is None:
                unknown = True
            elif compare(wanted, candidate) == 0:
                return True
        return None if unknown else False

    return evaluate


def like_pattern(pattern: str, escape: str) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression over the whole text."""
    parts, position = [], 0
    while position < len(pattern):
        char = pattern[position]
        if char == escape:
            position += 1
            if position >= len(pattern) or pattern[position] not in ("_", "%", escape):
                raise EvaluationError(f"the LIKE pattern {pattern!r} has a wrong escape")
            parts.append(re.escape(pattern[position]))
        else:
            parts.append({"_": ".", "%": ".*"}.get(char) or re.escape(char))
        position += 1
    return re.compile("".join(parts), re.DOTALL)


def _like(call: Call, layout: Layout) -> Evaluate:
    args = [compile_scalar(arg, layout) for arg in call.args]
    fold = str.lower if call.name == "ilike" else str

    def evaluate(row: Row) -> Value:
        value, pattern = args[0](row), args[1](row)
        if value is None or pattern is None:
            return None
        escape = args[2](row) if len(args) > 2 else "\\"
        return like_pattern(fold(pattern), escape).fullmatch(fold(value)) is not None

    return evaluate


def _minus(call: Call, layout: Layout) -> Evaluate:
    arg, type_ = compile_scalar(call.args[0], layout), type_of(call.args[0])

    def evaluate(row: Row) -> Value:
        value = arg(row)
        if value is None:
            return None
        return to_integer(-value, type_) if type_.is_integer else -value

    return evaluate


def _arithmetic(name: str, call: Call, args: list[Evaluate]) -> Evaluate:
    types = [type_of(arg) for arg in call.args]
    if not all(t.is_numeric or t.name in ("STRING", "VOID") for t in types):
        return _temporal(name, args)
    result = numeric_type(Call(name, call.args, call.type), types[0], types[1])
    if result.name != "DECIMAL":
        args = _converted(call.args, args, result)
    compute = _COMPUTE[name]

    def evaluate(row: Row) -> Value:
        left, right = args[0](row), args[1](row)
        if left is None or right is None:
            return None
        if name in ("/", "%") and right == 0:
            raise DivideByZeroError(f"{left} {name} {right}")
        return _fit(compute(left, right, result), result)

    return evaluate


def _fit(value: Value, type_: DataType) -> Value:
    if type_.is_integer:
        return to_integer(value, type_)
    return to_decimal(value, type_) if type_.name == "DECIMAL" else to_float(value, type_)


def _add(a: Value, b: Value, type_: DataType) -> Value:
    return EXACT.add(Decimal(a), Decimal(b)) if type_.name == "DECIMAL" else a + b


def _subtract(a: Value, b: Value, type_: DataType) -> Value:
    return EXACT.subtract(Decimal(a), Decimal(b)) if type_.name == "DECIMAL" else a - b


def _multiply(a: Value, b: Value, type_: DataType) -> Value:
    return EXACT.multiply(Decimal(a), Decimal(b)) if type_.name == "DECIMAL" else a * b


def _divide(a: Value, b: Value, type_: DataType) -> Value:
    return EXACT.divide(Decimal(a), Decimal(b)) if type_.name == "DECIMAL" else float(a) / float(b)


def _remainder(a: Value, b: Value, type_: DataType) -> Value:
    """The sign of the dividend, as in Java."""
    if type_.name == "DECIMAL":
        return EXACT.remainder(Decimal(a), Decimal(b))
    if isinstance(a, float) or isinstance(b, float):
        return math.nan if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
    return abs(a) % abs(b) * (1 if a >= 0 else -1)


_COMPUTE = {"+": _add, "-": _subtract, "*": _multiply, "/": _divide, "%": _remainder}


def _temporal(name: str, args: list[Evaluate]) -> Evaluate:
    """Dates, timestamps and intervals: moving, and the distance of two moments."""

    def evaluate(row: Row) -> Value:
        left, right = args[0](row), args[1](row)
        if left is None or right is None:
            return None
        if isinstance(right, date | datetime) and not isinstance(left, date | datetime):
            left, right = right, left
        if isinstance(left, date) and isinstance(right, date):
            return left - right
        if name == "-":
            right = Months(-right.months) if isinstance(right, Months) else -right
        if isinstance(left, date | datetime):
            return move(left, right if not isinstance(right, int) else timedelta(days=right))
        raise NotInterpretedError(f"{type(left).__name__} {name} {type(right).__name__}")

    return evaluate


def _function(name: str, call: Call, args: list[Evaluate]) -> Evaluate:
    """A function that is NULL when an argument is; the others are in the special table."""
    known = FUNCTIONS.get(name) or NESTED.get(name)
    if known is None:
        raise NotInterpretedError(f"function {name}")
    function, strict = known
    types = [type_of(arg) for arg in call.args]
    if name in ("greatest", "least"):
        args = _converted(call.args, args, common_type(types))

    def evaluate(row: Row) -> Value:
        values = [arg(row) for arg in args]
        if strict and any(value is None for value in values):
            return None
        return function(values, types, call.type)

    return evaluate


_SPECIAL: dict[str, Callable[[Call, Layout], Evaluate]] = {
    "<=>": _null_safe_equals, "and": _connective, "or": _connective, "not": _negation,
    "isnull": _null_test, "isnotnull": _null_test, "case": _case, "if": _case,
    "coalesce": _coalesce, "nvl": _coalesce, "ifnull": _coalesce, "cast": _cast_call,
    "try_cast": _cast_call, "in": _in_list, "like": _like, "ilike": _like, "neg": _minus,
}  # fmt: skip
