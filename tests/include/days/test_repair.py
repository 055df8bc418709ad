"""Repairs: what is found, what is refused, and that kills and races leave the day right."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from forerun.include.days.results import NoResultError
from forerun.include.past.repair import (
    NotRepairableError,
    Repair,
    SourcesMovedError,
    begin_repair,
    find_repair,
)
from forerun.include.runs.prepare import NotPublishedError, publish_result, read_pointer
from forerun.include.state.fence import close_through
from forerun.include.state.layout import Generation
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.scratch_store import ScratchStore
from forerun.planner.request import Settings
from tests.include.days.day_cases import DAY, EARLY, NOW, DayCase


@pytest.fixture
def case(tmp_path: Path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri())


def publish_day(case: DayCase) -> None:
    """A published day of two runs, each with a delivery."""
    generation = case.open()
    for run in (1, 2):
        case.deliver(str(run), *((k, run) for k in range(20)))
        case.commit(case.prepare(generation, run))
    publish_result(case.day(generation), now=NOW)


def look(case: DayCase, **asked: object) -> Repair:
    settings = asked.pop("settings", EARLY)
    return find_repair(case.store, case.spec, DAY, now=NOW, settings=settings, **asked)


def finish(case: DayCase, repair: Repair, attempt: str = "r1") -> int:
    """Do all of a repair; return the generation that is published then."""
    prepared = begin_repair(repair, now=NOW)
    if not prepared.skip_reason:
        case.commit(prepared, attempt)
    day = case.day(prepared.at.generation)
    return publish_result(day, now=NOW, run=repair.run).generation


def test_it_names_what_changed_and_changes_nothing(case: DayCase, tmp_path: Path):
    publish_day(case)
    case.deliver("late", (7, 7))
    case.deliver("1", (1, 1), (2, 2))
    (case.orders / "2.parquet").unlink()
    before = _files(tmp_path)
    repair = find_repair(ScratchStore(case.store), case.spec, DAY, now=NOW)
    assert {one.uri.rpartition("/")[2]: one.kind for one in repair.corrections} == {
        "late.parquet": "new",
        "1.parquet": "changed",
        "2.parquet": "vanished",
    }
    assert [one.now.rows if one.now else 0 for one in repair.corrections] == [2, 0, 1]
    assert _files(tmp_path) == before


def _files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_file_with_its_old_content_is_no_correction(case: DayCase):
    publish_day(case)
    os.utime(case.orders / "1.parquet", ns=(1, 1))
    assert not look(case).is_needed


def test_a_late_file_is_a_delta_over_what_is_left(case: DayCase):
    publish_day(case)
    case.deliver("late", (7, 7))
    repair = look(case)
    best = next(one for one in repair.plans if one.is_delta)
    deltas = [i for s in best.result.plan.run.stages for i in s.inputs if hasattr(i, "version")]
    assert {one.version for one in deltas} == {"delta"}
    assert finish(case, repair) == 2
    pointer = read_pointer(case.store, "totals", DAY)
    assert (pointer.run, pointer.version) == (3, "2-3-r1")
    assert not look(case).is_needed


def test_what_is_gone_is_read_from_copies_or_computed_anew(case: DayCase, tmp_path: Path):
    publish_day(case)
    old = tmp_path / "old"
    old.mkdir()
    shutil.move(case.orders / "1.parquet", old / "under another name.parquet")
    repair = look(case)
    assert not repair.best.is_delta
    assert "1.parquet, whose rows cannot be read any more" in repair.unusable[0].why
    repair = look(case, copies=(str(old),))
    assert not any("cannot be read" in one.why for one in repair.unusable)
    size = (old / "under another name.parquet").stat().st_size
    shutil.copy(case.orders / "2.parquet", old / "under another name.parquet")
    assert (old / "under another name.parquet").stat().st_size == size  # and other rows
    assert any("cannot be read" in one.why for one in look(case, copies=(str(old),)).unusable)


def test_without_state_the_day_is_computed_anew(case: DayCase):
    publish_day(case)
    case.deliver("late", (7, 7))
    close_through(case.store, "totals", DAY.isoformat(), 1)
    repair = look(case)
    assert [one.base for one in repair.plans] == [None]
    assert "clean-up has deleted it" in repair.unusable[0].why
    assert finish(case, repair) == 2


def test_an_artifact_that_is_gone_is_not_gone_on_from(case: DayCase):
    publish_day(case)
    case.deliver("late", (7, 7))
    lost = next(f.key for f in case.store.list("reports") if "/artifacts/f_" in f.key)
    case.store.delete(lost)
    assert any(lost in one.why for one in look(case).unusable)


def test_what_is_not_published_is_not_repaired(case: DayCase):
    case.deliver("1", (1, 1))
    with pytest.raises(NoResultError):
        look(case)
    publish_day(case)
    case.open("cleared")
    with pytest.raises(NotRepairableError, match=r"anew \(generation 2\), and that"):
        look(case)


def test_an_early_result_is_not_repaired(tmp_path: Path):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri(), results_at=(1,))
    case.deliver("1", (1, 1))
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    publish_result(case.day(generation), now=NOW, run=1)
    with pytest.raises(NotRepairableError, match="early result"):
        look(case)


def test_sources_that_move_meanwhile_are_looked_at_again(case: DayCase):
    publish_day(case)
    case.deliver("late", (7, 7))
    repair = look(case)
    case.deliver("later", (8, 8))
    with pytest.raises(SourcesMovedError):
        begin_repair(repair, now=NOW)
    assert read_pointer(case.store, "totals", DAY).generation == 1
    assert finish(case, look(case)) == 3


def test_two_at_once_are_one(case: DayCase):
    publish_day(case)
    case.deliver("late", (7, 7))
    one, other = look(case), look(case)
    first, second = begin_repair(one, now=NOW), begin_repair(other, now=NOW)
    assert first.at == second.at == Generation("totals", DAY.isoformat(), "2")
    assert case.commit(first, "one").attempt == case.commit(second, "other").attempt == "one"
    for repair in (one, other):
        assert publish_result(case.day("2"), now=NOW, run=repair.run).version == "2-3-one"


def test_a_day_that_is_cleared_after_it_comes_later(case: DayCase):
    """And neither the repair nor the first generation is published over it."""
    publish_day(case)
    case.deliver("late", (7, 7))
    repair = look(case)
    prepared = begin_repair(repair, now=NOW)
    case.commit(prepared, "r1")
    cleared = case.open("cleared")
    for run in (1, 2):
        case.commit(case.prepare(cleared, run))
    assert publish_result(case.day(cleared), now=NOW).generation == 3
    for generation, run in (("2", 3), ("1", 2)):
        with pytest.raises(NotPublishedError, match="is older"):
            publish_result(case.day(generation), now=NOW, run=run)
    assert not look(case).is_needed


class _Killed(BaseException):
    """The end of a process: nothing catches it."""


def test_killed_anywhere_it_goes_on(case: DayCase, tmp_path: Path, monkeypatch):
    """Before each write of the store in turn, and after it."""
    publish_day(case)
    case.deliver("late", (7, 7))
    shutil.copytree(tmp_path / "store", tmp_path / "before")
    step, done = 0, False
    while not done:
        shutil.rmtree(tmp_path / "store")
        shutil.copytree(tmp_path / "before", tmp_path / "store")
        with monkeypatch.context() as patch:
            _kill_at(patch, step)
            try:
                finish(case, look(case))
                done = True
            except _Killed:
                pointer = read_pointer(case.store, "totals", DAY)
                assert pointer.generation in (1, 2)
        if pointer.generation == 1 and not done:
            assert finish(case, look(case), "r2") == 2
        assert read_pointer(case.store, "totals", DAY).generation == 2
        assert not look(case).is_needed
        step += 1
    assert step >= 10


def _kill_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """Let the process die at the ``step // 2``-th write, before it (even) or after it (odd)."""
    left = [step // 2]

    def fatal(write):
        def call(*args: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == -1 and step % 2 == 0:
                raise _Killed
            given = write(*args, **named)
            if left[0] == -1:
                raise _Killed
            return given

        return call

    for name in ("put", "put_if_absent", "put_if_match", "copy"):
        patch.setattr(FileStore, name, fatal(getattr(FileStore, name)))


def test_estimates_choose_between_delta_and_anew(case: DayCase):
    publish_day(case)
    case.deliver("late", (7, 7))
    repair = look(case, settings=Settings())
    assert repair.best.cost == min(one.cost for one in repair.plans) <= repair.anew.cost
    assert [one.base for one in look(case, anew=True).plans] == [None]
