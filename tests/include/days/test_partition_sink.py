"""A partition folder: one file, old or new, whatever is killed, retried, cleared or late."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days import partition_sink
from forerun.include.days.partition_sink import Stamp, publish_partition, read_stamp
from forerun.include.reports.spec import PartitionFolder
from forerun.include.runs.prepare import (
    NotPublishedError,
    latest_generation,
    publish_result,
    read_pointer,
)
from forerun.include.sources.files import locate
from forerun.include.state.commits import ArtifactError, describe_partition, read_commit
from forerun.include.state.fence import close_through
from forerun.include.state.records import ArtifactPartition
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.store import Store, is_hidden
from tests.include.days.day_cases import DAY, NOW, DayCase

FOLDER = "warehouse/totals/day=2026-03-01"
KEY = f"{FOLDER}/totals.parquet"


def case_in(tmp_path: Path, store_uri: str) -> DayCase:
    sink = PartitionFolder(path=f"{store_uri}/warehouse/totals", column="day")
    return DayCase(tmp_path, store_uri, sink={"sink": sink})


def whole_day(case: DayCase, trigger: str) -> str:
    case.deliver("1", (1, 2))
    generation = case.open(trigger)
    case.commit(case.prepare(generation, 1))
    case.commit(case.prepare(generation, 2))
    return generation


def publish(case: DayCase, generation: str):
    return publish_result(case.day(generation), now=NOW)


def visible(store: Store) -> list[str]:
    """The files that a reader of the table takes for data."""
    start = len(FOLDER) + 1
    names = (file.key[start:] for file in store.list(FOLDER))
    return [name for name in names if not is_hidden(name)]


def test_a_day_is_one_file_and_a_cleared_day_replaces_it(tmp_path, store_uri):
    case = case_in(tmp_path, store_uri)
    first = publish(case, whole_day(case, "first"))
    assert first.folder.endswith("/warehouse/totals/day=2026-03-01")
    assert pq.read_table(io.BytesIO(case.store.get(KEY))).to_pylist() == [{"k": 1, "v": 2}]
    generation = whole_day(case, "cleared")
    second = publish(case, generation)
    assert second.version != first.version
    assert visible(case.store) == ["totals.parquet"]
    stamp = read_stamp(case.store.get(KEY))
    assert stamp == Stamp(
        report="totals", day="2026-03-01", version=second.version, generation=int(generation)
    )
    assert read_pointer(case.store, "totals", DAY) == second
    before = case.store.find(KEY)
    assert publish(case, generation) == second
    assert case.store.find(KEY) == before


def _gone(case: DayCase) -> None:
    case.store.delete(KEY)


def _changed(case: DayCase) -> None:
    """One bit of a value, in a file that is as long as before and says the same of itself."""
    data = bytearray(case.store.get(KEY))
    data[8] ^= 1
    assert read_stamp(bytes(data)) == read_stamp(case.store.get(KEY))
    case.store.put(KEY, bytes(data))


def _longer(case: DayCase) -> None:
    """Rows written anew by somebody who has kept what the file says of itself."""
    table = pq.read_table(io.BytesIO(case.store.get(KEY)))
    rows = io.BytesIO()
    pq.write_table(pa.concat_tables([table] * 9), rows)
    case.store.put(KEY, rows.getvalue())


@pytest.mark.parametrize("damage", [_gone, _changed, _longer])
def test_publishing_again_looks_at_the_folder_and_repairs_it(tmp_path, store_uri, damage):
    case = case_in(tmp_path, store_uri)
    generation = whole_day(case, "first")
    first = publish(case, generation)
    whole = case.store.get(KEY)
    damage(case)
    assert publish(case, generation).version == first.version
    assert case.store.get(KEY) == whole


def test_what_cannot_be_repaired_any_more_is_named(tmp_path, store_uri):
    """The state that it was published from is gone, too."""
    case = case_in(tmp_path, store_uri)
    generation = whole_day(case, "first")
    publish(case, generation)
    close_through(case.store, "totals", "2026-03-01", int(generation))
    assert publish(case, generation).generation == int(generation)
    _changed(case)
    with pytest.raises(NotPublishedError, match="published, but gone or changed"):
        publish(case, generation)


def test_what_is_cut_short_says_nothing_of_itself_and_is_not_overwritten(tmp_path, store_uri):
    case = case_in(tmp_path, store_uri)
    generation = whole_day(case, "first")
    publish(case, generation)
    case.store.put(KEY, case.store.get(KEY)[:-9])
    with pytest.raises(NotPublishedError, match="move the file away"):
        publish(case, generation)
    case.store.delete(KEY)
    publish(case, generation)
    assert visible(case.store) == ["totals.parquet"]


def result_of(case: DayCase) -> ArtifactPartition:
    at = latest_generation(case.store, "totals", DAY)
    result = read_commit(case.store, at, 2).result if at else None
    assert result is not None
    return result


def test_an_older_generation_that_comes_late_changes_nothing(tmp_path, store_uri):
    """It had looked at the pointer before the newer one was published: only the file can tell."""
    case = case_in(tmp_path, store_uri)
    whole_day(case, "slow")
    late = result_of(case)
    publish(case, whole_day(case, "cleared"))
    before = case.store.find(KEY)
    stamp = Stamp(report="totals", day="2026-03-01", version="1-2-a1", generation=1)
    with pytest.raises(NotPublishedError, match="generation 1 is older"):
        publish_partition(case.store, late, case.spec.sink, stamp)
    assert case.store.find(KEY) == before


def test_a_result_that_changes_while_it_is_read_is_not_published(tmp_path, monkeypatch):
    case = case_in(tmp_path, (tmp_path / "store").as_uri())
    generation = whole_day(case, "first")
    result, real = result_of(case), partition_sink._one_file

    def read_late(store, result, stamp, column):
        other = io.BytesIO()
        pq.write_table(pa.table({"shop": ["2026-03-01"], "amount": [999]}), other)
        store.put(f"{result.folder}/{result.files[0].name}", other.getvalue())
        return real(store, result, stamp, column)

    monkeypatch.setattr(partition_sink, "_one_file", read_late)
    with pytest.raises(ArtifactError, match=result.files[0].name):
        publish(case, generation)
    assert case.store.find(KEY) is None


def test_a_file_that_changed_since_it_was_looked_at_is_looked_at_again(tmp_path, monkeypatch):
    case = case_in(tmp_path, (tmp_path / "store").as_uri())
    publish(case, whole_day(case, "first"))
    whole_day(case, "second")
    late, real = result_of(case), FileStore.put_if_match
    newest = whole_day(case, "third")

    def overtaken(self, key, data, tag):
        monkeypatch.setattr(FileStore, "put_if_match", real)
        publish(case, newest)
        return real(self, key, data, tag)

    monkeypatch.setattr(FileStore, "put_if_match", overtaken)
    stamp = Stamp(report="totals", day="2026-03-01", version="2-2-a1", generation=2)
    with pytest.raises(NotPublishedError, match="is generation 3"):
        publish_partition(case.store, late, case.spec.sink, stamp)
    assert read_stamp(case.store.get(KEY)).generation == 3


def test_readers_see_one_whole_version_at_every_moment(tmp_path, store_uri):
    case = case_in(tmp_path, store_uri)
    generations = [whole_day(case, str(i)) for i in range(8)]
    publish(case, generations[0])
    seen: list[tuple[list[str], int]] = []
    over = threading.Event()

    def read() -> None:
        store = case.store
        while not over.is_set():
            names = visible(store)
            stamp = read_stamp(store.get(KEY))
            seen.append((names, stamp.generation if stamp else 0))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for generation in generations[1:]:
            publish(case, generation)
    finally:
        over.set()
        reader.join()
    assert {tuple(names) for names, _ in seen} == {("totals.parquet",)}
    versions = [generation for _, generation in seen]
    assert versions == sorted(versions)
    assert versions[0] >= 1


WRITES = ("put", "put_if_absent", "put_if_match", "copy", "delete")


def killed_at(number: int, after: bool, work: Callable[[], object]) -> bool:
    """Do ``work`` in a process that is killed at its write ``number``; false if it has no more."""
    child = os.fork()
    if child == 0:
        left = [number]

        def dying(real):
            def call(self, *arguments):
                left[0] -= 1
                if left[0] == 0 and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                answer = real(self, *arguments)
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return answer

            return call

        for name in WRITES:
            setattr(FileStore, name, dying(getattr(FileStore, name)))
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def deaths() -> Iterator[tuple[int, bool]]:
    for number in range(1, 100):
        yield number, False
        yield number, True


def test_a_kill_at_any_write_leaves_a_whole_version_and_a_retry_finishes(tmp_path):
    case = case_in(tmp_path, (tmp_path / "store").as_uri())
    publish(case, whole_day(case, "first"))
    states = set()
    for number, after in deaths():
        generation = whole_day(case, f"cleared {number} {after}")
        if not killed_at(number, after, lambda name=generation: publish(case, name)):
            break
        assert visible(case.store) == ["totals.parquet"]
        stamp = read_stamp(case.store.get(KEY))
        pointer = read_pointer(case.store, "totals", DAY)
        new = int(generation)
        assert stamp is not None
        assert pointer is not None
        assert (stamp.generation, pointer.generation) in {
            (new - 1, new - 1), (new, new - 1), (new, new),
        }  # fmt: skip
        states.add((stamp.generation - new, pointer.generation - new))
        assert publish(case, generation).generation == new
        assert read_stamp(case.store.get(KEY)).generation == new
    assert states == {(-1, -1), (0, -1), (0, 0)}


def test_files_of_others_are_never_touched_and_never_mixed_with(tmp_path, store_uri):
    case = case_in(tmp_path, store_uri)
    generation = whole_day(case, "first")
    case.store.put(f"{FOLDER}/part-0.parquet", b"somebody's")
    case.store.put(f"{FOLDER}/_SUCCESS", b"")
    with pytest.raises(NotPublishedError, match=r"holds part-0\.parquet, which this report"):
        publish(case, generation)
    assert read_pointer(case.store, "totals", DAY) is None
    assert visible(case.store) == ["part-0.parquet"]
    case.store.delete(f"{FOLDER}/part-0.parquet")
    publish(case, generation)
    assert visible(case.store) == ["totals.parquet"]


def test_a_file_of_the_same_name_that_was_not_published_stays(tmp_path):
    case = case_in(tmp_path, (tmp_path / "store").as_uri())
    generation = whole_day(case, "first")
    case.store.put(KEY, b"precious")
    with pytest.raises(NotPublishedError, match=r"and is not totals of 2026-03-01"):
        publish(case, generation)
    assert case.store.get(KEY) == b"precious"


def written(store: Store, *tables: pa.Table) -> ArtifactPartition:
    for number, rows in enumerate(tables):
        sink = io.BytesIO()
        pq.write_table(rows, sink)
        store.put(f"made/part-{number}.parquet", sink.getvalue())
    return describe_partition(
        store, family="result", run=2, attempt="a", folder="made", rows=0, columns=()
    )


STAMP = Stamp(report="totals", day="2026-03-01", version="1-2-a", generation=1)


def test_several_files_become_one_in_order(tmp_path):
    store = FileStore(tmp_path)
    parts = [pa.table({"n": [3, 1]}), pa.table({"n": pa.array([], pa.int64())}),
             pa.table({"n": [2, None]})]  # fmt: skip
    sink = PartitionFolder(path=str(tmp_path / "t"))
    uri, (file,) = publish_partition(store, written(store, *parts), sink, STAMP)
    data = locate(uri).store.get(f"{locate(uri).key}/{file.name}")
    assert len(data) == file.size
    assert pq.read_table(io.BytesIO(data))["n"].to_pylist() == [3, 1, 2, None]


def test_results_that_cannot_be_one_file_are_refused(tmp_path, monkeypatch):
    store, sink = FileStore(tmp_path), PartitionFolder(path=str(tmp_path / "t"))
    with pytest.raises(NotPublishedError, match="nothing says what its columns are"):
        publish_partition(store, written(store), sink, STAMP)
    result = written(store, pa.table({"n": [1]}))
    big = replace(result, files=(replace(result.files[0], size=2 << 30),))
    with pytest.raises(NotPublishedError, match="2,147,483,648 bytes"):
        publish_partition(store, big, sink, STAMP)
    old = io.BytesIO()
    moments = pa.table({"at": pa.array([0], pa.timestamp("us"))})
    pq.write_table(moments, old, use_deprecated_int96_timestamps=True)
    store.put("made/part-0.parquet", old.getvalue())
    with pytest.raises(NotPublishedError, match="INT96"):
        publish_partition(store, result, sink, STAMP)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("column", ["k", "V"])
def test_a_column_of_the_result_is_no_column_of_the_partition(tmp_path, store_uri, column):
    sink = PartitionFolder(path=f"{store_uri}/warehouse/totals", column=column)
    case = DayCase(tmp_path, store_uri, sink={"sink": sink})
    with pytest.raises(NotPublishedError, match=f"the result has the column {column}"):
        publish(case, whole_day(case, "first"))
    assert not case.store.list("warehouse")
