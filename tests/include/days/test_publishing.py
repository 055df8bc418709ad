"""Publishing: all or nothing, once, never backwards; and the ledger."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from forerun.include.days import publishing
from forerun.include.days.instructions import Instruction, instruct
from forerun.include.days.ledger import read_history
from forerun.include.days.publishing import published_folder
from forerun.include.runs.prepare import (
    NotPublishedError,
    latest_generation,
    publish_result,
    read_findings,
    read_pointer,
)
from forerun.include.state.commits import ArtifactError, read_commit
from forerun.include.state.expire import Retention, expire
from forerun.include.state.layout import Generation, history_folder, history_key
from forerun.include.state.pointers import Overruled
from forerun.include.state.records import CheckRecord, encode
from forerun.include.stores.file_store import FileStore
from tests.include.days.day_cases import DAY, NOW, DayCase, later


@pytest.fixture
def case(tmp_path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri())


def publish(case: DayCase, generation: str):
    return publish_result(case.day(generation), now=NOW)


def whole_day(case: DayCase, trigger: str = "first", **commit) -> str:
    case.deliver("1", (1, 2))
    generation = case.open(trigger)
    case.commit(case.prepare(generation, 1))
    case.commit(case.prepare(generation, 2), **commit)
    return generation


def test_the_pointer_names_a_folder_with_the_result(tmp_path, store_uri):
    case = DayCase(tmp_path, store_uri)
    generation = whole_day(case)
    pointer = publish(case, generation)
    assert read_pointer(case.store, "totals", DAY) == pointer
    assert (pointer.version, pointer.generation, pointer.rows) == ("1-2-a1", 1, 1)
    folder = published_folder(pointer)
    assert folder.startswith("results/totals/2026-03-01/1-2-a1-")
    assert pointer.folder == case.store.uri(folder)
    (file,) = pointer.files
    with case.store.open(f"{folder}/{file.name}") as opened:
        assert pq.read_table(opened).to_pylist() == [{"k": 1, "v": 2}]
    before = case.store.list("results")
    assert publish(case, generation) == pointer
    assert case.store.list("results") == before


@pytest.mark.parametrize("torn", [lambda data: data[:-1], lambda data: data[:-1] + b"?"])
def test_a_copy_that_is_not_as_committed_moves_no_pointer(case, monkeypatch, torn):
    """Of the same size or not: each copy is compared with the commit before the pointer moves."""
    generation = whole_day(case)

    def copy_torn(store, source, target):
        store.put(target, torn(store.get(source)))

    monkeypatch.setattr(FileStore, "copy", copy_torn)
    with pytest.raises(NotPublishedError, match="was changed while it was published"):
        publish(case, generation)
    assert read_pointer(case.store, "totals", DAY) is None
    monkeypatch.undo()
    assert publish(case, generation) == read_pointer(case.store, "totals", DAY)


def test_nothing_is_published_before_the_final_commit(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    with pytest.raises(NotPublishedError, match="has not made a result"):
        publish(case, generation)
    case.commit(case.prepare(generation, 1))
    with pytest.raises(NotPublishedError, match="has not made a result"):
        publish(case, generation)
    with pytest.raises(NotPublishedError):
        read_findings(case.day(generation))
    assert read_pointer(case.store, "totals", DAY) is None


def test_an_older_generation_never_replaces_a_newer_one(case):
    old, new = whole_day(case), whole_day(case, "cleared")
    published = publish(case, new)
    with pytest.raises(NotPublishedError, match="generation 2 of totals, 2026-03-01, is published"):
        publish(case, old)
    assert read_pointer(case.store, "totals", DAY) == published


def test_a_newer_generation_replaces_an_older_one(case):
    first = publish(case, whole_day(case))
    second = publish(case, whole_day(case, "cleared"))
    assert read_pointer(case.store, "totals", DAY) == second
    assert FileStore(case.folder / "store").list(published_folder(first))


def test_a_publish_killed_before_the_pointer_moves_shows_the_old_version(case, monkeypatch):
    first = publish(case, whole_day(case))
    generation = whole_day(case, "cleared")

    def die(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(FileStore, "put_if_match", die)
    with pytest.raises(KeyboardInterrupt):
        publish(case, generation)
    assert read_pointer(case.store, "totals", DAY) == first
    monkeypatch.undo()
    assert publish(case, generation).generation == 2


def test_a_result_that_was_tampered_with_is_not_published(case):
    generation = whole_day(case)
    at = latest_generation(case.store, "totals", DAY)
    result = read_commit(case.store, at, 2).result
    key = f"{result.folder}/{result.files[0].name}"
    data = bytearray(case.store.get(key))
    data[100] ^= 1
    case.store.put(key, bytes(data))
    with pytest.raises(ArtifactError, match="has other content"):
        publish(case, generation)
    assert case.store.list("results") == ()


def failing(case: DayCase, severity: str) -> CheckRecord:
    key = f"reports/totals/2026-03-01/{case.open()}/checks/run-2-a1/result.json"
    finding = {"severity": severity, "outcome": "failed", "sentence": "v is too large",
               "rows": [{"k": 1}]}  # fmt: skip
    passed = {"severity": "critical", "outcome": "passed", "sentence": "fine"}
    case.store.put(key, json.dumps({"findings": [passed, finding]}).encode())
    critical = severity == "critical"
    return CheckRecord(target="result", key=key, critical=int(critical), warnings=int(not critical))


def test_a_critical_expectation_stops_publishing_and_says_what_it_saw(case):
    generation = whole_day(case, checks=(failing(case, "critical"),))
    with pytest.raises(NotPublishedError, match="1 critical expectations of totals did not hold"):
        publish(case, generation)
    (found,) = read_findings(case.day(generation))
    assert (found.severity, found.text) == (
        "critical", 'run 2, result: v is too large; such as {"k": 1}',
    )  # fmt: skip
    assert read_pointer(case.store, "totals", DAY) is None


def test_somebody_may_publish_all_the_same_and_readers_find_why(case):
    generation = whole_day(case, checks=(failing(case, "critical"),))
    told = Instruction(
        kind="publish-anyway", by="anna", at="2026-03-01T03:00:00+00:00", form="f",
        reason="the refund is real",
    )  # fmt: skip
    assert instruct(case.store, case.day(generation).at, told)
    published = publish(case, generation)
    assert published.overruled == Overruled(
        by="anna", at=told.at, reason="the refund is real",
        failed=('run 2, result: v is too large; such as {"k": 1}',),
    )  # fmt: skip
    assert read_pointer(case.store, "totals", DAY) == published
    assert publish(case, generation) == published, "it may be repeated"


def test_an_outcome_that_is_lost_still_blocks_and_can_be_overruled(case):
    check = failing(case, "critical")
    generation = whole_day(case, checks=(check,))
    case.store.delete(check.key)
    with pytest.raises(NotPublishedError, match="did not hold"):
        publish(case, generation)
    told = Instruction(kind="publish-anyway", by="anna", at="", form="f", reason="seen elsewhere")
    instruct(case.store, case.day(generation).at, told)
    (line,) = publish(case, generation).overruled.failed
    assert line == f"run 2, result: {check.key} is lost, or cannot be read"


def test_a_warning_publishes_and_says_so(case):
    generation = whole_day(case, checks=(failing(case, "warning"),))
    assert publish(case, generation).rows == 1
    (found,) = read_findings(case.day(generation))
    assert found.severity == "warning"


def test_the_ledger_has_every_committed_run_once(case):
    publish(case, whole_day(case))
    entries = read_history(case.store, "totals")
    assert [(e.day, e.run, e.arrived) for e in entries] == [
        ("2026-03-01", 1, (("orders", 1),)), ("2026-03-01", 2, (("orders", 1),)),
    ]  # fmt: skip
    assert entries[0].weight == 0.25
    assert entries[0].batch_cost > 0
    assert entries[0].state_bytes > 0


def test_a_publish_killed_after_the_pointer_moved_still_enters_the_ledger(case, monkeypatch):
    generation = whole_day(case)

    def die(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "record_history", die)
        with pytest.raises(KeyboardInterrupt):
            publish(case, generation)
    published = read_pointer(case.store, "totals", DAY)
    assert published is not None
    assert 2 not in {entry.run for entry in read_history(case.store, "totals")}
    assert publish(case, generation) == published
    assert 2 in {entry.run for entry in read_history(case.store, "totals")}


def test_generations_of_the_ledger_are_ordered_as_numbers(case):
    publish(case, whole_day(case))
    entry = read_history(case.store, "totals")[0]
    for number in ("10", "2", "9"):
        key = history_key(Generation("totals", DAY.isoformat(), number), 1)
        case.store.put(key, encode(replace(entry, generation=number)))
    newest = [entry.generation for entry in read_history(case.store, "totals")]
    assert newest == ["1", "1", "2", "9", "10"]
    assert [e.generation for e in read_history(case.store, "totals", newest=2)] == ["9", "10"]


def test_an_entry_of_the_ledger_that_cannot_be_read_is_passed_over(case, caplog):
    generation = whole_day(case)
    publish(case, generation)
    whole = read_history(case.store, "totals")
    case.store.put(f"{history_folder('totals')}/2020-01-01-1-run-1.json", b'{"record": "of 2030"}')
    assert read_history(case.store, "totals") == whole
    assert "2020-01-01-1-run-1.json" in caplog.text


def test_clean_up_keeps_what_commits_and_the_pointer_name(tmp_path, store_uri, monkeypatch):
    case = DayCase(tmp_path, store_uri)
    generation = whole_day(case)
    publish(case, generation)
    at = latest_generation(case.store, "totals", DAY)
    orphan = f"{at.artifact('f_x', 2, 'zombie')}/part-0.parquet"
    case.store.put(orphan, b"orphan")
    kept = {file.key for root in ("reports", "results", "sources", "history")
            for file in case.store.list(root)}  # fmt: skip
    assert expire(case.store, "totals", Retention()).files == 0  # it may still be running
    later(monkeypatch, days=9)
    assert expire(case.store, "totals", Retention(), dry_run=True).files == 1
    done = expire(case.store, "totals", Retention())
    assert (done.files, done.bytes) == (1, 6)
    left = {file.key for root in ("reports", "results", "sources", "history")
            for file in case.store.list(root)}  # fmt: skip
    assert left == kept - {orphan}
    assert publish(case, generation).version == "1-2-a1"


def test_clean_up_drops_old_generations_days_and_versions(case, monkeypatch):
    later(monkeypatch, days=9)
    for trigger in ("a", "b", "c", "d"):
        pointer = publish(case, whole_day(case, trigger))
    done = expire(case.store, "totals", Retention(generations=2, versions=2))
    assert done.files > 0
    assert case.store.folders("reports/totals/2026-03-01") == ("3", "4")
    kept = [name[:6] for name in case.store.folders("results/totals/2026-03-01")]
    assert kept == ["3-2-a1", "4-2-a1"]
    expire(case.store, "totals", Retention(days=0))
    assert case.store.list("reports") == ()
    assert replace(read_pointer(case.store, "totals", DAY), swept=0) == pointer
    assert publish(case, "4").folder == pointer.folder  # its state is gone, its files are not
    assert case.open("again") == "5"  # never a number that was published before
