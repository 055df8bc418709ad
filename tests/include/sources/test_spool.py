"""What is copied of a source is copied once, is the same rows, and goes with the last pin of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.sources import spool as module
from forerun.include.sources.files import Location, Raw, locate
from forerun.include.sources.spool import Spool
from forerun.include.sources.tables.deleted_rows import positions_of, rows_at
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.expire_pins import expire_spools
from forerun.include.state.file_store import FileStore
from forerun.include.state.layout import pin_key, spool_folder
from forerun.include.state.opening import open_store
from forerun.include.state.records import Pin, PinnedFile, encode
from forerun.include.state.store import Store
from forerun.planner.contract import ColumnSpec

TIMES = pa.array([0, 86_400_000_000, -1, None], pa.timestamp("us", "UTC"))
ROWS = pa.table({"k": [1, 2, 3, 4], "t": TIMES, "l": [[1], [], None, [None, 2]]})


def raw(rows: pa.Table, started: threading.Barrier | None = None) -> Raw:
    def read(declared: Sequence[ColumnSpec]) -> pa.RecordBatchReader:
        if started:
            started.wait(10)
        return rows.to_reader(max_chunksize=1)

    return Raw(key="in/a", identity=("1",), read=read)


def place(folder: Path) -> Location:
    return locate(str(folder / "in"))


def copies(store: Store, at: Location, asked: Raw) -> tuple[PinnedFile, ...]:
    """The files that hold these rows."""
    (found,) = Spool(store, "s-1", None).files(at, [asked], ())
    return found


def held(files: Sequence[PinnedFile]) -> list[dict[str, object]]:
    return [row for f in files for row in pq.read_table(f.uri.removeprefix("file://")).to_pylist()]


def test_rows_are_copied_once_though_two_pins_are_made_at_once(
    store_uri: str, tmp_path: Path
) -> None:
    store, started, found = open_store(store_uri), threading.Barrier(2), []

    def copy() -> None:
        found.append(copies(store, place(tmp_path), raw(ROWS, started)))

    both = [threading.Thread(target=copy) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert found[0] == found[1] == copies(store, place(tmp_path), raw(ROWS))
    listed = [file.key for file in store.list(spool_folder("s-1"))]
    assert len(listed) == 2, "a record, and the file that it names"


def test_many_are_copied_at_once_each_with_its_own_rows(store_uri: str, tmp_path: Path) -> None:
    def numbered(number: int) -> Raw:
        rows = pa.table({"k": [number] * (number + 1)})
        return Raw(key=f"in/{number}", identity=(), read=lambda _: rows.to_reader())

    store, asked = open_store(store_uri), [numbered(number) for number in range(25)]
    found = Spool(store, "s-1", None).files(place(tmp_path), asked, ())
    counts = [[(file.rows, file.columns[0].minimum) for file in files] for files in found]
    assert counts == [[(number + 1, str(number))] for number in range(25)]
    assert Spool(store, "s-1", None).files(place(tmp_path), asked, ()) == found


def test_many_rows_are_many_files_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 1)
    files = copies(FileStore(tmp_path), place(tmp_path), raw(ROWS))
    assert [file.rows for file in files] == [1, 1, 1, 1]
    assert held(files) == ROWS.to_pylist()
    none = Raw(key="in/b", identity=(), read=lambda _: ROWS.slice(0, 0).to_reader())
    assert [file.rows for file in copies(FileStore(tmp_path), place(tmp_path), none)] == [0]


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("int96", [True, False])
def test_rows_at_positions_have_the_types_and_values_of_their_file(
    left: bool, int96: bool, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.parquet"
    pq.write_table(ROWS, path, row_group_size=3, use_deprecated_int96_timestamps=int96)
    at = place(tmp_path)
    (stored,) = at.files(".parquet")
    numbers = pa.array([3, 1, 1])
    asked = rows_at(at, stored, positions_of(numbers), ["K", "t", "l"], left=left)
    files = copies(FileStore(tmp_path / "s"), at, asked)
    rows = ROWS.to_pylist()
    assert held(files) == ([rows[0], rows[2]] if left else [rows[1], rows[3]])
    types = [column.type for column in files[0].columns]
    assert types == ["BIGINT", "TIMESTAMP", "ARRAY<BIGINT>"]
    beyond = rows_at(at, stored, positions_of(pa.array([4])), ["k"], left=left)
    with pytest.raises(SourceFileError, match=r"a\.parquet has 4 rows, and row 4 of it is deleted"):
        copies(FileStore(tmp_path / "s"), at, beyond)


def test_dates_of_an_old_calendar_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    mark = {"org.apache.spark.version": "2.4.8"}
    days = pa.table({"d": pa.array([0], pa.date32())}).replace_schema_metadata(mark)
    pq.write_table(days, tmp_path / "in" / "a.parquet")
    at = place(tmp_path)
    (stored,) = at.files(".parquet")
    asked = rows_at(at, stored, positions_of(pa.array([0])), ["d"], left=False)
    with pytest.raises(SourceFileError, match="column d is written by an old calendar"):
        copies(FileStore(tmp_path / "s"), at, asked)


def test_copies_go_with_the_last_pin_that_names_them(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "s")
    other = Raw(key="in/b", identity=("1",), read=lambda _: ROWS.to_reader())
    named, gone = Spool(store, "s-1", None).files(place(tmp_path), [raw(ROWS), other], ())
    pin = Pin(
        source="s-1", name="s", day="2026-01-01", number=1, path="/in", format="json",
        pinned_at="2026-01-01T00:00:00+00:00", files=named,
    )  # fmt: skip
    store.put(pin_key("s-1", pin.day, 1), encode(pin))
    assert expire_spools(store) == {}, "nothing goes on the day that it is copied"
    for path in (tmp_path / "s" / "spools").rglob("*.*"):
        os.utime(path, (1e9, 1e9))
    (found,) = expire_spools(store, dry_run=True).items()
    assert (found[0], found[1].files) == ("s-1", 2)
    assert held(gone)
    assert dict([found]) == expire_spools(store)
    assert held(named) == ROWS.to_pylist()
    assert len(store.list(spool_folder("s-1"))) == 2
    store.delete(pin_key("s-1", pin.day, 1))
    assert expire_spools(store)["s-1"].files == 2
