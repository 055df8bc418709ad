"""Clean-up while a run reads what earlier runs have kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.include.state.commits import ArtifactError, read_commit
from forerun.include.state.fence import GenerationClosedError, close_through
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.spark_jobs import executor
from forerun.spark_jobs.engines.sail import SailEngine
from tests.spark.places import FIRST, Place


@pytest.fixture
def place(tmp_path: Path, sail: SailEngine) -> Place:
    place = Place(tmp_path, sail)
    place.deliver(1, [(1, "a", 5), (2, "b", 7), (3, "a", 1)], [(1, 10), (2, 20), (9, 1)])
    return place


@pytest.fixture
def first(place: Place) -> Generation:
    """A report that has kept something in its early run, before more came."""
    at = place.open("first", FIRST)
    assert place.run(at, FIRST, 1).artifacts
    place.deliver(2, [(3, "a", 5)], [(3, 2)])
    return at


def a_kept_file(place: Place, at: Generation) -> str:
    """The key of a file of the rows that the first run has kept."""
    partition = read_commit(open_store(place.uri), at, 1).artifacts[0]
    return f"{partition.folder}/{partition.files[0].name}"


def before_the_stages(monkeypatch: pytest.MonkeyPatch, happens) -> None:
    """Let something happen when the inputs are verified and bound, and not read yet."""
    run = executor._run_stages

    def stages(work, progress):
        happens()
        return run(work, progress)

    monkeypatch.setattr(executor, "_run_stages", stages)


@pytest.mark.parametrize("emptied", [False, True])
def test_a_run_whose_generation_closes_while_it_reads_is_not_committed(
    place: Place, first: Generation, monkeypatch, emptied
) -> None:
    prepared = place.plan(first, FIRST, 2)
    store = open_store(place.uri)

    def close() -> None:
        close_through(store, "first", first.day, int(first.generation))
        if emptied:  # what Spark then sees of a partition: a folder without rows
            for family in prepared.result.plan.families:
                place.engine.open_family(family, store.uri(f"{first.artifacts}/{family.id}"))

    before_the_stages(monkeypatch, close)
    with pytest.raises(GenerationClosedError):
        place.do(prepared)
    assert read_commit(store, first, 2) is None


def test_a_partition_that_is_gone_after_it_was_read_fails_the_run(
    place: Place, first: Generation, monkeypatch
) -> None:
    prepared, store, key = (
        place.plan(first, FIRST, 2),
        open_store(place.uri),
        a_kept_file(place, first),
    )
    run = executor._run_stages

    def then_gone(work, progress):
        records = run(work, progress)
        store.delete(key)
        return records

    monkeypatch.setattr(executor, "_run_stages", then_gone)
    with pytest.raises(ArtifactError, match="is named by the commit, but is gone"):
        place.do(prepared)
    assert read_commit(store, first, 2) is None


def test_a_partition_that_is_another_one_while_it_is_read_fails_the_run_and_is_not_remembered(
    place: Place, first: Generation, monkeypatch
) -> None:
    """A file of the same name and size, put there by somebody else after the run has looked."""
    prepared, store, key = (
        place.plan(first, FIRST, 2),
        open_store(place.uri),
        a_kept_file(place, first),
    )
    whole = store.get(key)

    before_the_stages(monkeypatch, lambda: store.put(key, _with_another_writer(whole)))
    with pytest.raises(ArtifactError, match="has other content than when it was committed"):
        place.do(prepared)
    assert read_commit(store, first, 2) is None
    monkeypatch.undo()
    store.put(key, whole)
    place.do(prepared)
    commit = read_commit(store, first, 2)
    assert commit.result.attempt == commit.attempt


def _with_another_writer(parquet: bytes) -> bytes:
    """The same rows and size, other bytes: the footer names another version of its writer."""
    at = parquet.rindex(b"version ") + len(b"version ")
    return parquet[:at] + bytes([parquet[at] ^ 1]) + parquet[at + 1 :]


@pytest.mark.parametrize("what", ["file", "folder", "all"])
def test_state_that_goes_before_it_is_bound_is_said_to_be_gone(
    place: Place, first: Generation, monkeypatch, what
) -> None:
    """Between the look at it and the engine's own: the engine's error would name no reason."""
    prepared = place.plan(first, FIRST, 2)
    store, key = open_store(place.uri), a_kept_file(place, first)
    bind = executor.bind_inputs

    def late(engine, reads, inputs):
        folder = key.rpartition("/")[0]
        taken = {"file": [key], "folder": [f.key for f in store.list(folder)]}
        for one in taken.get(what) or [f.key for f in store.list(first.artifacts)]:
            store.delete(one)
        bind(engine, reads, inputs)

    monkeypatch.setattr(executor, "bind_inputs", late)
    with pytest.raises(ArtifactError, match="is named by the commit, but is gone"):
        place.do(prepared)
