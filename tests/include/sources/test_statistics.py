"""From pins to what the planner believes of a source."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from forerun.include.reports.spec import ClockTime, SourceSpec
from forerun.include.sources.statistics import (
    column_stats,
    forecast,
    time_points,
    to_source,
    with_overlaps,
)
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import ColumnFooter, Pin, PinnedFile
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.plan_v1 import ForeignKey
from forerun.planner.request import Source, SourceColumn, SourceForeignKey

SPEC = SourceSpec(
    name="orders", path="/x", key=("k",), complete_when=ClockTime(),
    columns=(ColumnSpec(name="k", type="bigint"), ColumnSpec(name="s", type="STRING")),
)  # fmt: skip


def file(rows: int, **k) -> PinnedFile:
    columns = (
        ColumnFooter(name="K", type="BIGINT", **k),
        ColumnFooter(name="s", type="STRING", uncompressed=30 * rows),
    )
    return PinnedFile(uri=f"f{rows}", size=100 * rows, identity="1", rows=rows, columns=columns)


def pin(*files: PinnedFile) -> Pin:
    return Pin(source="o", name="orders", day="d", number=1, path="/x", format="parquet",
               pinned_at="t", files=files)  # fmt: skip


def test_rows_and_bytes_are_of_the_whole_day():
    source = to_source(SPEC, pin(file(50), file(10)), 0.25)
    assert (source.rows, source.bytes, source.changing) == (240, 24_000, True)
    assert source.keys == (("k",),)
    static = SourceSpec(name="s", path="/x", columns=SPEC.columns, arrival="static")
    assert to_source(static, pin(file(50)), 0.25).rows == 50
    assert to_source(SPEC, pin(), 0.0).rows == 0


def signed(rows: int, minimum: str, maximum: str) -> PinnedFile:
    weights = ColumnFooter(name="__w", type="BIGINT", minimum=minimum, maximum=maximum)
    return replace(file(rows), columns=(*file(rows).columns, weights))


def test_rows_of_a_changelog_are_those_that_are_left():
    spec = replace(SPEC, change="changelog")
    adds = to_source(spec, pin(signed(100, "1", "1")), 0.5)
    assert (adds.change, adds.rows, adds.retracted) == ("changelog", 200, 0.0)
    both = to_source(spec, pin(signed(100, "1", "1"), signed(50, "-1", "1")), 0.5)
    assert (both.rows, both.retracted) == (260, pytest.approx(10 / 130))
    assert to_source(spec, pin(signed(50, "-1", "-1")), 1.0).rows >= 0
    still = replace(spec, arrival="static", complete_when=None)
    assert to_source(still, pin(signed(50, "-1", "1")), 1.0).change == "append_only"


def test_bounds_are_compared_as_numbers_and_known_only_if_every_file_has_them():
    here = pin(file(50, minimum="9", maximum="80", nulls=5), file(50, minimum="10", maximum="200"))
    stats = column_stats(here.files, "k", BIGINT)
    assert (stats.minimum, stats.maximum, stats.nulls) == ("9", "200", 0.05)
    unbounded = pin(file(50, minimum="9", maximum="80"), file(1))
    assert column_stats(unbounded.files, "k", BIGINT).minimum is None
    only_nulls = pin(file(50, minimum="9", maximum="80", nulls=0), file(10, nulls=10), file(0))
    assert column_stats(only_nulls.files, "k", BIGINT).maximum == "80"
    assert column_stats(here.files, "s", STRING).width == 30


def test_a_dictionary_bounds_distinct_values_only_if_all_files_have_one():
    both = pin(file(50, distinct=7), file(40, distinct=9))
    assert column_stats(both.files, "k", BIGINT).distinct == 9
    assert column_stats(pin(file(50, distinct=7), file(40)).files, "k", BIGINT).distinct == 0


START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
POINTS = [START + dt.timedelta(hours=h) for h in (6, 18, 24)]


def entry(day: str, run: int, rows: int) -> LedgerEntry:
    return LedgerEntry(
        report="r", day=day, generation="1", run=run, weight=1.0, estimated_cost=0, batch_cost=0,
        executor_cpu_s=0, process_cpu_s=0, wall_s=0, arrived=(("orders", rows),), state_bytes=0,
        committed_at="t",
    )  # fmt: skip


def test_without_history_sources_are_believed_to_arrive_evenly():
    assert forecast(POINTS, START, ["orders"], []) == (
        {"orders": 0.25}, {"orders": 0.75}, {"orders": 1.0},
    )  # fmt: skip
    assert forecast([START], START, ["orders"], []) == ({"orders": 1.0},)
    assert forecast(POINTS, START, [], []) == ({}, {}, {})


def test_history_beats_the_clock():
    history = [entry("d1", r, n) for r, n in ((1, 60), (2, 80), (3, 100))]
    history += [entry("d2", r, n) for r, n in ((1, 40), (2, 60), (3, 100))]
    history += [entry("d3", 1, 1), entry("d3", 3, 100)]  # a day of which a run is missing
    curve = forecast(POINTS, START, ["orders", "new"], history)
    assert [f["orders"] for f in curve] == [pytest.approx(f) for f in (0.5, 0.7, 1.0)]
    assert [f["new"] for f in curve] == [0.25, 0.75, 1.0]


def test_days_without_early_runs_do_not_make_history_forgotten():
    history = [entry("a", r, n) for r, n in ((1, 60), (2, 80), (3, 100))]
    history += [entry(f"b{n:02}", 3, 100) for n in range(20)]
    assert [f["orders"] for f in forecast(POINTS, START, ["orders"], history)] == [0.6, 0.8, 1.0]


def test_time_points_never_go_back():
    history = [entry("d1", r, n) for r, n in ((1, 60), (2, 50), (3, 100))]
    curve = forecast(POINTS, START, ["orders"], history)
    points = time_points([0.25, 0.3, 1.0], curve)
    assert [p.fraction("orders") for p in points] == [0.6, 0.6, 1.0]
    assert [p.arrived for p in points] == [0.6, 0.6, 1.0]
    assert points[0].weight == 0.25


def bounded(rows: int, *bounds: tuple[str, str] | None) -> PinnedFile:
    columns = tuple(
        ColumnFooter(
            name=f"k{i}", type="BIGINT", **dict(zip(("minimum", "maximum"), b or (), strict=False))
        )
        for i, b in enumerate(bounds)
    )
    return PinnedFile(uri="f", size=1, identity="1", rows=rows, columns=columns)


def overlap(children: list[PinnedFile], parents: list[PinnedFile], names: tuple[str, ...]) -> float:
    key = ForeignKey(columns=names, parent="p", parent_columns=names)
    columns = tuple(SourceColumn(name=name, type=BIGINT) for name in ("k0", "k1"))
    declared = (SourceForeignKey(key=key),)
    sources = (
        Source(name="c", columns=columns, foreign_keys=declared), Source(name="p", columns=columns)
    )  # fmt: skip
    (child, _) = with_overlaps(sources, {"c": children, "p": parents})
    return child.foreign_keys[0].overlap


def test_keys_that_ascend_overlap_little_and_others_wholly():
    slices = [bounded(10, (str(i * 9), str(i * 9 + 8))) for i in range(12)]
    assert overlap(slices, slices, ("k0",)) == pytest.approx(1 / 12)
    anywhere = [bounded(10, ("0", "99")) for _ in range(4)]
    assert overlap(anywhere, slices, ("k0",)) == 1.0
    assert overlap([*anywhere, *slices], slices, ("k0",)) == pytest.approx((4 + 1) / 16)


def test_what_footers_do_not_say_may_overlap():
    slices = [bounded(10, (str(i), str(i)), None) for i in range(4)]
    assert overlap([bounded(10, None, None)], slices, ("k0",)) == 1.0
    assert overlap([], slices, ("k0",)) == overlap(slices, [], ("k0",)) == 1.0
    assert overlap(slices, slices, ("k1",)) == 1.0
    assert overlap(slices, slices, ("k0", "k1")) == 0.25, "one column tells rows apart"
