"""Spark's ANSI type coercion, made explicit as casts, and the operators it applies to.

Sources: Spark's AnsiTypeCoercion, DecimalPrecision and DecimalType, whose answers
``tests/spark`` compares with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from forerun.planner.algebra.functions import decimal_result, widest_decimal
from forerun.planner.algebra.nested import (
    array_of,
    element_type,
    map_of,
    map_types,
    struct_fields,
    struct_of,
    without_names,
)
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.type_kinds import is_nested, kind_of
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    decimal,
)

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DATETIMES = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP")
_DAYS = ("TINYINT", "SMALLINT", "INT")
"""Numbers of days that may be added to a DATE."""
_DAY_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")


def is_interval(type_: DataType) -> bool:
    return type_.name.startswith("INTERVAL")


def integer_as_decimal(type_: DataType) -> DataType:
    """The DECIMAL that holds every value of an integer type."""
    return decimal(INTEGER_DIGITS[type_.name], 0)


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type both sides are cast to in comparisons, CASE, IN, UNION; None if there is none."""
    if left == right:
        return left
    if not left.is_known or not right.is_known:
        return UNKNOWN
    if NULL in (left, right):
        return right if left == NULL else left
    if left.is_numeric and right.is_numeric:
        return _common_numeric(left, right)
    if left.name in _DATETIMES and right.name in _DATETIMES:
        return max(left, right, key=lambda t: _DATETIMES.index(t.name))
    if STRING in (left, right):
        return _with_string(right if left == STRING else left)
    if is_interval(left) and is_interval(right) and _is_months(left) == _is_months(right):
        return _wider_interval(left, right)
    if is_nested(left) and kind_of(left) == kind_of(right):
        return _common_nested(left, right)
    return None


def _common_nested(left: DataType, right: DataType) -> DataType | None:
    """Two arrays, two maps, or two structs whose fields are called the same."""
    if kind_of(left) == "a":
        element = common_type(element_type(left), element_type(right))
        return None if element is None else array_of(element)
    if kind_of(left) == "p":
        keys, values = map(common_type, map_types(left), map_types(right))
        return None if keys is None or values is None else map_of(keys, values)
    one, two = struct_fields(left), struct_fields(right)
    if [name.lower() for name, _ in one] != [name.lower() for name, _ in two]:
        return None
    fields = []
    for (name, type_), (_, other) in zip(one, two, strict=True):
        common = common_type(type_, other)
        if common is None:
            return None
        fields.append((name, common))
    return struct_of(fields)


def _common_numeric(left: DataType, right: DataType) -> DataType:
    if left.name in _INTEGERS and right.name in _INTEGERS:
        return max(left, right, key=lambda t: _INTEGERS.index(t.name))
    if left.is_floating or right.is_floating:
        # Spark ANSI: FLOAT with anything but FLOAT goes to DOUBLE, which loses less.
        return FLOAT if left == right == FLOAT else DOUBLE
    left = integer_as_decimal(left) if left.is_integer else left
    right = integer_as_decimal(right) if right.is_integer else right
    return widest_decimal(left, right)


def _with_string(other: DataType) -> DataType | None:
    if other.is_integer:
        return BIGINT
    if other.is_numeric:
        return DOUBLE
    return other if other.name in (*_DATETIMES, "BOOLEAN", "BINARY") else None


def _is_months(interval: DataType) -> bool:
    return "YEAR" in interval.name or "MONTH" in interval.name


def _wider_interval(left: DataType, right: DataType) -> DataType:
    fields = ("YEAR", "MONTH") if _is_months(left) else _DAY_FIELDS
    used = [f for f in fields if f in left.name.split() or f in right.name.split()]
    first, last = used[0], used[-1]
    return DataType(f"INTERVAL {first}" if first == last else f"INTERVAL {first} TO {last}")


def cast(value: Scalar, to: DataType) -> Scalar:
    """``value`` as ``to``. Exact casts of literals are folded, so that stage SQL stays readable."""
    if value.type == to or not to.is_known:
        return value
    if isinstance(value, Literal):
        if value.text is None:
            return Literal(None, to)
        if value.type.is_integer and (to.is_integer or to.name == "DECIMAL"):
            return _exact_literal(value, to)
        if value.type.name == to.name == "DECIMAL":
            return _exact_literal(value, to)
    return Call("cast", (value,), to)


def _exact_literal(value: Literal, to: DataType) -> Scalar:
    number = Decimal(value.text or "0")
    if to.is_integer:
        bound = 2 ** (8 * {"TINYINT": 1, "SMALLINT": 2, "INT": 4, "BIGINT": 8}[to.name] - 1)
        fits = -bound <= number < bound
        return Literal(value.text, to) if fits else Call("cast", (value,), to)
    digits = abs(number).as_tuple()
    exponent = digits.exponent if isinstance(digits.exponent, int) else 0
    if -exponent > to.scale or abs(number) >= Decimal(10) ** (to.precision - to.scale):
        return Call("cast", (value,), to)
    return Literal(f"{number:.{to.scale}f}", to)


def as_decimal(value: Scalar) -> Scalar:
    """An integer as DECIMAL: a literal with the digits it has, anything else with its type's."""
    if isinstance(value, Literal) and value.text is not None:
        return cast(value, decimal(max(1, len(value.text.lstrip("-+"))), 0))
    return cast(value, integer_as_decimal(value.type))


def unify(values: Iterable[Scalar]) -> tuple[tuple[Scalar, ...], DataType] | None:
    """All values cast to one common type; None if the types have none. Nested ones are left to
    Spark, which casts them where they meet: a type that is written says nothing of what is never
    NULL inside."""
    values = tuple(values)
    result = NULL
    for value in values:
        joined = common_type(result, value.type)
        if joined is None:
            return None
        result = joined
        if not result.is_known:
            return values, UNKNOWN
    if is_nested(result):
        return values, result
    return tuple(cast(value, result) for value in values), result


def compare(op: str, left: Scalar, right: Scalar) -> Scalar | None:
    """A comparison with both sides of one type; None if the types do not compare."""
    if (rows := alike((left, right))) is not None:
        return Call(op, rows, BOOLEAN)
    if not _is_compared(left.type, right.type):
        return None
    left, right = _literal_digits(left, right.type), _literal_digits(right, left.type)
    pair = unify((left, right))
    return None if pair is None else Call(op, pair[0], BOOLEAN)


def alike(values: Sequence[Scalar]) -> tuple[Scalar, ...] | None:
    """Return values that are structs of the same types without maps, whatever their fields are
    called: Spark compares them field by field. Rows of the text get the names of the first value;
    None for any other values."""
    types = {value.type for value in values}
    are_rows = all(struct_fields(type_) and "MAP<" not in type_.name for type_ in types)
    if not are_rows or len(set(map(without_names, types))) > 1:
        return None
    first, *others = values
    return (first, *(_named_as(other, first.type) for other in others))


def _named_as(value: Scalar, like: DataType) -> Scalar:
    """A row of the text with the names of fields of another struct of the same types."""
    if not isinstance(value, Call) or value.name != "named_struct":
        return value
    pairs: list[Scalar] = []
    for (name, _), part in zip(struct_fields(like), value.args[1::2], strict=True):
        pairs += [Literal(name, STRING), part]
    fields = zip(struct_fields(like), pairs[1::2], strict=True)
    return Call("named_struct", tuple(pairs), struct_of([(n, p.type) for (n, _), p in fields]))


def _is_compared(left: DataType, right: DataType) -> bool:
    """Maps are never equal, wherever they are nested; and inside of nested values no text and no
    DECIMAL is compared with anything else, as it is outside of them."""
    if any("MAP<" in type_.name for type_ in (left, right)):
        return False
    if left == right or NULL in (left, right) or not is_nested(left):
        return True
    return all(
        one == other or NULL in (one, other) or not _AS_THEY_ARE & {one.name, other.name}
        for one, other in _parts_side_by_side(left, right)
    )


_AS_THEY_ARE = frozenset({"STRING", "DECIMAL"})
"""Types of parts of nested values that a comparison casts to no other."""


def _parts_side_by_side(left: DataType, right: DataType) -> Iterator[tuple[DataType, DataType]]:
    """Yield the types that are not nested, of one value and of the other."""
    kind = kind_of(left)
    if kind == kind_of(right) == "a":
        yield from _parts_side_by_side(element_type(left), element_type(right))
    elif kind == kind_of(right) == "r":
        for (_, one), (_, other) in zip(struct_fields(left), struct_fields(right), strict=False):
            yield from _parts_side_by_side(one, other)
    else:
        yield left, right


def _literal_digits(value: Scalar, other: DataType) -> Scalar:
    """Spark gives an integer literal next to a DECIMAL just the digits it has."""
    if isinstance(value, Literal) and value.type.is_integer and other.name == "DECIMAL":
        return as_decimal(value)
    return value


def arithmetic(op: str, left: Scalar, right: Scalar) -> Scalar | None:
    """``+ - * / %`` or ``div`` with operands coerced; None if Spark refuses the types."""
    if not left.type.is_known or not right.type.is_known:
        return Call(op, (left, right), UNKNOWN)
    if _is_temporal(left.type) or _is_temporal(right.type):
        return _temporal(op, left, right)
    if left.type == right.type == NULL and op == "div":
        return Call(op, (left, right), UNKNOWN)
    if {left.type, right.type} <= {NULL, STRING} and STRING in (left.type, right.type):
        return None
    if op == "/" and left.type == NULL:
        left = cast(left, DOUBLE)
    left, right = _numbers(left, right), _numbers(right, left)
    if not left.type.is_numeric or not right.type.is_numeric:
        return None
    if op == "div" and (left.type.is_floating or right.type.is_floating):
        return None
    if "DECIMAL" in (left.type.name, right.type.name):
        return _decimal_arithmetic(op, left, right)
    if op == "/":
        return Call("/", (cast(left, DOUBLE), cast(right, DOUBLE)), DOUBLE)
    type_ = BIGINT if op == "div" else _common_numeric(left.type, right.type)
    return Call(op, (cast(left, type_), cast(right, type_)), type_)


def _is_temporal(type_: DataType) -> bool:
    return type_.name in _DATETIMES or is_interval(type_)


def _numbers(value: Scalar, other: Scalar) -> Scalar:
    """NULL takes the other's type; a string next to a number becomes one."""
    if value.type == NULL:
        return cast(value, other.type if other.type.is_numeric else DOUBLE)
    if value.type == STRING:
        return cast(value, BIGINT if other.type.is_integer else DOUBLE)
    return value


def _decimal_arithmetic(op: str, left: Scalar, right: Scalar) -> Scalar:
    if left.type.is_floating or right.type.is_floating:
        return Call(op, (cast(left, DOUBLE), cast(right, DOUBLE)), DOUBLE)
    left = as_decimal(left) if left.type.is_integer else left
    right = as_decimal(right) if right.type.is_integer else right
    return Call(op, (left, right), decimal_result(op, left.type, right.type))


def _temporal(op: str, left: Scalar, right: Scalar) -> Scalar | None:
    if _is_open(op, left.type, right.type):
        return Call(op, (left, right), UNKNOWN)
    later = is_interval(left.type) or left.type.is_integer
    if op == "+" and later and not is_interval(right.type):
        left, right = right, left
    type_ = temporal_type(op, left.type, right.type)
    if type_ is None:
        return None
    if left.type == STRING:  # a moment that is a text again in the end
        return cast(Call(op, (cast(left, TIMESTAMP), right), TIMESTAMP), STRING)
    if type_.name in _DATETIMES and right.type.is_integer:
        right = cast(right, INT)
    return Call(op, (left, right), type_)


_OPEN = {
    "+": "vd vt vn vm vw dv tv nv mv wv",
    "-": "vd vt vn vm vw sd st sn dv ds tv ts nv ns mv wv",
    "*": "vm vw sm sw mv ms wv ws",
    "/": "mv ms wv ws",
    "div": "vm vw mv wv",
}
"""By operator: kinds of its two sides that Spark takes, with a NULL or a text among them, and whose
type we do not derive."""


def _is_open(op: str, left: DataType, right: DataType) -> bool:
    return kind_of(left) + kind_of(right) in _OPEN.get(op, "").split()


def temporal_type(op: str, left: DataType, right: DataType) -> DataType | None:
    """The type of an operator over dates, timestamps and intervals; None if Spark refuses it."""
    if is_interval(left) and is_interval(right):
        if op == "div" and _is_months(left) == _is_months(right):
            return BIGINT
        return common_type(left, right) if op in ("+", "-") else None
    if is_interval(left):
        whole = "INTERVAL YEAR TO MONTH" if _is_months(left) else "INTERVAL DAY TO SECOND"
        return DataType(whole) if op in ("*", "/") and right.is_numeric else None
    if is_interval(right):
        if op == "*" and left.is_numeric:
            return temporal_type(op, right, left)
        return _moved(left, right) if op in ("+", "-") else None
    if op == "-" and left.name in _DATETIMES and right.name in _DATETIMES:
        both_dates = left.name == right.name == "DATE"
        return DataType("INTERVAL DAY" if both_dates else "INTERVAL DAY TO SECOND")
    if left.name == "DATE" and right.name in _DAYS and op in ("+", "-"):
        return left
    return None


def _moved(moment: DataType, interval: DataType) -> DataType | None:
    """A moment plus an interval: a DATE stays one if the interval has no parts of a day."""
    if moment == STRING:
        return None if _is_months(interval) else TIMESTAMP
    if moment.name not in _DATETIMES:
        return None
    within_day = not _is_months(interval) and interval.name != "INTERVAL DAY"
    return TIMESTAMP if moment.name == "DATE" and within_day else moment
