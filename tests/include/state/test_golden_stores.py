"""A store that an older version has left is gone on with: its published days are read, and the day
that it began is finished from the states that it kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run as command
from forerun.include.days.results import read_result
from forerun.include.engines import ENGINES
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.commits import read_commit
from forerun.include.stores.opening import open_store
from forerun.planner.contract import FamilyInput
from forerun.planner.version import VERSION
from forerun.spark_jobs.engine import Engine, start_engine
from tests.include.state import golden_store as golden

VERSIONS = sorted(path.name.removesuffix(".tar.xz") for path in golden.ARCHIVES.iterdir())


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    started = start_engine(ENGINES["sail"], master=None, name="golden")
    yield started
    started.stop()


@pytest.fixture(params=VERSIONS)
def unpacked(request: pytest.FixtureRequest) -> Iterator[str]:
    golden.unpack(request.param)
    yield golden.report().store
    shutil.rmtree(golden.FOLDER)


def test_every_version_has_left_its_store():
    assert VERSION in VERSIONS, "python -m tests.include.state.golden_store makes it"


def rows(store: str, day) -> list[tuple[object, ...]]:
    pointer = read_result(store, "by_category", day)
    files = [f"{pointer.folder}/{file.name}".removeprefix("file://") for file in pointer.files]
    found = pa.concat_tables(map(pq.read_table, files))
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_its_published_day_is_read(unpacked: str, capsys):
    assert rows(unpacked, golden.DAYS[0]) == golden.expected(golden.DAYS[0])
    assert command(["status", "--store", unpacked]) in (0, 1)
    assert "by_category" in capsys.readouterr().out
    assert command(["explain", "by_category", golden.DAYS[0].isoformat(), "--store", unpacked]) == 0


def test_the_day_that_it_began_is_finished_from_what_it_kept(unpacked: str, engine: Engine):
    day = golden.DAYS[1]
    handle = golden.open_day(day)
    golden.deliver(day, golden.RUNS)
    golden.do_run(engine, handle, golden.RUNS)
    golden.publish(handle)
    assert rows(unpacked, day) == golden.expected(day)
    commit = read_commit(open_store(unpacked), handle.at, golden.RUNS)
    final = StoredPlan.read(f"{unpacked}/{commit.plan}").plan.run
    assert any(isinstance(one, FamilyInput) for stage in final.stages for one in stage.inputs)
