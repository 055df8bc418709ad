"""The chain of commits, and folders that are no longer what was committed."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from forerun.include.state.commits import (
    ArtifactError,
    CommitError,
    commit_run,
    describe_partition,
    read_chain,
    read_commit,
    read_stage,
    record_stage,
    verify_partition,
)
from forerun.include.state.layout import Generation
from forerun.include.state.records import RunCommit, StageMetrics, StageRecord
from forerun.include.stores import open_store
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.seal import seal, unseal

AT = Generation("totals", "2026-03-01", "1")
COLUMNS = (ColumnSpec(name="k", type="BIGINT"),)


@pytest.fixture
def store(store_uri):
    return open_store(store_uri)


def commit(run: int, base: int, attempt: str = "a") -> RunCommit:
    return RunCommit(run=run, base=base, attempt=attempt, plan="p", committed_at="t")


def test_the_chain_goes_from_the_latest_commit_by_its_bases(store):
    assert read_chain(store, AT) == []
    for run, base in ((1, 0), (3, 1)):
        commit_run(store, AT, commit(run, base))
    # Run 2 was slow: run 3 had been planned without it when it committed. It is not in the chain.
    commit_run(store, AT, commit(2, 1))
    assert [c.run for c in read_chain(store, AT)] == [1, 3]
    assert [c.run for c in read_chain(store, AT, tip=2)] == [1, 2]
    assert read_chain(store, AT, tip=0) == []


def test_a_run_is_committed_once(store):
    first = commit(1, 0, "one")
    assert commit_run(store, AT, first) == first
    assert commit_run(store, AT, commit(1, 0, "two")) == first
    assert commit_run(store, AT, first) == first
    assert read_commit(store, AT, 1) == first


def test_ten_runs_are_in_order_of_number(store):
    for run in range(1, 12):
        commit_run(store, AT, commit(run, run - 1))
    assert [c.run for c in read_chain(store, AT)] == list(range(1, 12))


def test_a_base_must_be_committed(store):
    with pytest.raises(CommitError, match="base 1, which is not committed"):
        commit_run(store, AT, commit(2, 1))
    assert read_chain(store, AT) == []


@pytest.mark.parametrize("edit", ["deleted", "other run", "loop"])
def test_a_broken_chain_is_refused(store, edit):
    commit_run(store, AT, commit(1, 0))
    commit_run(store, AT, commit(2, 1))
    one = store.get(AT.commit(1))
    if edit == "deleted":
        store.delete(AT.commit(1))
    elif edit == "other run":
        store.put(AT.commit(1), store.get(AT.commit(2)))
    else:
        store.put(AT.commit(1), seal({**unseal(one, "the commit")[0], "base": 1}))
    with pytest.raises(CommitError, match=r"commits/run-1\.json is missing or names another"):
        read_chain(store, AT)


def bucket(number: int) -> str:
    return f"part-00000-0a1b_{number:05d}.c000.snappy.parquet"


@pytest.fixture
def partition(store):
    folder = AT.artifact("f_1", 1, "a")
    for number in (0, 3):
        store.put(f"{folder}/{bucket(number)}", b"rows" * (number + 1))
    store.put(f"{folder}/_SUCCESS", b"")
    return describe(store)


def describe(store, buckets: int = 4):
    return describe_partition(
        store, family="f_1", run=1, attempt="a", folder=AT.artifact("f_1", 1, "a"), rows=5,
        columns=COLUMNS, key=("k",), buckets=buckets,
    )  # fmt: skip


def test_an_untouched_folder_is_what_its_commit_says(store, partition):
    assert [(f.name, f.size) for f in partition.files] == [(bucket(0), 4), (bucket(3), 16)]
    assert partition.bytes == 20
    assert all(f.checksum or f.identity for f in partition.files)
    verify_partition(store, partition)
    store.put(f"{partition.folder}/.part.crc", b"hidden files are not read by Spark")
    verify_partition(store, partition)


def test_a_flipped_byte_is_noticed(store, partition):
    key = f"{partition.folder}/{bucket(3)}"
    at = store.path(key).stat() if hasattr(store, "path") else None
    store.put(key, b"rows" * 3 + b"rowz")
    if at:  # nothing but the content gives it away
        os.utime(store.path(key), ns=(at.st_atime_ns, at.st_mtime_ns))
    with pytest.raises(ArtifactError, match=f"{bucket(3)} (has other content|was written again)"):
        verify_partition(store, partition)


def test_a_shorter_file_is_noticed(store, partition):
    store.put(f"{partition.folder}/{bucket(3)}", b"rows")
    with pytest.raises(ArtifactError, match="has 4 bytes instead of 16"):
        verify_partition(store, partition)


@pytest.mark.parametrize("name", [bucket(1), "x.parquet", f"sub/{bucket(1)}"])
def test_a_stray_file_is_refused(store, partition, name):
    store.put(f"{partition.folder}/{name}", b"of a zombie")
    with pytest.raises(ArtifactError, match="the commit does not name it"):
        verify_partition(store, partition)


def test_a_vanished_file_is_noticed(store, partition):
    store.delete(f"{partition.folder}/{bucket(0)}")
    with pytest.raises(ArtifactError, match=f"{bucket(0)} is named by the commit, but is gone"):
        verify_partition(store, partition)


def test_the_folder_of_another_attempt_is_not_looked_at(store, partition):
    store.put(f"{AT.artifact('f_1', 1, 'a2')}/{bucket(0)}", b"orphan")
    store.put(f"{AT.artifact('f_1', 1, 'ab')}/{bucket(0)}", b"orphan")
    verify_partition(store, partition)


def test_files_outside_the_buckets_are_refused(store, partition):
    with pytest.raises(ArtifactError, match=f"{bucket(3)} is not one of 2 buckets"):
        describe(store, buckets=2)
    with pytest.raises(ArtifactError, match="is not one of 3 buckets"):
        verify_partition(store, replace(partition, buckets=3))
    store.put(f"{partition.folder}/part-0.parquet", b"")
    with pytest.raises(ArtifactError, match=r"part-0\.parquet is not one of 4 buckets"):
        describe(store)


def stage(attempt: str, digest: str, output) -> StageRecord:
    return StageRecord(
        run=1, stage="s1", attempt=attempt, digest=digest, output=replace(output, attempt=attempt),
        metrics=StageMetrics(stage="s1"),
    )  # fmt: skip


def test_a_stage_is_recorded_once_unless_it_was_planned_differently(store, partition):
    assert read_stage(store, AT, 1, "s1") is None
    first = stage("a", "d1", partition)
    assert record_stage(store, AT, first) == first
    assert record_stage(store, AT, stage("b", "d1", partition)) == first
    other = stage("c", "d2", partition)
    assert record_stage(store, AT, other) == other
    assert read_stage(store, AT, 1, "s1") == other
