"""What is copied of a source is copied once, is the same rows, and goes with the last pin of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.sources import spool as module
from forerun.include.sources.files import Location, locate
from forerun.include.sources.raw import Raw, rows_of_file
from forerun.include.sources.spool import Spool
from forerun.include.sources.tables.copied_rows import positions_of, rows_at
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.expire_pins import expire_spools
from forerun.include.state.layout import pin_key, spool_folder
from forerun.include.state.records import Pin, PinnedFile, encode
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.planner.contract import ColumnSpec

TIMES = pa.array([0, 86_400_000_000, -1, None], pa.timestamp("us", "UTC"))
ROWS = pa.table({"k": [1, 2, 3, 4], "t": TIMES, "l": [[1], [], None, [None, 2]]})


def raw(
    folder: Path, rows: pa.Table = ROWS, name: str = "a", meanwhile: Callable[[], object] = int
) -> Raw:
    """Rows that a file is said to hold; something may be done while it is read."""

    def read(declared: Sequence[ColumnSpec]) -> pa.RecordBatchReader:
        meanwhile()
        return rows.to_reader(max_chunksize=1)

    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_text(name)
    at = place(folder)
    file = at.store.stat(f"{at.key}/{name}")
    assert file is not None
    return rows_of_file(at, file, ("1",), read)


def place(folder: Path) -> Location:
    return locate(str(folder / "in"))


def copies(store: Store, asked: Raw) -> tuple[PinnedFile, ...]:
    """The files that hold these rows."""
    (found,) = Spool(store, "s-1", None).files([asked], ())
    return found


def held(files: Sequence[PinnedFile]) -> list[dict[str, object]]:
    return [row for f in files for row in pq.read_table(f.uri.removeprefix("file://")).to_pylist()]


def test_rows_are_copied_once_though_two_pins_are_made_at_once(
    store_uri: str, tmp_path: Path
) -> None:
    store, started, found = open_store(store_uri), threading.Barrier(2, timeout=10), []
    asked = raw(tmp_path, meanwhile=started.wait)

    def copy() -> None:
        found.append(copies(store, asked))

    both = [threading.Thread(target=copy) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert found[0] == found[1] == copies(store, asked), "it is read no more"
    listed = [file.key for file in store.list(spool_folder("s-1"))]
    assert len(listed) == 2, "a record, and the file that it names"


def test_a_file_that_is_written_again_while_it_is_copied_is_not_pinned(tmp_path: Path) -> None:
    """Its copy would be named by what it was, and read again when the file is that once more."""
    path = tmp_path / "in" / "a"
    for change in (lambda: path.write_text("other"), path.unlink):
        store = FileStore(tmp_path / "s")
        with pytest.raises(SourceFileError, match="in/a was written again while it was being"):
            copies(store, raw(tmp_path, meanwhile=change))
        assert not [file for file in store.list("spools") if file.key.endswith(".json")]
    assert held(copies(store, raw(tmp_path))) == ROWS.to_pylist()


def test_many_are_copied_at_once_each_with_its_own_rows(store_uri: str, tmp_path: Path) -> None:
    store = open_store(store_uri)
    asked = [
        raw(tmp_path, pa.table({"k": [number] * (number + 1)}), str(number)) for number in range(25)
    ]
    found = Spool(store, "s-1", None).files(asked, ())
    counts = [[(file.rows, file.columns[0].minimum) for file in files] for files in found]
    assert counts == [[(number + 1, str(number))] for number in range(25)]
    assert Spool(store, "s-1", None).files(asked, ()) == found


def test_many_rows_are_many_files_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 1)
    files = copies(FileStore(tmp_path), raw(tmp_path))
    assert [file.rows for file in files] == [1, 1, 1, 1]
    assert held(files) == ROWS.to_pylist()
    none = raw(tmp_path, ROWS.slice(0, 0), "b")
    assert [file.rows for file in copies(FileStore(tmp_path), none)] == [0]


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
    files = copies(FileStore(tmp_path / "s"), asked)
    rows = ROWS.to_pylist()
    assert held(files) == ([rows[0], rows[2]] if left else [rows[1], rows[3]])
    types = [column.type for column in files[0].columns]
    assert types == ["BIGINT", "TIMESTAMP", "ARRAY<BIGINT>"]
    beyond = rows_at(at, stored, positions_of(pa.array([4])), ["k"], left=left)
    with pytest.raises(SourceFileError, match=r"a\.parquet has 4 rows, and row 4 of it is deleted"):
        copies(FileStore(tmp_path / "s"), beyond)


def test_dates_of_an_old_calendar_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    mark = {"org.apache.spark.version": "2.4.8"}
    days = pa.table({"d": pa.array([0], pa.date32())}).replace_schema_metadata(mark)
    pq.write_table(days, tmp_path / "in" / "a.parquet")
    at = place(tmp_path)
    (stored,) = at.files(".parquet")
    asked = rows_at(at, stored, positions_of(pa.array([0])), ["d"], left=False)
    with pytest.raises(SourceFileError, match="column d is written by an old calendar"):
        copies(FileStore(tmp_path / "s"), asked)


def test_copies_go_with_the_last_pin_that_names_them(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "s")
    named, gone = Spool(store, "s-1", None).files([raw(tmp_path), raw(tmp_path, name="b")], ())
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
