"""Clean-up beside a report at work: whatever the order of their steps, what counts is whole."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest

from forerun.include.days import handle, publishing
from forerun.include.days.publishing import published_folder
from forerun.include.runs.prepare import (
    NotPublishedError,
    latest_generation,
    publish_result,
    read_pointer,
)
from forerun.include.state import commits, expire
from forerun.include.state.expire import Retention
from forerun.include.state.fence import GenerationClosedError, close_through, closed_through
from forerun.include.state.layout import Generation, results_folder
from forerun.include.stores.file_store import FileStore
from tests.include.days.day_cases import DAY, NOW, DayCase, later

NOTHING = Retention(days=0, generations=1, versions=1, orphan_hours=0)
AT = Generation("totals", DAY.isoformat(), "1")
FOLDER = results_folder("totals", DAY.isoformat())


@pytest.fixture
def case(tmp_path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri())


def publish(case: DayCase, generation: str):
    return publish_result(case.day(generation), now=NOW)


def whole_day(case: DayCase, trigger: str = "first") -> str:
    case.deliver("1", (1, 2))
    generation = case.open(trigger)
    case.commit(case.prepare(generation, 1))
    case.commit(case.prepare(generation, 2))
    return generation


def close(case: DayCase, number: int = 1) -> None:
    close_through(case.store, "totals", DAY.isoformat(), number)


def copies(case: DayCase) -> list[str]:
    """What lies among the published versions of the day, pointer or not."""
    return [f.key for f in case.store.list(FOLDER) if not f.key.endswith("/pointer.json")]


def all_there(case: DayCase, pointer) -> bool:
    folder = published_folder(pointer)
    files = {file.key: file.size for file in case.store.list(folder)}
    return files == {f"{folder}/{file.name}": file.size for file in pointer.files}


def test_no_option_deletes_what_is_younger_than_a_day(case):
    publish(case, whole_day(case))
    case.store.put(f"{AT.artifact('f_x', 1, 'lost')}/part-0.parquet", b"rows")
    before = {file.key for file in case.store.list("reports")}
    assert expire.expire(case.store, "totals", NOTHING).files == 0
    assert {file.key for file in case.store.list("reports")} == before
    assert closed_through(case.store, "totals", DAY.isoformat()) == 0


@pytest.mark.parametrize("hours", [-49, 49])
def test_ages_are_by_the_clock_of_the_store_and_not_of_the_host(case, monkeypatch, hours):
    publish(case, whole_day(case))
    stored = FileStore._stored

    def shifted(store, path, status):
        found = stored(store, path, status)
        return expire.replace(found, modified=found.modified + hours * 3600)

    monkeypatch.setattr(FileStore, "_stored", shifted)
    assert expire.expire(case.store, "totals", NOTHING).files == 0


def test_no_generation_of_a_day_goes_while_one_of_them_is_at_work(case):
    for trigger in ("a", "b"):
        whole_day(case, trigger)
    days_ago = time.time() - 3 * 86400
    young, *old = (case.store.path(file.key) for file in case.store.list("reports"))
    for path in old:
        os.utime(path, (days_ago, days_ago))
    assert expire.expire(case.store, "totals", NOTHING).files == 0
    os.utime(young, (days_ago, days_ago))
    assert expire.expire(case.store, "totals", NOTHING).files == 1 + len(old)
    assert case.store.list("reports") == ()


def test_nothing_counts_in_a_generation_after_it_is_closed(case):
    generation = whole_day(case)
    prepared = case.prepare(case.open("second"), 1)
    close(case, 2)
    with pytest.raises(GenerationClosedError, match="generation 2 of totals"):
        case.commit(prepared)
    with pytest.raises(GenerationClosedError, match="generation 1 of totals"):
        case.prepare(generation, 2)
    with pytest.raises(GenerationClosedError):
        publish(case, generation)
    assert latest_generation(case.store, "totals", DAY) is None
    assert read_pointer(case.store, "totals", DAY) is None
    assert case.open("first") == "3"  # the trigger of a closed generation opens a new one


def test_a_generation_that_closes_while_a_commit_is_put_is_void(case, monkeypatch):
    case.deliver("1", (1, 2))
    generation = case.open()
    prepared = case.prepare(generation, 1)
    put = commits.put_or_get

    def close_first(store, key, data):
        close(case)
        return put(store, key, data)

    monkeypatch.setattr(commits, "put_or_get", close_first)
    with pytest.raises(GenerationClosedError):
        case.commit(prepared)
    with pytest.raises(GenerationClosedError):
        case.prepare(generation, 2)


def test_a_generation_that_closes_while_it_is_planned_gives_no_plan(case, monkeypatch):
    case.deliver("1", (1, 2))
    generation = case.open()
    listed = FileStore.list

    def close_then_list(store, prefix):
        if prefix.endswith("/commits"):
            close(case)
        return listed(store, prefix)

    monkeypatch.setattr(FileStore, "list", close_then_list)
    with pytest.raises(GenerationClosedError):
        case.prepare(generation, 1)


def test_a_generation_that_closes_while_it_is_published_moves_no_pointer(case, monkeypatch):
    generation = whole_day(case)
    compare = publishing._published

    def close_then_compare(store, folder, result):
        close(case)
        return compare(store, folder, result)

    monkeypatch.setattr(publishing, "_published", close_then_compare)
    with pytest.raises(GenerationClosedError):
        publish(case, generation)
    assert read_pointer(case.store, "totals", DAY) is None


def test_what_a_killed_first_publication_has_copied_goes_with_the_clean_up(case, monkeypatch):
    """Nothing of the day is ever published: there is no pointer to look beside."""
    generation = whole_day(case)

    def killed(*_of: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(publishing, "_published", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(case, generation)
    assert copies(case)
    expire.expire(case.store, "totals", Retention())
    assert copies(case)  # they are young
    monkeypatch.setattr(expire, "FLOOR", timedelta(days=-1))
    expire.expire(case.store, "totals", Retention())
    assert copies(case) == []
    assert read_pointer(case.store, "totals", DAY) is None
    assert all_there(case, publish(case, generation))


@pytest.mark.parametrize("swept", [0, 1])
def test_clean_up_tells_a_first_publication_that_its_copies_are_gone(case, monkeypatch, swept):
    generation = whole_day(case)
    monkeypatch.setattr(expire, "FLOOR", timedelta(days=-1))
    if swept:
        case.store.put(f"{FOLDER}/1-2-killed/part-0.parquet", b"PAR1")
        expire.expire(case.store, "totals", Retention())
    look, calls = handle.refuse_closed, []

    def clean_up_then_look(store, at):
        look(store, at)
        calls.append(at)
        if len(calls) == 2:  # the copies are compared, and the pointer is about to name them
            assert expire.expire(case.store, "totals", Retention()).files > 0

    monkeypatch.setattr(handle, "refuse_closed", clean_up_then_look)
    pointer = publish(case, generation)
    assert len(calls) == 3
    assert pointer.swept == swept + 1
    assert all_there(case, pointer)


def test_clean_up_that_takes_a_copy_away_makes_the_publisher_copy_again(case, monkeypatch):
    """The copies are compared, then deleted, then the pointer would move to them."""
    publish(case, whole_day(case))
    generation = whole_day(case, "cleared")
    monkeypatch.setattr(expire, "FLOOR", timedelta(days=-1))
    look, calls = handle.refuse_closed, []

    def clean_up_then_look(store, at):
        look(store, at)
        calls.append(at)
        if len(calls) == 2:  # the first is before anything is copied
            keep = Retention(versions=1, orphan_hours=-24)
            assert expire.expire(case.store, "totals", keep).files > 0

    monkeypatch.setattr(handle, "refuse_closed", clean_up_then_look)
    pointer = publish(case, generation)
    assert len(calls) == 3
    assert pointer == read_pointer(case.store, "totals", DAY)
    assert (pointer.generation, pointer.swept) == (2, 1)
    assert all_there(case, pointer)


def test_clean_up_that_a_publisher_overtakes_looks_again(case, monkeypatch):
    """Clean-up has chosen a copy to delete; then the pointer moves to it."""
    publish(case, whole_day(case))
    generation = whole_day(case, "cleared")
    monkeypatch.setattr(expire, "FLOOR", timedelta(days=-1))
    spare = expire._spare

    def choose_then_publish(store, folder, pointer, versions, floor):
        chosen = spare(store, folder, pointer, versions, floor)
        publish(case, generation)
        return chosen

    monkeypatch.setattr(expire, "_spare", choose_then_publish)
    expire.expire(case.store, "totals", Retention(versions=1))
    pointer = read_pointer(case.store, "totals", DAY)
    assert pointer.generation == 2
    assert all_there(case, pointer)


def test_notes_of_a_former_version_about_what_a_generation_keeps_go_with_it(case, monkeypatch):
    whole_day(case)
    (pin,) = {key.split("/")[1] for key in (f.key for f in case.store.list("sources"))}
    folder = f"sources/{pin}/{DAY.isoformat()}/kept"
    for report in ("totals", "other"):
        case.store.put(f"{folder}/{report}-1-run-1.json", b'{"record": "Offer"}')
    later(monkeypatch, days=3)
    expire.expire(case.store, "totals", NOTHING)
    left = [f.key for f in case.store.list(folder)]
    assert left == [f"{folder}/other-1-run-1.json"], "another report's note is not ours to delete"


def test_a_killed_clean_up_leaves_a_closed_generation_that_the_next_one_deletes(case, monkeypatch):
    generation = whole_day(case)
    later(monkeypatch, days=3)
    delete, deleted = FileStore.delete, []

    def die(store, key):
        if key.startswith("reports/"):
            deleted.append(key)
            if len(deleted) == 2:
                raise KeyboardInterrupt
        delete(store, key)

    with monkeypatch.context() as patched:
        patched.setattr(FileStore, "delete", die)
        with pytest.raises(KeyboardInterrupt):
            expire.expire(case.store, "totals", NOTHING)
    assert case.store.find(AT.record) is not None
    with pytest.raises(GenerationClosedError):
        case.prepare(generation, 2)
    with pytest.raises(GenerationClosedError):
        publish(case, generation)
    # Whatever the policy keeps now: what is closed does not come back.
    assert expire.expire(case.store, "totals", Retention()).files > 0
    assert case.store.list("reports") == ()
    assert case.open("again") == "2"


def test_what_an_attempt_at_an_uncommitted_run_has_written_stays(case, monkeypatch):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    lost, slow = (f"{AT.artifact('f_x', run, 'slow')}/part-0.parquet" for run in (1, 2))
    for key in (lost, slow):
        case.store.put(key, b"rows")
    later(monkeypatch, days=9)
    assert expire.expire(case.store, "totals", Retention()).files == 1
    assert case.store.find(lost) is None
    assert case.store.find(slow) is not None


def test_publishing_again_puts_back_what_is_gone(case):
    generation = whole_day(case)
    first = publish(case, generation)
    case.store.delete(f"{published_folder(first)}/{first.files[0].name}")
    again = publish(case, generation)
    assert again == read_pointer(case.store, "totals", DAY)
    assert (again.version, again.rows) == (first.version, first.rows)
    assert all_there(case, again)
    assert publish(case, generation) == again


def test_publishing_again_without_state_says_what_is_gone(case):
    generation = whole_day(case)
    first = publish(case, generation)
    close(case)
    assert publish(case, generation) == first
    case.store.delete(f"{published_folder(first)}/{first.files[0].name}")
    with pytest.raises(NotPublishedError, match=r"is published, but gone or changed; the state of"):
        publish(case, generation)
