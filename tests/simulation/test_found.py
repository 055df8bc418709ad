"""Faults of the product that schedules have found and that few schedules find, played by hand."""

from __future__ import annotations

import datetime as dt

import pytest

from forerun.include.sources.delivery import SourceChangedError
from forerun.include.state.records import ArtifactPartition, RunCommit
from forerun.include.stores.store import StoreDownError
from forerun.spark_jobs import stages
from forerun.spark_jobs.failures import StageError
from tests.simulation import doors
from tests.simulation.actors import Cast, Day, do_run
from tests.simulation.clock import Clock
from tests.simulation.engine import TinyEngine, parquet, rows_of
from tests.simulation.invariants import Invariants
from tests.simulation.mutations import rewritten
from tests.simulation.oracle import Oracle
from tests.simulation.plans import Style
from tests.simulation.policies import ScriptPolicy
from tests.simulation.scenario import make_spec, source_folder
from tests.simulation.scheduler import World
from tests.simulation.store import Bucket

DATE = dt.date(2026, 3, 1)
BEFORE, MEANWHILE = ((1, 10),), ((1, 999),)


def _sums_of_a_retry(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """A file is another one while the first attempt reads it, and back when the second comes."""
    file = f"{source_folder(DATE)}/f0.parquet"
    bucket = cast.watch.bucket
    bucket.put(file, parquet(BEFORE))
    day = Day(spec=make_spec("totals", 2, results_at=(1,), sink=False), day=DATE, trigger="first")
    ready = day.plan(cast, day.open(cast), 1)
    read = TinyEngine._rows

    def changed(engine, files):
        bucket.put(file, parquet(MEANWHILE))
        return read(engine, files)

    def dies(*_args: object, **_more: object) -> int:
        raise StoreDownError("no answer", hint="")

    with monkeypatch.context() as first:
        first.setattr(TinyEngine, "_rows", changed)
        first.setattr(TinyEngine, "write_result", dies)
        with pytest.raises((SourceChangedError, StageError, StoreDownError)):
            do_run(cast, ready.plan_uri)
    bucket.put(file, parquet(BEFORE))
    commit: RunCommit = do_run(cast, ready.plan_uri)
    return [row for part in commit.artifacts for row in _rows(bucket, part)]


def _rows(bucket: Bucket, part: ArtifactPartition) -> list[tuple[int, int]]:
    names = [f"store/{part.folder}/{file.name}" for file in part.files]
    return [row for name in names for row in rows_of(bucket.objects[name].data)]


@pytest.mark.parametrize("looks", [True, False])
def test_a_stage_is_not_recorded_of_a_file_that_was_another_one_meanwhile(monkeypatch, looks):
    look = "    verify_stage_read(work.store, work.inputs, stage, done)"
    blind = [(stages.run_stage, rewritten(stages.run_stage, ((look, "    pass"),)))]
    with doors.installed([] if looks else blind):
        world = World(ScriptPolicy([], []), Clock())
        bucket = Bucket(world, "s3")
        doors.STAGE.set(bucket, {"totals": Style()})
        cast = Cast(world, Invariants(world, bucket, Oracle(bucket)), lambda error: True)
        found = _sums_of_a_retry(cast, monkeypatch)
    assert found == list(BEFORE if looks else MEANWHILE)
