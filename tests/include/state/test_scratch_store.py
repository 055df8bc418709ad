"""What is written to a scratch store is seen there, and never gets to the store below it."""

from __future__ import annotations

import pytest

from forerun.include.stores.file_store import FileStore
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import MissingKeyError, StoreError


@pytest.fixture
def base(tmp_path):
    store = FileStore(tmp_path / "store")
    store.put("a/old", b"old")
    store.put("a/b/old", b"below")
    return store


def test_reads_what_is_there_and_what_was_written_over_it(base):
    store = ScratchStore(base)
    assert (store.root, store.uri("a/old")) == (base.root, base.uri("a/old"))
    store.put("a/old", b"new")
    store.put("a/c/new", b"1")
    store.copy("a/b/old", "a/d/copy")
    assert [store.get(key) for key in ("a/old", "a/b/old", "a/d/copy")] == [
        b"new",
        b"below",
        b"below",
    ]
    assert [file.key for file in store.list("a")] == ["a/b/old", "a/c/new", "a/d/copy", "a/old"]
    assert store.folders("a") == ("b", "c", "d")
    assert store.open("a/old").read() == b"new"
    assert store.stat("a/old").size == 3
    assert store.checksum("a/d/copy") == base.checksum("a/b/old")
    store.delete("a/b/old")
    assert store.find("a/b/old") is store.stat("a/b/old") is None
    with pytest.raises(MissingKeyError, match="a/b/old is not in the store"):
        store.get("a/b/old")
    assert [file.key for file in base.list("a")] == ["a/b/old", "a/old"]
    assert base.get("a/old") == b"old"


def test_conditions_are_on_what_is_seen(base):
    store = ScratchStore(base)
    assert not store.put_if_absent("a/old", b"x")
    assert store.put_if_absent("a/new", b"x")
    assert not store.put_if_absent("a/new", b"y")
    tag = store.find("a/old").tag
    assert store.put_if_match("a/old", b"1", tag)
    assert not store.put_if_match("a/old", b"2", tag)
    assert not store.put_if_match("nothing", b"2", tag)
    assert store.get("a/old") == b"1"


def test_keys_stay_below_the_root(base):
    with pytest.raises(StoreError, match="not a key"):
        ScratchStore(base).put("a/../../x", b"")
