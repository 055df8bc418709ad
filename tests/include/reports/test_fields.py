"""Values of another type than a field declares: taken where the meaning is plain, else a SpecError
that says what to write. Never a TypeError or an AttributeError, at any field."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forerun.include.reports.expectations import Expectation, expect
from forerun.include.reports.spec import (
    AssetEvent,
    ClockTime,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    PartitionFolder,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    SpecError,
    decode_report,
    encode_report,
)
from forerun.planner.contract.plan_v1 import ColumnSpec
from forerun.planner.errors import ForerunError
from tests.airflow.reports import SALES, sales_report, sales_source

# A value that fits for every field without a default, so that one field at a time can be wrong.
REQUIRED: dict[type, dict[str, Any]] = {
    MarkerFile: {},
    HourlyMarkers: {},
    AssetEvent: {"uri": "s3://b/s"},
    ExpectedCount: {"files": 1},
    ClockTime: {},
    Expectation: {"type": "expect_column_to_exist", "arguments": (("column", "a"),)},
    RunTime: {"at": "24:00"},
    RunPolicy: {"runs": (RunTime(at="24:00"),)},
    PartitionFolder: {"path": "/warehouse"},
    SourceSpec: {
        "name": "sales", "path": "/d/{ds}", "columns": SALES, "complete_when": ClockTime()
    },
    ReportSpec: {
        "name": "r", "sql": "SELECT 1", "sources": (sales_source("/d"),),
        "policy": RunPolicy(runs=(RunTime(at="24:00"),)),
    },
}  # fmt: skip
FIELDS = [(kind, f.name) for kind in REQUIRED for f in fields(kind)]
STRANGE = [
    None, True, 0, -1, 10**400, 0.5, float("nan"), float("inf"), "", "x", "\ud800", b"bytes", [],
    (), {}, set(), [1], ["a"], ("a", "b"), {"a": 1}, {1: "INT"}, {"a": "INT"}, [None], [[]],
    [("a", object())], object(), object, MarkerFile, MarkerFile(), RunTime(at="24:00"), Path("/d"),
    date(2026, 1, 1), ColumnSpec(name="a", type="INT"), ColumnSpec(name=5, type="INT"),  # type: ignore[arg-type]
    [ColumnSpec(name="a", type=None)], [sales_source("/d")], sales_source("/d"),  # type: ignore[arg-type]
    expect("expect_column_to_exist", column="a"), lambda: None, 1j,
]  # fmt: skip
anything = st.recursive(
    st.sampled_from(STRANGE) | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=5,
)


def _built_or_refused(kind: type, field: str, value: Any) -> None:
    """Building with one field of this value gives a whole record, or an error with a hint."""
    try:
        built = kind(**{**REQUIRED[kind], field: value})
        spec = built if isinstance(built, ReportSpec) else _around(built)
    except ForerunError:
        return
    hash(built)
    assert decode_report(encode_report(spec)) == spec or value != value


def _around(part: Any) -> ReportSpec:
    """A report that has this part, so that every part is written and read."""
    match part:
        case SourceSpec():
            return sales_report(sources=[part])
        case RunPolicy():
            return sales_report(policy=part, deadline="999:00")
        case RunTime():
            return sales_report(policy=RunPolicy(runs=(part,)), deadline="999:00")
        case PartitionFolder():
            return sales_report(sink=part)
        case Expectation():
            return sales_report(expectations=[part])
        case _:
            return sales_report(sources=[sales_source("/d", complete_when=part)])


@pytest.mark.parametrize(("kind", "field"), FIELDS, ids=lambda x: getattr(x, "__name__", x))
def test_a_value_of_any_type_is_taken_or_refused_in_words(kind: type, field: str) -> None:
    for value in STRANGE:
        _built_or_refused(kind, field, value)


@settings(max_examples=150, deadline=None)
@given(place=st.sampled_from(FIELDS), value=anything)
def test_any_value_is_taken_or_refused_in_words(place: tuple[type, str], value: Any) -> None:
    _built_or_refused(*place, value)


def test_every_field_without_a_default_is_known_here() -> None:
    for kind, given_values in REQUIRED.items():
        needed = {f.name for f in fields(kind) if f.default is f.default_factory is MISSING}
        assert needed <= set(given_values), kind


def test_a_type_that_cannot_be_meant_is_always_refused() -> None:
    for kind, field in FIELDS:
        for value in (object(), b"bytes", 1j, lambda: None):
            with pytest.raises(SpecError, match=field) as caught:
                kind(**{**REQUIRED[kind], field: value})
            assert caught.value.hint.startswith("Write ")


class TestTaken:
    def test_lists_are_tuples(self) -> None:
        source = sales_source("/d", columns=list(SALES), key=["item"], expectations=[])
        assert source == sales_source("/d", key=("item",))
        policy = RunPolicy(runs=[RunTime(at="10:00"), RunTime(at="24:00")], results_at=[1])  # type: ignore[arg-type]
        assert policy.runs == (RunTime(at="10:00"), RunTime(at="24:00"))
        assert sales_report(sources=[source]).sources == (source,)
        assert sales_report(sources=[source]).digest == sales_report(sources=(source,)).digest

    def test_columns_from_a_mapping(self) -> None:
        given = {"id": "BIGINT NOT NULL", "shop": "string", "amount": "DECIMAL(12,2)  not  null"}
        assert sales_source("/d", columns=given).columns == (
            ColumnSpec(name="id", type="BIGINT", nullable=False),
            ColumnSpec(name="shop", type="string"),
            ColumnSpec(name="amount", type="DECIMAL(12,2)", nullable=False),
        )

    def test_arguments_of_an_expectation_from_a_mapping(self) -> None:
        name = "expect_column_to_exist"
        given = Expectation(type=name, arguments={"column": "a"})  # type: ignore[arg-type]
        assert given == expect(name, column="a")

    def test_a_whole_number_is_a_number(self) -> None:
        one = RunTime(at="24:00", weight=1)
        assert (one, repr(one.weight)) == (RunTime(at="24:00", weight=1.0), "1.0")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: sales_source("/d", key="id"), r"sales: key is 'id'\n.*such as \[\"id\"\]"),
        (lambda: sales_source("/d", columns="id BIGINT"), "a list of ColumnSpec"),
        (lambda: sales_source("/d", columns={"id": int}), r"columns\['id'\] is the class int"),
        (lambda: sales_source("/d", complete_when=MarkerFile), r"Write MarkerFile\(\.\.\.\)"),
        (lambda: sales_source("/d", allow_empty="no"), "'no'\n.*True or False"),
        (lambda: sales_source("/d", sample=True), "a whole number"),
        (lambda: sales_source(Path("/d"), path=Path("/d")), "path is a .*Path\n.*a text"),
        (lambda: sales_report(sources=sales_source("/d")), "sources is a SourceSpec\n.*a list"),
        (lambda: sales_report(sources={"sales": sales_source("/d")}), "sources is a dict"),
        (lambda: sales_report(policy=[RunTime(at="24:00")]), r"policy is a list\n.*RunPolicy\("),
        (lambda: sales_report(sink="/warehouse"), r"VersionedFolder\(.*\) or PartitionFolder\("),
        (lambda: sales_report(name=None), "a report: name is None"),
        (lambda: sales_report(owner=True), "report revenue: owner is True"),
        (lambda: RunTime(at=10), "RunTime: at is 10"),
        (lambda: RunPolicy(runs=["24:00"]), r"runs\[0\] is '24:00'\n.*RunTime\("),  # type: ignore[arg-type]
        (
            lambda: sales_source("/d", columns=[ColumnSpec(name="a", type="INT", nullable=0)]),  # type: ignore[arg-type]
            r"columns\[0\].nullable is 0",
        ),
    ],
)
def test_the_error_says_what_to_write(build: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        build()
