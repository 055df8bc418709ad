"""Files that commits write again to change some of their rows: what is read of them are these."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from forerun.include.sources.delivery import SourceChangedError, delivery, verify_pin
from forerun.include.sources.tables import rewritten
from forerun.include.state.records import PinnedFile
from tests.spark.lake import COLUMNS, ENGINES, pinned, read
from tests.spark.test_delta import delta, source, write_commit

FEED = {"delta.enableChangeDataFeed": "true"}
KC = COLUMNS[:2]


def moved(files: tuple[PinnedFile, ...]) -> Counter[tuple[Any, ...]]:
    """The rows of files that were copied, each as often as it has come or gone."""
    counts = Counter[tuple[Any, ...]]()
    for file in files:
        for row in pq.read_table(file.uri.removeprefix("file://")).to_pylist():
            weight = row.pop("__w", 1)
            counts[*row.values(), *(value for name, value in file.constants if name != "__w")] += (
                weight
            )
    return counts


@pytest.fixture(params=[{}, FEED], ids=["by-files", "by-feed"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rows = {"k": list(range(1000)), "c": ["a"] * 1000}
    delta(tmp_path / "t", rows, configuration=request.param)
    return tmp_path / "t"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_update_moves_the_rows_that_it_changes(
    engine: str, table: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    spec = source(table, columns=KC, change="changelog")
    first = pinned(tmp_path, spec)
    DeltaTable(str(table)).update({"c": "'b'"}, predicate="k IN (3, 4)")
    second = pinned(tmp_path, spec)
    new = delivery(second, first)
    assert moved(new) == {(3, "a"): -1, (4, "a"): -1, (3, "b"): 1, (4, "b"): 1}
    assert pinned(tmp_path, spec) == second
    DeltaTable(str(table)).delete("k = 4")
    delta(table, {"k": [7000], "c": ["z"]}, mode="append")
    third = pinned(tmp_path, spec)
    assert {(4, "b"): -1}.items() <= moved(delivery(third, second)).items()
    verify_pin(third)
    rows = read(request.getfixturevalue(engine), spec, third)
    held = DeltaTable(str(table)).to_pyarrow_table().select(["k", "c"]).to_pylist()
    assert rows == sorted((tuple(row.values()) for row in held), key=repr)


def test_the_feed_is_read_where_the_table_keeps_one(tmp_path: Path, monkeypatch: Any) -> None:
    """The files that were written again are not."""
    delta(tmp_path / "t", {"k": [1, 2], "c": ["a", "b"]}, configuration=FEED)
    spec = source(tmp_path / "t", columns=KC, change="changelog")
    first = pinned(tmp_path, spec)
    DeltaTable(str(tmp_path / "t")).update({"c": "'x'"}, predicate="k = 2")
    monkeypatch.setattr(rewritten._Reader, "_differing", None)
    (new,) = delivery(pinned(tmp_path, spec), first)
    assert "_change_data/" in new.origin
    assert moved((new,)) == {(2, "b"): -1, (2, "x"): 1}


def test_a_source_that_only_grows_may_be_written_again_with_more_rows(
    table: Path, tmp_path: Path
) -> None:
    """MERGE writes the files again into which it adds rows."""
    spec = source(table, columns=KC)
    first = pinned(tmp_path, spec)
    came = pa.table({"k": [5, 5000], "c": ["a", "new"]})
    DeltaTable(str(table)).merge(
        came, "t.k = s.k", source_alias="s", target_alias="t"
    ).when_matched_update({"c": "s.c"}).when_not_matched_insert_all().execute()
    second = pinned(tmp_path, spec)
    assert moved(delivery(second, first)) == {(5000, "new"): 1}
    DeltaTable(str(table)).update({"c": "'other'"}, predicate="k = 5")
    third = pinned(tmp_path, spec)
    with pytest.raises(SourceChangedError, match="is gone"):
        delivery(third, second)
    assert third.rows == 1001, "a new generation reads the table as it is"


def test_partitions_are_told_apart(tmp_path: Path) -> None:
    for config in ({}, FEED):
        table = tmp_path / f"t{len(config)}"
        rows = {"k": [1, 2, 3], "c": ["a", "a", "b"]}
        delta(table, rows, partition_by=["c"], configuration=config)
        spec = source(table, "/c=a", columns=KC, change="changelog")
        first = pinned(tmp_path, spec)
        DeltaTable(str(table)).update({"k": "k + 10"}, predicate="k >= 2")
        assert moved(delivery(pinned(tmp_path, spec), first)) == {(2, "a"): -1, (12, "a"): 1}
        DeltaTable(str(table)).update({"c": "'a'"}, predicate="k = 13")
        found = moved(pinned(tmp_path, spec).files)
        assert sum(found.values()) == 3


def test_a_compaction_in_between_moves_nothing(table: Path, tmp_path: Path) -> None:
    spec = source(table, columns=KC, change="changelog")
    delta(table, {"k": [5000], "c": ["z"]}, mode="append")
    first = pinned(tmp_path, spec)
    DeltaTable(str(table)).optimize.compact()
    DeltaTable(str(table)).update({"c": "'b'"}, predicate="k = 3")
    DeltaTable(str(table)).optimize.compact()
    second = pinned(tmp_path, spec)
    assert moved(delivery(second, first)) == {(3, "a"): -1, (3, "b"): 1}


def test_large_files_are_not_compared(table: Path, tmp_path: Path, monkeypatch: Any) -> None:
    spec = source(table, columns=KC, change="changelog")
    first = pinned(tmp_path, spec)
    monkeypatch.setattr(rewritten, "MOST_BYTES", 10)
    DeltaTable(str(table)).update({"c": "'b'"}, predicate="k = 3")
    second = pinned(tmp_path, spec)
    assert not {file.uri for file in first.files} & {file.uri for file in second.files}
    assert second.rows == 1000


def test_what_the_table_has_cleaned_up_is_read_as_it_is(table: Path, tmp_path: Path) -> None:
    spec = source(table, columns=KC, change="changelog")
    first = pinned(tmp_path, spec)
    DeltaTable(str(table)).update({"c": "'b'"}, predicate="k = 3")
    for file in first.files:
        Path(file.uri.removeprefix("file://")).unlink()
    second = pinned(tmp_path, spec)
    assert (second.rows, len(second.files)) == (1000, 1)
    verify_pin(second)


def test_files_that_are_restored_count_once(tmp_path: Path) -> None:
    table = tmp_path / "t"
    delta(table, {"k": [1, 2], "c": ["a", "b"]})
    spec = source(table, columns=KC, change="changelog", allow_empty=True)
    pinned(tmp_path, spec)
    DeltaTable(str(table)).delete()
    gone = pinned(tmp_path, spec)
    assert moved(gone.files) == {(1, "a"): 0, (2, "b"): 0}
    first = (table / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    write_commit(table, [action for action in map(json.loads, first) if "add" in action])
    (file,) = pinned(tmp_path, spec).files
    assert moved((file,)) == {(1, "a"): 1, (2, "b"): 1}


def test_a_change_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    delta(tmp_path / "t", {"k": [1], "c": ["a"]}, configuration=FEED)
    spec = source(tmp_path / "t", columns=KC, change="changelog")
    pinned(tmp_path, spec)
    DeltaTable(str(tmp_path / "t")).delete("k = 1")
    (feed,) = (tmp_path / "t" / "_change_data").rglob("*.parquet")
    rows = pq.read_table(feed)
    kinds = pa.array(["truncate"] * rows.num_rows)
    at = rows.column_names.index("_change_type")
    pq.write_table(rows.set_column(at, "_change_type", kinds), feed)
    with pytest.raises(Exception, match="unknown kind truncate"):
        pinned(tmp_path, spec)
