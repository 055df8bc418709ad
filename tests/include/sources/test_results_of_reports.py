"""Results of other reports: a pin has what is published, a delivery the difference of two."""

from __future__ import annotations

import datetime as dt
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from forerun.include.reports.period import Trailing
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.sources.complete_when import AssetEvent, ClockTime, WhenPublished
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.fields import SpecError
from forerun.include.sources.completeness import find_missing
from forerun.include.sources.delivery import delivery, verify_pin
from forerun.include.sources.pins import arrived_rows, pin_source
from forerun.include.sources.unread import SourceChangedError, SourceFileError
from forerun.include.state.layout import version_folder
from forerun.include.state.records import Pin
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from tests.include.sources.published_results import publish
from tests.include.sources.test_database_tables import KV, rows

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
Rows = Sequence[tuple[int, str | None]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"))


def table(found: Rows) -> pa.Table:
    keys, values = [row[0] for row in found], [row[1] for row in found]
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(values, pa.string())})


def source(there: Store, **more: Any) -> SourceSpec:
    wanted = {"path": "forerun://report/sales/{ds}", "columns": KV, "store": there.root}
    return SourceSpec(name="t", format="report", **wanted | more)


def pin(store: Store, spec: SourceSpec, day: dt.date = DAY) -> Pin:
    return pin_source(store, spec, day, NOW)[1]


def report(store: Store, *sources: SourceSpec, **more: Any) -> ReportSpec:
    return ReportSpec(
        name="sums", sql="SELECT k FROM t", sources=sources, store=store.root,
        policy=RunPolicy(runs=[RunTime(at="24:00")]), **more,
    )  # fmt: skip


def missing(spec: ReportSpec) -> list[tuple[str, bool]]:
    return [(one.text, one.accepted) for one in find_missing(spec, DAY, NOW)]


def test_each_pin_has_the_rows_that_came_since(store: Store) -> None:
    spec = source(store)
    nothing = pin(store, spec)
    assert rows(nothing) == {}
    publish(store, "sales", DAY, 1, table([(1, "a"), (1, "a")]), table([(2, None)]), early=True)
    first = pin(store, spec)
    assert rows(first) == rows(delivery(first, nothing)) == {(1, "a"): 2, (2, None): 1}
    assert arrived_rows(spec, DAY) == 3
    assert pin(store, spec) == first
    publish(store, "sales", DAY, 2, table([(2, None), (1, "a"), (3, "c"), (1, "a"), (1, "a")]))
    second = pin(store, spec)
    assert rows(delivery(second, first)) == {(1, "a"): 1, (3, "c"): 1}
    assert rows(second) == {(1, "a"): 3, (2, None): 1, (3, "c"): 1}
    verify_pin(second)
    # The same rows in another version are no change.
    publish(store, "sales", DAY, 3, table([(1, "a"), (1, "a"), (1, "a"), (2, None), (3, "c")]))
    assert pin(store, spec) == second


def test_rows_that_go_are_taken_back_by_a_changelog_alone(store: Store) -> None:
    grows, changes = source(store), source(store, change="changelog")
    publish(store, "sales", DAY, 1, table([(1, "secret"), (1, "secret"), (2, "b")]), early=True)
    before, first = pin(store, grows), pin(store, changes)
    publish(store, "sales", DAY, 2, table([(1, "secret"), (2, "c")]))
    again = pin(store, grows)
    with pytest.raises(SourceChangedError, match=r"rows of forerun://.* no longer there") as caught:
        delivery(again, before)
    assert "secret" not in str(caught.value)
    assert rows(again) == {(1, "secret"): 1, (2, "c"): 1}, "a new generation reads what there is"
    second = pin(store, changes)
    assert rows(delivery(second, first)) == {(1, "secret"): -1, (2, "b"): -1, (2, "c"): 1}
    assert +rows(second) == {(1, "secret"): 1, (2, "c"): 1}


def test_whatever_is_published_the_pins_add_up_to_the_last_of_it(store: Store) -> None:
    chance, spec = random.Random(5), source(store, change="changelog")
    for version in range(1, 40):
        held = [(chance.randrange(4), chance.choice(["a", "b", None])) for _ in range(9)]
        cut = chance.randrange(10)
        publish(store, "sales", DAY, version, table(held[:cut]), table(held[cut:]), early=True)
        if chance.random() < 0.7:
            found = {row: count for row, count in rows(pin(store, spec)).items() if count}
            assert found == Counter(held)


def test_rows_with_lists_are_replaced_as_a_whole(store: Store) -> None:
    def lists(*found: list[int]) -> pa.Table:
        return pa.table({"k": pa.array(found, pa.list_(pa.int64()))})

    spec = source(store, columns={"k": "ARRAY<BIGINT>"}, change="changelog")
    publish(store, "sales", DAY, 1, lists([1], [2]), early=True)
    first = pin(store, spec)
    publish(store, "sales", DAY, 2, lists([1], [3]))
    files = delivery(pin(store, spec), first)
    assert sorted(row for file in files for row in _unhashable(file.uri)) == [
        ([1], -1), ([1], 1), ([2], -1), ([3], 1),
    ]  # fmt: skip
    with pytest.raises(SpecError, match="cannot be compared"):
        source(store, columns={"k": "ARRAY<BIGINT>"})


def _unhashable(uri: str) -> list[tuple[list[int], int]]:
    import pyarrow.parquet as pq

    found = pq.read_table(uri.removeprefix("file://")).to_pylist()
    return [(row["k"], row["__w"]) for row in found]


def test_a_day_is_complete_when_the_whole_of_it_is_published(store: Store) -> None:
    spec, lenient = (report(store, source(store, complete_when=rule)) for rule in
                     (None, WhenPublished(incomplete="accept")))  # fmt: skip
    path = "forerun://report/sales/2026-03-01"
    assert missing(spec) == [(f"t: nothing is published as {path}", False)]
    publish(store, "sales", DAY, 1, table([]), early=True)
    for one in (spec, lenient):
        ((text, accepted),) = missing(one)
        assert text.startswith(f"t: not the whole day: {path}: it is the early result of run 1")
        assert not accepted
    publish(store, "sales", DAY, 2, table([]), incomplete=(("orders", "no _SUCCESS"),))
    text = f"t: not the whole day: {path}: orders: no _SUCCESS"
    assert (missing(spec), missing(lenient)) == ([(text, False)], [(text, True)])
    publish(store, "sales", DAY, 3, table([]))
    assert missing(spec) == []


def test_days_of_a_range_are_copied_once(store: Store) -> None:
    week = source(store, over=Trailing(days_back=3))
    for back in range(3):
        publish(store, "sales", DAY - dt.timedelta(days=back), 1, table([(back, "a")]))
    first = pin(store, week)
    assert rows(first) == {(0, "a"): 1, (1, "a"): 1, (2, "a"): 1}
    tomorrow = DAY + dt.timedelta(days=1)
    publish(store, "sales", tomorrow, 1, table([(9, "a")]))
    second = pin(store, week, tomorrow)
    assert rows(second) == {(9, "a"): 1, (0, "a"): 1, (1, "a"): 1}
    assert len({f.uri for f in first.files} & {f.uri for f in second.files}) == 2


def test_days_that_have_come_to_a_version_by_other_ones_are_apart(store: Store) -> None:
    """Each day of a range pins a result when it looks, and goes on from what it has pinned. Copies
    are shared only where that is the same."""
    spec = source(store, over=Trailing(days_back=3), change="changelog")
    one, two, three = (DAY + dt.timedelta(days=n) for n in range(3))
    looks = {8: (two,), 9: (one, two, three), 10: (one, two), 11: (three, two, one)}
    for version, days in looks.items():
        publish(store, "sales", DAY, version, table([(version, "a"), (0, "b")]), early=True)
        for day in days:
            found = {row: count for row, count in rows(pin(store, spec, day)).items() if count}
            assert found == {(version, "a"): 1, (0, "b"): 1}


def test_the_store_of_a_result_may_be_moved(store: Store, tmp_path: Path) -> None:
    publish(store, "sales", DAY, 1, table([(1, "a")]))
    shutil.move(tmp_path / "store", tmp_path / "elsewhere")
    moved = open_store(str(tmp_path / "elsewhere"))
    assert rows(pin(moved, source(moved))) == {(1, "a"): 1}


def test_a_file_that_was_changed_or_has_other_types_is_named(store: Store) -> None:
    publish(store, "sales", DAY, 1, table([(1, "a")]))
    with pytest.raises(SourceFileError, match="column k: declared INT, found BIGINT") as caught:
        pin(store, source(store, columns={"k": "INT"}))
    assert "as the report that is read publishes them" in caught.value.hint
    with pytest.raises(SourceFileError, match="column w: declared INT, found no such column"):
        pin(store, source(store, columns={"k": "BIGINT", "w": "INT"}))
    key = f"{version_folder('sales', str(DAY), '1-1-a')}/part-0.parquet"
    data = store.get(key)
    store.put(key, data.replace(b"a", b"b", 1))
    with pytest.raises(SourceFileError, match=r"part-0\.parquet is not what sales has published"):
        pin(store, source(store))
    store.delete(key)
    with pytest.raises(SourceFileError, match="is not what sales has published"):
        pin(store, source(store))


def test_what_has_no_meaning_for_results_is_refused(store: Store) -> None:
    for more, words in (
        ({"path": "forerun://report/sales"}, "does not name a report"),
        ({"path": "forerun://report/sa les/{ds}"}, "does not name a report"),
        ({"path": "/lake/sales/{ds}"}, "does not name a report"),
        ({"arrival": "static"}, "static"),
        ({"complete_when": ClockTime()}, "ClockTime"),
        ({"complete_when": AssetEvent(uri="forerun://report/sales")}, "AssetEvent"),
        ({"where": "k = 1"}, "where"),
        ({"partitioned_by": ("k",)}, "partitioned_by"),
        ({"store": "gs://bucket"}, "store"),
    ):
        with pytest.raises(SpecError, match=words):
            source(store, **more)
    with pytest.raises(SpecError, match="WhenPublished, with the format parquet"):
        SourceSpec(name="t", path="/lake", columns=KV, complete_when=WhenPublished())
    with pytest.raises(SpecError, match="source t is the report itself"):
        report(store, source(store, path="forerun://report/sums/{ds}"))
    assert report(store, source(store, store="")).sources[0].store == store.root
    assert replace(source(store), name="u").complete_when == WhenPublished()
