"""Spark's result types under ANSI rules, derived here on its own from the types of the leaves.

Source of the decimal rules: Spark's ``DecimalPrecision`` (precision loss allowed, the default).
Where a call has no rule here, the type that the algebra carries is taken.
"""

from __future__ import annotations

from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    TIMESTAMP,
    DataType,
    decimal,
)

INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_ORDER = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_BOOLEAN_CALLS = frozenset({
    "=", "<=>", "<>", "<", "<=", ">", ">=", "and", "or", "not", "isnull", "isnotnull", "in",
    "like", "ilike", "rlike", "regexp_like", "between", "isnan", "startswith", "endswith",
    "contains",
})  # fmt: skip
_INT_CALLS = frozenset({
    "year", "month", "day", "dayofmonth", "quarter", "dayofweek", "dayofyear", "hour", "minute",
    "second", "length", "char_length", "character_length", "datediff", "date_diff", "instr",
    "ascii", "weekday", "weekofyear", "locate", "position", "unix_date",
})  # fmt: skip
_SAME_AS_COMMON = frozenset({"coalesce", "greatest", "least", "nvl", "ifnull"})


def bounded(precision: int, scale: int) -> DataType:
    """Spark's adjustPrecisionScale: beyond 38 digits the scale gives way, down to 6."""
    if precision <= 38:
        return decimal(precision, scale)
    integral = precision - scale
    return decimal(38, max(38 - integral, min(scale, 6)))


def as_decimal(type_: DataType, operand: Scalar | None = None) -> DataType:
    """The decimal type of an integer operand; an integer literal takes its own digits."""
    if type_.name == "DECIMAL":
        return type_
    if isinstance(operand, Literal) and operand.text is not None and type_.is_integer:
        return decimal(max(1, len(operand.text.strip().lstrip("-+").lstrip("0"))), 0)
    return decimal(INTEGER_DIGITS[type_.name], 0)


def arithmetic_type(name: str, left: DataType, right: DataType) -> DataType:
    """Result of ``+ - * / %`` on two decimals."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    if name in ("+", "-"):
        scale = max(s1, s2)
        return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if name == "*":
        return bounded(p1 + p2 + 1, s1 + s2)
    if name == "/":
        scale = max(6, s1 + p2 + 1)
        return bounded(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return bounded(min(p1 - s1, p2 - s2) + scale, scale)


def numeric_type(call: Call, left: DataType, right: DataType) -> DataType:
    """Result of an arithmetic call on numbers (strings count as DOUBLE or BIGINT, as in ANSI)."""
    if NULL in (left, right):
        left, right = (right, right) if left == NULL else (left, left)
        if left == NULL:
            return DOUBLE
    if left.name == "STRING" or right.name == "STRING":
        other = right if left.name == "STRING" else left
        integral = other.is_integer and call.name != "/"
        return BIGINT if integral else DOUBLE
    if left.is_floating or right.is_floating:
        both_float = left.name == right.name == "FLOAT" and call.name != "/"
        return left if both_float else DOUBLE
    if left.name == "DECIMAL" or right.name == "DECIMAL":
        a, b = as_decimal(left, call.args[0]), as_decimal(right, call.args[1])
        return arithmetic_type(call.name, a, b)
    if call.name == "/":
        return DOUBLE
    return left if _ORDER.index(left.name) >= _ORDER.index(right.name) else right


def common_type(types: list[DataType]) -> DataType:
    """The type that CASE, COALESCE, IN, UNION and comparisons bring their operands to."""
    result = NULL
    for type_ in types:
        result = _common_of_two(result, type_)
    return result


def _common_of_two(left: DataType, right: DataType) -> DataType:
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    names = {left.name, right.name}
    if "STRING" in names:
        other = right if left.name == "STRING" else left
        return _with_string(other)
    if names == {"DATE", "TIMESTAMP"}:
        return TIMESTAMP
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    return left


def _with_string(other: DataType) -> DataType:
    """ANSI: a string next to another type becomes that type, the widest of its family."""
    if other.is_integer:
        return BIGINT
    return DOUBLE if other.is_numeric else other


def _common_number(left: DataType, right: DataType) -> DataType:
    if left.is_floating or right.is_floating:
        return left if left.name == right.name else DOUBLE
    if left.is_integer and right.is_integer:
        return left if _ORDER.index(left.name) >= _ORDER.index(right.name) else right
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    integral = max(a.precision - a.scale, b.precision - b.scale)
    return decimal(min(38, integral + scale), min(scale, 38))


def type_of(scalar: Scalar) -> DataType:
    """The type of the value that the interpreter makes for an expression."""
    if isinstance(scalar, Ref | Literal):
        return scalar.type
    name = scalar.name
    if name in _BOOLEAN_CALLS:
        return BOOLEAN
    if name in _INT_CALLS:
        return INT
    if name == "case":
        return common_type([type_of(a) for a in (*scalar.args[1::2], scalar.args[-1])])
    if name in _SAME_AS_COMMON:
        return common_type([type_of(a) for a in scalar.args])
    if name == "if":
        return common_type([type_of(a) for a in scalar.args[1:]])
    if name in ("neg", "abs", "nullif"):
        return type_of(scalar.args[0])
    if name in ("+", "-", "*", "/", "%", "mod", "pmod"):
        return _arithmetic_call_type(scalar)
    return scalar.type


def _arithmetic_call_type(call: Call) -> DataType:
    left, right = (type_of(a) for a in call.args)
    if all(t.is_numeric or t.name in ("STRING", "VOID") for t in (left, right)):
        operator = "%" if call.name in ("mod", "pmod") else call.name
        return numeric_type(Call(operator, call.args, call.type), left, right)
    if DATE in (left, right) and (left.is_integer or right.is_integer):
        return DATE
    return call.type
