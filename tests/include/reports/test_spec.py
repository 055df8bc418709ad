from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import pytest

from forerun.include.reports.asset_keys import report_key
from forerun.include.reports.expectations import ExpectationError, expect
from forerun.include.reports.spec import (
    AssetEvent,
    ClockTime,
    DueOn,
    ExpectedCount,
    MarkerFile,
    PartitionFolder,
    RunPolicy,
    RunTime,
    SpecError,
    decode_report,
    encode_report,
)
from forerun.include.reports.values.clock import TimeError
from forerun.include.reports.values.sizes import SizeError
from forerun.planner.contract.plan_v1 import ColumnSpec, ForeignKey
from forerun.planner.errors import ForerunError
from tests.airflow.reports import sales_report, sales_source

DAY = date(2026, 3, 1)
ITEM = tuple(c for c in sales_source("/d").columns if c.name == "item")


def test_json_round_trip_keeps_every_kind_of_value():
    for rule in (MarkerFile(), AssetEvent(uri="s3://x"), ExpectedCount(files=3), ClockTime()):
        spec = sales_report(
            sources=(sales_source("/d", complete_when=rule, key=("item",)),),
            sink=PartitionFolder(path="/warehouse/revenue"),
            expectations=(
                expect("expect_column_values_to_be_in_set", column="a", value_set=[1, "x", None]),
                expect("expect_column_to_exist", severity="warning", low=0.5, flag=True, n=1),
            ),
        )
        assert decode_report(encode_report(spec)) == spec


def test_digest_follows_the_sql_text():
    spec = sales_report()
    assert spec.digest == sales_report().digest
    assert spec.with_sql(spec.sql + " ").digest != spec.digest


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        ({"unknown": 1}, "unknown fields: unknown"),
        ({"version": 2}, "spec version 2"),
        ({"owner": 3}, "report.owner should be str"),
        ({"on_incomplete": "maybe"}, "one of wait"),
    ],
)
def test_reading_json_is_strict(edit, part):
    raw = {**json.loads(encode_report(sales_report())), **edit}
    with pytest.raises(SpecError, match=part):
        decode_report(json.dumps(raw))


def test_reading_what_is_no_json():
    with pytest.raises(SpecError, match="not JSON"):
        decode_report("{")
    with pytest.raises(SpecError, match="should be a JSON object"):
        decode_report("[]")
    with pytest.raises(SpecError, match="nested too deeply"):
        decode_report("[" * 200_000)
    with pytest.raises(SpecError, match="version None"):
        decode_report("{}")


def test_a_field_that_is_there_twice_is_refused():
    text = encode_report(sales_report()).decode()
    with pytest.raises(SpecError, match="the field 'owner' twice"):
        decode_report(text.replace('"owner"', '"owner": "me", "owner"'))


def test_a_report_does_not_wait_for_itself():
    waiting = AssetEvent(uri=report_key("sales").uri)
    source = sales_source("/d", complete_when=waiting)
    assert sales_report(name="other", sources=(source,)).name == "other"
    with pytest.raises(SpecError, match="waits for the report itself"):
        sales_report(name="sales", sources=(source,))


def _naming(change="append_only", **changes):
    """A report whose sales name items."""
    text = ColumnSpec(name="name", type="INT")
    items = sales_source("/i", name="items", columns=(*ITEM, text), change=change)
    key = {"columns": ("item",), "parent": "items", "parent_columns": ("item",), **changes}
    return sales_report(sources=(sales_source("/d", foreign_keys=(ForeignKey(**key),)), items))


def test_foreign_keys_are_part_of_a_report():
    spec = _naming()
    assert decode_report(encode_report(spec)) == spec
    assert spec.sources[0].foreign_keys[0].parent == "items"
    raw = json.loads(encode_report(spec))
    del raw["sources"][0]["foreign_keys"]
    assert decode_report(json.dumps(raw)).sources[0].foreign_keys == ()


def _changelog(*columns):
    return sales_source("/d", change="changelog", columns=columns)


def _runs(*runs):
    return RunPolicy(runs=tuple(RunTime(at=at, weight=w) for at, w in runs))


def _results(**more):
    return RunPolicy(runs=tuple(RunTime(at=at) for at in ("10:00", "16:00", "24:00")), **more)


@pytest.mark.parametrize(
    ("policy", "early"),
    [
        (_results(), ()),
        (_results(results_at=(3, 1)), (1,)),
        (_results(problem="ivm"), (1, 2)),
        (RunPolicy(runs=(RunTime(at="24:00"),), problem="ivm"), ()),
    ],
)
def test_which_early_runs_publish(policy, early):
    assert policy.early_results == early
    spec = sales_report(policy=policy)
    assert decode_report(encode_report(spec)) == spec


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (_runs, "no run"),
        (lambda: _runs(("10:00", 0)), "weight 0"),
        (lambda: _runs(("10:00", -1)), "weight -1"),
        (lambda: _runs(("10:00", float("nan"))), "weight nan"),
        (lambda: _runs(("10:00", float("inf"))), "weight inf"),
        (lambda: _runs(("10:00", 1), ("10:00", 1)), "not after"),
        (lambda: _runs(("noon", 1)), "is not a time"),
        (lambda: RunPolicy(runs=(RunTime(at="10:00"),), reserve="01:00"), "is a clock time"),
        (lambda: _results(results_at=(4,)), "run 4 of a day of 3 runs"),
        (lambda: _results(results_at=(0,)), "run 0 of a day of 3 runs"),
        (lambda: _results(results_at=(1, 1)), "run 1 twice"),
        (lambda: _results(results_at=(1,), problem="ivm"), "both results_at and the problem ivm"),
        (lambda: _results(problem="oltp"), "problem 'oltp' is unknown"),
        (
            lambda: sales_report(
                policy=_results(results_at=(1,)), sink=PartitionFolder(path="/warehouse")
            ),
            "early results, and the sink PartitionFolder",
        ),
        (lambda: sales_report(deadline="23:00"), "before the last run"),
        (lambda: sales_report(deadline="24:00"), "before the last run"),
        (lambda: sales_report(calendar=(DueOn(at="23:00", weekdays=("fri",)),)), "last run"),
        (lambda: sales_report(calendar=(DueOn(at="33:00"),)), "on which days"),
        (lambda: sales_report(calendar=(DueOn(at="noon", weekdays=("fri",)),)), "is not a time"),
        (lambda: sales_report(calendar=(DueOn(at="33:00", dates=("1.2.2026",)),)), "not a date"),
        (lambda: sales_report(calendar=(DueOn(at="33:00", month_days=(0,)),)), "no month has"),
        (lambda: sales_report(calendar=(DueOn(at="33:00", weekdays=("friday",)),)), "'friday'"),
        (lambda: sales_report(timezone="Mars/Base"), "time zone"),
        (lambda: sales_report(timezone="../etc/passwd"), "time zone"),
        (lambda: sales_report(sql=""), "no SQL"),
        (lambda: sales_report(sql_file="x.sql"), "both"),
        (lambda: sales_report(sources=()), "no source"),
        (lambda: sales_report(name="a/b"), "named"),
        (lambda: sales_report(name="a\n"), "named"),
        (lambda: sales_source("/d", name="a\n"), "named"),
        (lambda: sales_report(on_incomplete="x"), "on_incomplete"),
        (lambda: sales_report(state_budget="x"), "state_budget"),
        (lambda: sales_report(sources=(sales_source("/d"), sales_source("/d"))), "given twice"),
        (lambda: sales_source("/d", format="avro"), "there is no format"),
        (lambda: sales_source("/d", change="upserts"), "one of append_only, changelog"),
        (lambda: _changelog(ColumnSpec(name="__W", type="BIGINT")), "__w is given twice"),
        (lambda: _changelog(ColumnSpec(name="m", type="map<int,int>")), "m is a map"),
        (lambda: sales_source("/d", path="/x/{hour}"), "placeholder {hour}"),
        (lambda: sales_source("/d", path=""), "empty"),
        (lambda: sales_source("/d", columns=()), "no columns"),
        (lambda: sales_source("/d", columns=(ColumnSpec(name="a", type="WIBBLE"),)), "WIBBLE"),
        (lambda: sales_source("/d", columns=(ColumnSpec(name="a", type="DECIMAL(50,2)"),)), "50"),
        (lambda: sales_source("/d", key=("nope",)), "nope"),
        (lambda: sales_source("/d", ordered_by="when"), "column when of its order"),
        (lambda: sales_source("/d", ordered_by="item", change="changelog"), "and is a changelog"),
        (lambda: _naming(parent="nowhere"), "which the report does not have"),
        (lambda: _naming(columns=("item", "shop")), "has 2 columns and names 1"),
        (lambda: _naming(columns=(), parent_columns=()), "has 0 columns"),
        (lambda: _naming(columns=("nope",)), "has no column nope"),
        (lambda: _naming(parent_columns=("name",)), "not of the type of items.name"),
        (lambda: _naming(change="changelog"), "items is a changelog"),
        (lambda: sales_source("/d", complete_when=None), "nothing says"),
        (lambda: sales_source("/d", complete_when=ExpectedCount()), "files or rows"),
        (lambda: sales_source("/d", complete_when=MarkerFile(name="a/b")), "not a file name"),
        (lambda: sales_source("/d", complete_when=AssetEvent()), "neither URI nor name"),
        (lambda: expect("drop_table"), "not an expectation"),
        (lambda: expect("expect_column_to_exist", severity="fatal"), "severity"),
        (lambda: expect("expect_column_to_exist", column=object()), "argument column"),
    ],
)
def test_bad_input_says_what_is_wrong_and_what_to_do(build, part):
    with pytest.raises(ForerunError, match=part) as caught:
        build()
    assert isinstance(caught.value, SpecError | TimeError | ExpectationError | SizeError)
    assert caught.value.code != "forerun"


def test_the_files_of_a_changelog_have_a_column_more():
    source = _changelog(ColumnSpec(name="a", type="INT"))
    assert [(c.name, c.type) for c in source.file_columns] == [("a", "INT"), ("__w", "BIGINT")]
    assert decode_report(encode_report(sales_report(sources=(source,)))).sources == (source,)


def test_path_of_a_day():
    source = sales_source("/d", path="s3://b/{yyyy}/{mm}/{dd}/{ds}/{ds_nodash}")
    assert source.path_on(DAY) == "s3://b/2026/03/01/2026-03-01/20260301"


def test_times_are_clock_times_of_the_zone():
    spec = sales_report(timezone="Europe/Berlin")
    assert spec.points(DAY)[0] == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert spec.points(DAY)[-1] == datetime(2026, 3, 1, 23, tzinfo=UTC)
    assert spec.deadline_on(DAY) == datetime(2026, 3, 2, 5, tzinfo=UTC)
    assert spec.latest_safe_start(DAY) == datetime(2026, 3, 2, 4, tzinfo=UTC)


WEEK = (
    DueOn(at="28:00", month_days=(-1,)),
    DueOn(at="105:00", dates=("2026-12-24", "2026-12-25"), weekdays=("thu",)),
    DueOn(at="81:00", weekdays=("fri",)),
    DueOn(at="57:00", weekdays=("sat",)),
)


@pytest.mark.parametrize(
    ("day", "due"),
    [
        (date(2026, 3, 5), datetime(2026, 3, 6, 5, tzinfo=UTC)),  # a Thursday, at six
        (date(2026, 3, 6), datetime(2026, 3, 9, 8, tzinfo=UTC)),  # on Monday at nine
        (date(2026, 3, 7), datetime(2026, 3, 9, 8, tzinfo=UTC)),
        (date(2026, 3, 27), datetime(2026, 3, 30, 7, tzinfo=UTC)),  # clocks change in between
        (date(2026, 2, 28), datetime(2026, 3, 1, 3, tzinfo=UTC)),  # the first that has it counts
        (date(2026, 12, 24), datetime(2026, 12, 28, 8, tzinfo=UTC)),
        (date(2026, 12, 25), datetime(2026, 12, 28, 8, tzinfo=UTC)),  # a Friday: not of the second
    ],
)
def test_a_calendar_has_other_deadlines_for_some_days(day, due):
    spec = sales_report(timezone="Europe/Berlin", calendar=WEEK)
    assert spec.deadline_on(day) == due
    assert spec.latest_safe_start(day) == due - timedelta(hours=1)
    assert decode_report(encode_report(spec)) == spec
    assert spec.due_after_s == (28 * 3600, 105 * 3600)


def test_clock_times_and_offsets_on_a_day_of_23_hours():
    day = date(2026, 3, 29)  # clocks go forward in Berlin
    policy = _runs(("02:30", 1), ("+12:00", 1), ("24:00", 1))
    spec = sales_report(timezone="Europe/Berlin", policy=policy)
    gap, offset, midnight = spec.points(day)
    assert gap == datetime(2026, 3, 29, 1, tzinfo=UTC)  # where the clock skips it
    assert offset == datetime(2026, 3, 29, 11, tzinfo=UTC)
    assert midnight == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_latest_safe_start_is_never_before_the_final_run():
    spec = sales_report(deadline="24:30")
    assert spec.latest_safe_start(DAY) == spec.points(DAY)[-1]
