"""Result types of DECIMAL arithmetic and of functions; Spark is asked in ``tests/spark``."""

from __future__ import annotations

import re

import pytest

from forerun.planner.algebra import functions, nested
from forerun.planner.algebra.aggregates.functions import value_when_empty
from forerun.planner.algebra.functions import (
    adjusted_decimal,
    decimal_result,
    result_type,
    widest_decimal,
    window_type,
)
from forerun.planner.algebra.higher_order import HIGHER_ORDER
from forerun.planner.algebra.types import BIGINT, DOUBLE, INT, STRING, UNKNOWN, DataType, decimal
from forerun.planner.errors import UnknownFunctionError
from tests.planner.sql.function_calls import CALLS


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("+", (10, 2), (10, 2), (11, 2)),
        ("-", (10, 2), (5, 4), (13, 4)),
        ("*", (15, 2), (15, 2), (31, 4)),
        ("/", (10, 2), (1, 0), (14, 6)),
        ("%", (10, 2), (1, 0), (3, 2)),
        # Beyond 38 digits the scale gives way, down to 6.
        ("*", (38, 10), (38, 10), (38, 6)),
        ("/", (38, 4), (38, 4), (38, 6)),
        ("+", (38, 2), (38, 2), (38, 2)),
        ("+", (38, 20), (38, 2), (38, 6)),
        ("+", (38, 38), (38, 0), (38, 6)),
    ],
)
def test_decimal_arithmetic(
    op: str, left: tuple[int, int], right: tuple[int, int], result: tuple[int, int]
) -> None:
    assert decimal_result(op, decimal(*left), decimal(*right)) == decimal(*result)


def test_integral_division_leaves_decimals() -> None:
    assert decimal_result("div", decimal(10, 2), decimal(3, 0)) == BIGINT
    with pytest.raises(ValueError, match="no DECIMAL rule"):
        decimal_result("^", decimal(1, 0), decimal(1, 0))


def test_the_scale_never_falls_below_six_or_what_it_was() -> None:
    assert adjusted_decimal(40, 2) == decimal(38, 2)
    assert adjusted_decimal(50, 20) == decimal(38, 8)
    assert adjusted_decimal(70, 20) == decimal(38, 6)


def test_the_common_decimal_keeps_integral_digits() -> None:
    assert widest_decimal(decimal(10, 2), decimal(8, 4)) == decimal(12, 4)
    assert widest_decimal(decimal(38, 2), decimal(38, 10)) == decimal(38, 2)


@pytest.mark.parametrize(
    ("name", "types", "constants", "result"),
    [
        ("upper", (STRING,), (), STRING),
        ("round", (decimal(10, 4), INT), (None, "2"), decimal(9, 2)),
        ("round", (decimal(10, 4), INT), (None, None), UNKNOWN),
        ("round", (DOUBLE,), (), DOUBLE),
        ("ceil", (decimal(10, 2),), (), decimal(9, 0)),
        ("floor", (DOUBLE,), (), BIGINT),
        ("coalesce", (INT, INT), (), INT),
        ("coalesce", (INT, STRING), (), UNKNOWN),
        ("abs", (decimal(5, 1),), (), decimal(5, 1)),
        ("my_own_function", (INT,), (), UNKNOWN),
    ],
)
def test_function_types(
    name: str,
    types: tuple[DataType, ...],
    constants: tuple[str | None, ...],
    result: DataType,
) -> None:
    assert result_type(name, types, constants) == result


def test_values_over_no_rows() -> None:
    assert value_when_empty("count") == "0"
    assert value_when_empty("sum") is None
    with pytest.raises(ValueError, match="neither 0 nor NULL"):
        value_when_empty("collect_list")
    with pytest.raises(UnknownFunctionError, match="some_new_aggregate"):
        value_when_empty("some_new_aggregate")


def test_window_functions() -> None:
    assert window_type("row_number", ()) == INT
    assert window_type("lag", (STRING, INT)) == STRING
    assert window_type("sum", (INT,)) is None


_OPERATORS = {
    "not", "and", "or", "in", "exists", "xor", "neg", "=", "<=>", "<>", "<", "<=", ">", ">=",
}  # fmt: skip
_SPELLED = {"trim_both": "both", "trim_leading": "leading", "trim_trailing": "trailing"}


def test_spark_is_asked_about_every_function_whose_type_is_known() -> None:
    """A wrong type would else be found by a run."""
    asked = set(re.findall(r"\w+", " ".join(CALLS)))
    typed = {*functions._BY_NAME, *functions._FIRST_ARGUMENT, *functions._COMMON} - _OPERATORS
    typed |= {*nested._TYPES, *HIGHER_ORDER}
    assert sorted(name for name in typed if _SPELLED.get(name, name) not in asked) == []
