"""One contract for every store: a folder, and buckets of real servers."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.state.layout import PROBE_KEY
from forerun.include.state.probe import probe
from forerun.include.stores import open_store
from forerun.include.stores.store import (
    MissingKeyError,
    StoreError,
    UnsafeStoreError,
    put_or_get,
)
from tests.include.state.racers import ROUNDS


@pytest.fixture
def store(store_uri):
    return open_store(store_uri)


def race(uri: str, what: str, processes: int) -> list[str]:
    command = [sys.executable, "-m", "tests.include.state.racers", uri, what, str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_a_store_gives_back_what_was_put(store, store_uri):
    assert store.root == store_uri
    assert store.find("a/b") is None
    assert store.stat("a/b") is None
    with pytest.raises(MissingKeyError, match="a/b is not in the store"):
        store.get("a/b")
    store.put("a/b", b"one")
    store.put("a/b", b"three")
    assert store.get("a/b") == store.find("a/b").data == b"three"
    assert store.stat("a/b").size == 5
    assert store.stat("a/b") == store.list("a")[0]
    assert store.uri("a/b") == store_uri.replace("s3://", "s3a://") + "/a/b"
    store.delete("a/b")
    store.delete("a/b")
    assert store.find("a/b") is None


def test_listing_is_recursive_sorted_and_ends_at_folder_names(store):
    assert store.list("x") == store.folders("x") == ()
    for key in ("x/2/b", "x/10/a", "x/c", "xy/d"):
        store.put(key, key.encode())
    assert [f.key for f in store.list("x")] == ["x/10/a", "x/2/b", "x/c"]
    assert [f.size for f in store.list("x")] == [6, 5, 3]
    assert store.folders("x") == ("10", "2")


@pytest.mark.slow
@pytest.mark.s3
def test_more_keys_than_one_page_of_a_listing(moto_bucket):
    store = open_store(moto_bucket)
    for number in range(1003):
        store.put(f"many/{number:04d}", b"")
    assert len(store.list("many")) == 1003


def test_identity_changes_when_a_file_is_written_again(store):
    store.put("a/b", b"one")
    before = store.stat("a/b").identity
    store.put("a/b", b"two")
    assert store.stat("a/b").identity != before


def test_a_put_if_absent_is_taken_once(store):
    assert store.put_if_absent("a/b", b"first")
    assert not store.put_if_absent("a/b", b"second")
    assert store.get("a/b") == b"first"
    assert put_or_get(store, "a/b", b"second") == (b"first", False)
    # The same bytes again: the answer to our first put was lost, so it is ours.
    assert put_or_get(store, "a/b", b"first") == (b"first", True)


def test_a_put_if_match_needs_the_current_tag(store):
    assert not store.put_if_match("a/b", b"0", "no such tag")
    assert store.find("a/b") is None
    store.put("a/b", b"1")
    old = store.find("a/b").tag
    assert store.put_if_match("a/b", b"2", old)
    assert not store.put_if_match("a/b", b"3", old)
    assert store.get("a/b") == b"2"
    store.delete("a/b")
    assert not store.put_if_match("a/b", b"4", old)


def test_copies_are_whole(store):
    store.put("a/b", b"x" * 100_000)
    store.copy("a/b", "c/d/e")
    assert store.get("c/d/e") == b"x" * 100_000
    with pytest.raises(StoreError):
        store.copy("nothing/here", "c/f")
    assert store.find("c/f") is None


def test_footers_are_read_by_random_access(store):
    table = pa.table({"a": pa.array(range(200_000), pa.int64())})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False)
    store.put("big.parquet", sink.getvalue().to_pybytes())
    with store.open("big.parquet") as file, pq.ParquetFile(file) as parquet:
        assert parquet.metadata.num_rows == 200_000
        assert parquet.read().equals(table)
    with pytest.raises(MissingKeyError):
        store.open("none.parquet")


@pytest.mark.parametrize("key", ["", "/a", "a//b", "../a", "a/../b", "a/.", "a\0b"])
def test_keys_stay_below_the_root(store, key):
    for use in (store.find, store.uri, store.delete, lambda k: store.put(k, b"")):
        with pytest.raises(StoreError, match="is not a key"):
            use(key)


def test_of_sixteen_processes_one_puts(store_uri):
    assert sorted(race(store_uri, "put", 16)) == ["lost"] * 15 + ["won"]
    data = open_store(store_uri).get("raced/key")
    assert data == data[: len(data) // 1000] * 1000  # one writer's bytes, whole


def test_of_sixteen_processes_one_commits(store_uri):
    assert sorted(race(store_uri, "commit", 16)) == ["lost"] * 15 + ["won"]


def test_no_increment_is_lost_between_processes(store_uri):
    assert race(store_uri, "count", 6) == [str(ROUNDS)] * 6
    assert open_store(store_uri).get("raced/counter") == str(6 * ROUNDS).encode()


def test_the_probe_is_not_misled_by_answers_that_get_lost(store, monkeypatch):
    """The client then tries again by itself, and finds its own first try in the way."""
    kind = type(store)
    absent, match, lost = kind.put_if_absent, kind.put_if_match, {"absent", "match"}

    def put_if_absent(self, key, data):
        done = absent(self, key, data)
        return False if lost & {"absent"} and not lost.discard("absent") else done

    def put_if_match(self, key, data, tag):
        done = match(self, key, data, tag)
        return False if lost & {"match"} and not lost.discard("match") else done

    monkeypatch.setattr(kind, "put_if_absent", put_if_absent)
    monkeypatch.setattr(kind, "put_if_match", put_if_match)
    probe(store)
    assert not lost


def test_the_probe_passes_once_and_is_remembered(store, monkeypatch):
    probe(store)
    assert [f.key for f in store.list("probe")] == [PROBE_KEY]
    monkeypatch.setattr(type(store), "put_if_absent", lambda *_: pytest.fail("probed again"))
    probe(store)


@pytest.mark.parametrize("broken", ["put_if_absent", "put_if_match"])
def test_the_probe_refuses_a_store_that_ignores_conditions(store, monkeypatch, broken):
    def always(self, key, data, *_tag):
        self.put(key, data)
        return True

    monkeypatch.setattr(type(store), broken, always)
    for _ in range(2):  # a refusal is not remembered as a success
        with pytest.raises(UnsafeStoreError, match="ignores conditional puts"):
            probe(store)
    assert store.list("probe") == ()


@pytest.mark.parametrize("uri", ["", "http://x/y", "s3://", "file://host/x", "gs://b"])
def test_other_uris_are_refused(uri):
    with pytest.raises(StoreError, match="not the URI of a store"):
        open_store(uri)
