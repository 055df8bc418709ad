"""Result types of Spark's scalar functions and of DECIMAL arithmetic.

``UNKNOWN`` is the answer for a function that is not listed: it is planned, but what is computed
with it is never kept between runs.
"""

from __future__ import annotations

import re
from decimal import Decimal

from forerun.planner.algebra.nested import nested_type
from forerun.planner.algebra.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGER_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    DataType,
    decimal,
)

MAX_PRECISION = 38
_MINIMUM_ADJUSTED_SCALE = 6


def adjusted_decimal(precision: int, scale: int) -> DataType:
    """Spark's ``adjustPrecisionScale``: beyond 38 digits the scale gives way, down to 6."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    integral = precision - scale
    kept = max(MAX_PRECISION - integral, min(scale, _MINIMUM_ADJUSTED_SCALE))
    return decimal(MAX_PRECISION, kept)


def decimal_result(op: str, left: DataType, right: DataType) -> DataType:
    """The type of ``left op right`` for two DECIMALs (``div`` is BIGINT)."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    scale = max(s1, s2)
    match op:
        case "+" | "-":
            return adjusted_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return adjusted_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_MINIMUM_ADJUSTED_SCALE, s1 + p2 + 1)
            return adjusted_decimal(p1 - s1 + s2 + scale, scale)
        case "%":
            return adjusted_decimal(min(p1 - s1, p2 - s2) + scale, scale)
        case "div":
            return BIGINT
    raise ValueError(f"no DECIMAL rule for {op}")


def widest_decimal(left: DataType, right: DataType) -> DataType:
    """The DECIMAL both are cast to; beyond 38 digits the integral digits are kept."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(0, scale - (precision - MAX_PRECISION)))


_FIXED: dict[DataType, str] = {
    STRING: "concat_ws upper ucase lower lcase trim btrim trim_both trim_leading trim_trailing "
    "ltrim rtrim substring substr substring_index lpad rpad repeat replace regexp_replace "
    "regexp_extract regexp_substr initcap translate format_number format_string printf "
    "date_format from_unixtime md5 sha sha1 sha2 chr char hex base64 soundex space "
    "split_part get_json_object to_json array_join quote parse_url to_char "
    "to_varchar to_csv to_xml try_parse_url conv make_valid_utf8 mask validate_utf8 xpath_string "
    "try_url_decode try_validate_utf8 typeof decode dayname monthname current_user "
    "overlay left right elt url_encode url_decode bin version uuid",
    INT: "length char_length character_length len octet_length bit_length ascii instr locate "
    "position year quarter month day dayofmonth dayofweek weekday dayofyear "
    "weekofyear hour minute second datediff date_diff levenshtein find_in_set size "
    "array_size cardinality regexp_count regexp_instr hash unix_date bit_count "
    "json_array_length xpath_int",
    BIGINT: "xxhash64 crc32 unix_timestamp to_unix_timestamp unix_seconds unix_millis "
    "bitmap_bit_position bitmap_bucket_number bitmap_count hll_sketch_estimate xpath_long "
    "theta_sketch_estimate unix_micros factorial monotonically_increasing_id timestampdiff "
    "array_position width_bucket",
    TINYINT: "bit_get getbit",
    DOUBLE: "sqrt cbrt exp expm1 ln log log10 log2 log1p pow power sin cos tan cot asin acos atan "
    "atan2 sinh cosh tanh asinh acosh atanh degrees radians pi e rand randn random months_between "
    "xpath_double xpath_number hypot rint signum sign sec csc",
    BOOLEAN: "not and or isnull isnotnull isnan like ilike rlike regexp regexp_like startswith "
    "arrays_overlap is_valid_utf8 luhn_check map_contains_key xpath_boolean "
    "endswith contains in = <=> <> < <= > >= array_contains exists xor equal_null",
    DATE: "to_date add_months last_day next_day trunc current_date curdate make_date "
    "date_from_unix_date try_to_date",
    TIMESTAMP: "to_timestamp date_trunc current_timestamp now from_utc_timestamp "
    "to_timestamp_ltz make_timestamp make_timestamp_ltz try_make_timestamp try_to_timestamp "
    "try_make_timestamp_ltz to_utc_timestamp timestamp_seconds timestamp_millis timestamp_micros",
    BINARY: "unhex encode unbase64 to_binary try_to_binary hll_union theta_union",
    TIMESTAMP_NTZ: "make_timestamp_ntz to_timestamp_ntz try_make_timestamp_ntz "
    "convert_timezone",
    DataType("INTERVAL DAY TO SECOND"): "make_dt_interval",
    DataType("INTERVAL YEAR TO MONTH"): "make_ym_interval",
    DataType("ARRAY<STRING>"): "split regexp_extract_all json_object_keys xpath",
}  # fmt: skip
_BY_NAME = {name: type_ for type_, names in _FIXED.items() for name in names.split()}
_OF_BYTES = frozenset({"left", "lpad", "rpad", "elt", "substr", "substring"})
"""Functions that give bytes of bytes, though they are of texts otherwise."""
_FIRST_ARGUMENT = frozenset(
    {"abs", "neg", "positive", "negative", "nullif", "nullifzero", "reverse"}
)
_AS_DECIMAL = {name: decimal(digits, 0) for name, digits in INTEGER_DIGITS.items()} | {
    "FLOAT": decimal(14, 7),
    "DOUBLE": decimal(30, 15),
}
"""The DECIMAL that Spark casts a number to where a function takes nothing else."""
_SECONDS = frozenset({"S", "SEC", "SECOND", "SECONDS", "SECS"})
_COMMON = frozenset({"coalesce", "nvl", "ifnull", "greatest", "least"})


def result_type(
    name: str, types: tuple[DataType, ...], constants: tuple[str | None, ...] = ()
) -> DataType:
    """The type Spark 4.1 (ANSI) gives ``name`` over arguments of ``types``, else UNKNOWN.

    ``constants`` are the texts of the arguments that are literals (None for the others): some
    types depend on them, as the scale in ``round(x, 2)``.
    """
    first = types[0] if types else NULL
    if name in _BY_NAME:
        return _bytes(name, types) if BINARY in types and name in _OF_BYTES else _BY_NAME[name]
    if name in _FIRST_ARGUMENT:
        return _same(name, first)
    if name in _COMMON:
        return types[0] if len(set(types)) == 1 else UNKNOWN
    if name in ("ceil", "ceiling", "floor"):
        return _whole(first, types, constants)
    if name in ("date_part", "datepart"):
        return _part(types, constants)
    if name in ("round", "bround"):
        return _rounded(first, types, constants)
    if name in ("mod", "pmod", "div"):
        return BIGINT if name == "div" else _remainder(types)
    if name in ("date_add", "date_sub", "dateadd"):
        return DATE if len(types) == 2 else TIMESTAMP if name != "date_sub" else UNKNOWN
    if name == "zeroifnull":
        return first if first in (INT, BIGINT, DOUBLE) else UNKNOWN
    if name in ("nvl2", "if") and len(types) == 3:
        return types[1] if types[1] == types[2] else UNKNOWN
    if name in ("concat", "||") and all(t == STRING for t in types):
        return STRING
    return nested_type(name, types, constants)


def _bytes(name: str, types: tuple[DataType, ...]) -> DataType:
    """Return the type that a function of texts has where some of its arguments are bytes."""
    texts = {"elt": types[1:], "lpad": types[::2], "rpad": types[::2]}.get(name, types[:1])
    if not all(type_.is_known for type_ in texts):
        return UNKNOWN
    return BINARY if set(texts) == {BINARY} else STRING


def _same(name: str, first: DataType) -> DataType:
    """Return the type of a function that gives what it is given, but for texts that become numbers
    or are made of anything."""
    if first == STRING and name in ("abs", "negative", "positive"):
        return DOUBLE
    if name == "reverse" and not first.name.upper().startswith("ARRAY"):
        return STRING if first.is_known else UNKNOWN
    return first if first != NULL else UNKNOWN


def _part(types: tuple[DataType, ...], constants: tuple[str | None, ...]) -> DataType:
    """``date_part('field', value)``: INT, but seconds have a fraction, and months and hours of an
    interval are few."""
    field = (constants[0] or "").upper() if constants else ""
    if not field or not types[-1].is_known:
        return UNKNOWN
    if field in _SECONDS:
        return decimal(8, 6)
    few = types[-1].name.startswith("INTERVAL") and field.startswith(("M", "H"))
    return TINYINT if few else INT


def _whole(
    first: DataType, types: tuple[DataType, ...], constants: tuple[str | None, ...]
) -> DataType:
    """``ceil`` and ``floor``: BIGINT, but DECIMAL keeps its kind; to some places, DECIMAL."""
    if not first.is_numeric:
        return UNKNOWN
    if len(types) > 1:
        return _rounded(_AS_DECIMAL.get(first.name, first), types, constants)
    if first.name == "DECIMAL":
        return decimal(min(MAX_PRECISION, first.precision - first.scale + 1), 0)
    return BIGINT


def _rounded(
    first: DataType, types: tuple[DataType, ...], constants: tuple[str | None, ...]
) -> DataType:
    if first.name != "DECIMAL":
        return first if first.is_numeric else UNKNOWN
    places = _as_int(constants[1], types[1]) if len(types) > 1 and len(constants) > 1 else 0
    if places is None:
        return UNKNOWN
    integral = first.precision - first.scale + 1
    if places < 0:
        # Spark keeps as many integral digits as the rounding needs, and no scale.
        return decimal(min(MAX_PRECISION, max(integral, -places + 1)), 0)
    scale = min(first.scale, places)
    return decimal(min(MAX_PRECISION, integral + scale), scale)


def _as_int(text: str | None, type_: DataType) -> int | None:
    """Return the INT that Spark casts a constant to; None if there is none, or it cannot."""
    number = (text or "").strip()
    if not re.fullmatch(r"[+-]?\d+" if type_ == STRING else r"[+-]?\d+(\.\d*)?", number):
        return None
    return int(Decimal(number))


def _remainder(types: tuple[DataType, ...]) -> DataType:
    if len(types) == 2 and types[0] == types[1] and types[0].is_numeric:
        return types[0] if types[0].name != "DECIMAL" else decimal_result("%", types[0], types[1])
    return UNKNOWN


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WINDOW_ONLY = _words("row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value")
RUNNING_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
UP_TO_PEERS = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
WHOLE_PARTITION = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
OWN_FRAMES: dict[str, str] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "ntile"), RUNNING_ROWS),
    "cume_dist": UP_TO_PEERS,
    "lag": "",
    "lead": "",
}
"""The frames of functions that have one of their own, whatever is written; empty of one that reads
a single row at a distance."""
GENERATORS = _words(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple"
)


RANGE = "range"
"""The table function that counts from one constant to another; it stands in FROM alone."""


def window_type(name: str, types: tuple[DataType, ...]) -> DataType | None:
    """The type of a function that only windows have; None if it is not one."""
    if name in ("row_number", "rank", "dense_rank", "ntile"):
        return INT
    if name in ("percent_rank", "cume_dist"):
        return DOUBLE
    if name in ("lag", "lead", "nth_value"):
        return types[0] if types else UNKNOWN
    return None
