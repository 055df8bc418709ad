"""Small tables for SQL tests: NULLs in keys and values, duplicates, -0.0 and NaN, an empty one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn
from tests.oracles.interpreter import Inputs, SourceData


def _day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


_N = Decimal
_NAN = float("nan")

COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "t": (
        ("a", "int"), ("b", "bigint"), ("c", "string"), ("d", "decimal(10,2)"), ("e", "double"),
        ("f", "date"), ("g", "timestamp"), ("h", "boolean"),
    ),
    "s": (("k", "int"), ("v", "int"), ("w", "string"), ("x", "decimal(12,4)"), ("y", "date")),
    "r": (("k", "int"), ("v", "int"), ("w", "string")),
    "nothing": (("k", "int"), ("v", "int")),
}  # fmt: skip

_T_TWICE = (
    1, 2, "x", _N("1.50"), 1.5, _day("2020-01-15"), _moment("2020-01-15 10:30:00"), True,
)  # fmt: skip
_LATE, _NOON = _moment("2019-12-31 23:59:59"), _moment("2020-06-30 12:00:00")
_NEW_YEAR = _moment("2021-01-01 00:00:00")
_S_TWICE = (1, 2, "x", _N("1.5000"), _day("2020-01-15"))

ROWS: dict[str, list[tuple[Any, ...]]] = {
    "t": [
        _T_TWICE,
        _T_TWICE,
        (1, None, "xy", None, None, None, None, None),
        (2, 1, "y", _N("2.25"), -0.0, _day("2020-06-30"), _moment("2020-06-30 00:00:00"), False),
        (
            None,
            3,
            None,
            _N("-3.00"),
            _NAN,
            _day("2019-12-31"),
            _moment("2019-12-31 23:59:59"),
            True,
        ),
        (3, 3, "", _N("0.01"), 2.5, _day("2021-02-28"), None, None),
        (
            0,
            -1,
            "x%y",
            _N("100.00"),
            0.0,
            _day("2020-01-31"),
            _moment("2021-01-01 00:00:00"),
            False,
        ),
        (
            2,
            None,
            "y x",
            _N("2.25"),
            None,
            _day("2020-06-30"),
            _moment("2020-06-30 12:00:00"),
            True,
        ),
        (None, None, None, None, None, None, None, None),
        (4, 1, "it's", _N("7.77"), 3.25, _day("2020-12-31"), _moment("2020-12-31 01:02:03"), False),
    ],
    "s": [
        _S_TWICE,
        (1, 3, "y", _N("2.2500"), None),
        (2, None, "x", None, _day("2020-01-01")),
        (None, 1, "x", _N("1.0000"), _day("2019-01-01")),
        (2, 5, None, _N("2.2500"), _day("2020-06-30")),
        (5, 1, "z", _N("9.9999"), None),
        _S_TWICE,
        (3, 0, "unique", _N("0.0100"), _day("2021-01-01")),
    ],
    "r": [
        (1, 2, "x"),
        (2, 5, "q"),
        (None, None, None),
        (3, 0, "unique"),
        (3, 1, "x"),
        (1, 3, "y"),
        (7, 7, ""),
    ],
    "nothing": [],
}

SOURCES = tuple(
    Source(
        name=name,
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns),
    )
    for name, columns in COLUMNS.items()
)


def inputs() -> Inputs:
    """The tables for the row interpreter."""
    return Inputs(
        {
            name: SourceData(tuple(n for n, _ in columns), ROWS[name])
            for name, columns in COLUMNS.items()
        }
    )


def bind_all(engine: Any) -> None:
    """The tables as views of an engine."""
    for name, columns in COLUMNS.items():
        engine.bind(name, columns, ROWS[name])
