"""Tests and constraints of a dbt project, as expectations and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from forerun.include.reports.expectations import Expectation, Severity, expect

Node = Mapping[str, Any]


def constraints_of(column: Node) -> set[str]:
    """Return the kinds of constraints that a column has."""
    return {str(one.get("type")) for one in column.get("constraints") or ()}


def kind_of(test: Node) -> str:
    """Return the name of a generic test; empty for one of SQL, and for one of a package."""
    metadata = test.get("test_metadata") or {}
    return "" if metadata.get("namespace") else str(metadata.get("name") or "")


def condition_of(test: Node) -> str:
    """Return the rows, or the number of failures, that a test is limited to; empty for all rows and
    none."""
    config = test.get("config", {})
    plain = all(config.get(name) in (None, "!= 0") for name in ("warn_if", "error_if"))
    return str(config.get("where") or "") or ("" if plain else "a number of failures")


def is_error(test: Node) -> bool:
    """Return whether a test that fails stops what comes after it."""
    return str(test.get("config", {}).get("severity", "error")).lower() == "error"


def expectation_of(test: Node, types: Mapping[str, str]) -> Expectation | None:
    """Return a test as an expectation, None for one that has none. ``types`` are those of the
    columns, by their names in small letters."""
    severity: Severity = "critical" if is_error(test) else "warning"
    column = str(test.get("column_name"))
    match kind_of(test):
        case "not_null":
            return expect("expect_column_values_to_not_be_null", severity=severity, column=column)
        case "unique":
            return expect("expect_column_values_to_be_unique", severity=severity, column=column)
        case "accepted_values":
            values = test["test_metadata"]["kwargs"]["values"]
            kind = types.get(column.lower(), "STRING").partition(" ")[0]
            taken = [_value(value, kind) for value in values]
            return expect(
                "expect_column_values_to_be_in_set",
                severity=severity, column=column, value_set=taken,
            )  # fmt: skip
    return None


def _value(value: Any, kind: str) -> Any:
    """An accepted value as the column's type has it: dbt compares texts with casts of its own."""
    if kind in ("TINYINT", "SMALLINT", "INT", "BIGINT") and re.fullmatch(
        r"-?\d+", str(value), re.ASCII
    ):
        return int(value)
    return str(value) if kind == "STRING" else value
