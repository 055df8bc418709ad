"""Expectations say the same of a stand-in as of all rows, whatever an earlier run has found."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.include.days.findings import Finding
from forerun.include.reports.expectations import OF_ALL_ROWS, Expectation, expect
from forerun.include.state.check_figures import Figure
from forerun.spark_jobs.checks import stand_ins
from forerun.spark_jobs.checks.evaluation import evaluate
from forerun.spark_jobs.checks.stand_ins import About, CheckedRows, about_of, evaluate_all
from forerun.spark_jobs.engine import Engine, Frame, text_literal
from tests.selection import few

TYPES = {"id": "BIGINT", "n": "INT", "shop": "STRING", "d": "DECIMAL(9,2)", "day": "DATE",
         "ok": "BOOLEAN", "x": "DOUBLE", "wide": "DECIMAL(38,2)"}  # fmt: skip
Row = tuple[str | None, ...]
MOST = str(2**63 - 1)
SUITE = (
    expect("expect_column_sum_to_be_between", column="id", max_value=60),
    expect("expect_column_sum_to_be_between", column="n", min_value=3),
    expect("expect_column_sum_to_be_between", column="d", min_value=1, strict_min=True),
    expect("expect_column_sum_to_be_between", column="wide", min_value=1),
    expect("expect_column_sum_to_be_between", column="x", min_value=1),
    expect("expect_column_max_to_be_between", column="d", min_value=5),
    expect("expect_column_min_to_be_between", column="d", max_value=-1),
    expect("expect_column_max_to_be_between", column="id", max_value=40),
    expect("expect_column_max_to_be_between", column="x", max_value=40),
    expect("expect_column_distinct_values_to_contain_set", column="shop", value_set=["a", "b"]),
    expect("expect_column_distinct_values_to_equal_set", column="shop", value_set=["a", "é'\\"]),
    expect("expect_column_distinct_values_to_be_in_set", column="n", value_set=[1, 2, 3, 5]),
    expect("expect_column_unique_value_count_to_be_between", column="day", max_value=3),
    expect("expect_column_values_to_be_unique", column="id"),
    expect("expect_column_values_to_be_unique", column="x"),
    expect("expect_column_values_to_be_unique", column="id", mostly=0.9),
    expect("expect_compound_columns_to_be_unique", column_list=["id", "shop"]),
    expect("expect_compound_columns_to_be_unique", column_list=["shop", "day", "ok"]),
    expect("expect_compound_columns_to_be_unique", column_list=["shop", "n"],
           ignore_row_if="any_value_is_missing"),
    expect("expect_column_values_to_be_unique", column="nosuch"),
    expect("expect_column_mean_to_be_between", column="n", max_value=4),
    expect("expect_column_values_to_not_be_null", column="shop", mostly=0.8),
)  # fmt: skip

_BROKEN = 3
"""A column that is not there; sums that are too large for their type, of one or two columns."""


def rows_of(draw: random.Random, count: int) -> list[Row]:
    """Rows of the columns above as texts: NULLs, few values, limits of a type."""
    big = draw.random() < 0.2

    def one(number: int) -> Row:
        return (
            draw.choice([str(number), str(number), str(draw.randint(0, 40)), None])
            if not big else draw.choice([MOST, "-5"]),
            draw.choice(["1", "2", "5", None]),
            draw.choice(["a", "b", "é'\\", "", None]),
            draw.choice(["1.50", "-3.25", "7.00", None]),
            draw.choice(["2026-01-31", "1999-12-01", None]),
            draw.choice(["true", "false"]),
            draw.choice(["1.5", "NaN", "-0.0", "0.0", str(number / 7)]),
            draw.choice(["9.99", None]),
        )  # fmt: skip

    return [one(number) for number in range(count)]


def frame(engine: Engine, rows: list[Row]) -> Frame:
    names = ", ".join(TYPES)
    typed = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in TYPES.items())
    values = ", ".join(
        f"({', '.join(f'CAST({text_literal(v)} AS STRING)' for v in row)})"
        for row in rows or [(None,) * len(TYPES)]
    )
    found = engine.session.sql(f"SELECT {typed} FROM VALUES {values} AS t({names})")
    return found if rows else found.where("false")


def said(findings: tuple[Finding, ...]) -> list[Finding]:
    """Findings without what no two evaluations have in common: the order of the rows shown, which
    of them, and how an error is worded."""
    return [replace(one, rows=(), message=one.message[:40]) for one in findings]


def same_rows(one: Finding, other: Finding) -> bool:
    """Whether both show as many rows that fail, which is all that is promised of a sample."""
    return len(one.rows) == len(other.rows)


def compare(engine: Engine, parts: list[list[Row]], suite: tuple[Expectation, ...]) -> None:
    """Go through runs to which a part came each, and look at each as if all came at once."""
    figures: dict[About, Figure] = {}
    had: list[Row] = []
    for run, part in enumerate(parts):
        now = [*had, *part]
        rows = CheckedRows(engine, frame(engine, now), len(now), TYPES, for_later=True)
        if run:
            rows = replace(
                rows, came=frame(engine, part), earlier=frame(engine, had), figures=figures
            )
        with engine.working_on("checks"):
            findings, found = evaluate_all(rows, suite)
            plain = evaluate(rows.frame, suite)
        assert sum(one.outcome == "broken" for one in plain) <= _BROKEN
        assert said(findings) == said(plain), (parts, run)
        assert all(map(same_rows, findings, plain))
        figures, had = {About(one.of, one.columns): one for one in found}, now


@pytest.mark.parametrize("seed", few(range(12), 1))
def test_a_stand_in_says_what_all_rows_say(sail, seed):
    draw = random.Random(seed)
    parts = [rows_of(draw, draw.choice([0, 1, 4, 9])) for _ in range(3)]
    compare(sail, parts, SUITE)


@pytest.mark.spark
@pytest.mark.parametrize("seed", few(range(30, 34), 1))
def test_it_does_on_spark(spark, seed):
    draw = random.Random(seed)
    parts = [rows_of(draw, draw.choice([0, 2, 9])) for _ in range(2)]
    compare(spark, parts, SUITE)


def test_ascending_keys_are_looked_for_within_their_bounds_and_among_nulls(sail):
    def row(number: int | None, shop: str | None = "a") -> Row:
        key = None if number is None else str(number)
        return (key, key, shop, "1.00", "2026-01-31", "true", "1.0", "1.00")

    unique = (expect("expect_compound_columns_to_be_unique", column_list=["id", "shop"]),)
    first = [row(n) for n in range(5)]
    compare(sail, [first, [row(7), row(8)]], unique)
    compare(sail, [first, [row(7), row(3)]], unique)
    compare(sail, [[*first, row(None)], [row(None)]], unique)
    compare(sail, [[*first, row(None)], [row(9), row(None)]], unique)


def test_bounds_are_those_of_a_column_that_has_any(sail, monkeypatch):
    """Texts have none, so of a text and a number the number is looked at."""
    asked = []
    within = stand_ins.within_bounds
    monkeypatch.setattr(
        stand_ins, "within_bounds", lambda *given: asked.append(given[2]) or within(*given)
    )
    unique = (expect("expect_compound_columns_to_be_unique", column_list=["shop", "id"]),)
    draw = random.Random(3)
    compare(sail, [rows_of(draw, 6), rows_of(draw, 6)], unique)
    compare(sail, [[], []], (expect("expect_column_values_to_be_unique", column="shop"),))
    assert asked == ["id"]


def test_what_stand_ins_are_for_are_expectations_on_all_rows():
    assert set(stand_ins._OF) <= OF_ALL_ROWS


@pytest.mark.parametrize("limit", ["MOST_VALUES", "MOST_CHARACTERS"])
def test_a_column_of_many_or_long_values_is_read_whole(sail, monkeypatch, limit):
    monkeypatch.setattr(stand_ins, limit, 2)
    rows = frame(sail, rows_of(random.Random(1), 30))
    suite = (
        expect("expect_column_distinct_values_to_contain_set", column="shop", value_set=["a"]),
    )
    with sail.working_on("checks"):
        findings, figures = evaluate_all(CheckedRows(sail, rows, 30, TYPES, for_later=True), suite)
    assert (findings[0].outcome, findings[0].message, figures) == ("passed", "", ())


@pytest.mark.parametrize(
    "expectation",
    [
        expect("expect_column_values_to_be_unique", column="id", row_condition="n = 1"),
        expect("expect_column_values_to_be_unique", column="id", mostly=0.5),
        expect("expect_column_max_to_be_between", column="x", max_value=1),
        expect("expect_column_max_to_be_between", column="ID", max_value=1),
        expect("expect_column_sum_to_be_between", column="wide", max_value=1),
        expect("expect_column_mean_to_be_between", column="n", max_value=1),
        expect("expect_column_values_to_be_unique", column="m"),
        expect("expect_compound_columns_to_be_unique", column_list=["id", "nosuch"]),
    ],
)
def test_only_all_rows_can_tell(expectation):
    assert about_of(expectation, TYPES | {"m": "ARRAY<MAP<STRING,INT>>"}) is None
