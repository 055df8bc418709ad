"""A final run with checkpoints is ended in its last stage and goes on elsewhere: as another user,
in another folder, over S3."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from forerun.include.machine.job_archive import job_archive
from forerun.include.machine.jvm import driver_files
from forerun.include.state.commits import read_stage
from forerun.planner.algebra.types import BIGINT, STRING, decimal
from forerun.planner.api import plan
from forerun.planner.contract import Plan
from forerun.planner.request import (
    ColumnStats,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.chaos.drivers import Machine, finish, kill_when
from tests.spark.days import Day

pytestmark = pytest.mark.s3
SHOPS = "abc"
IDS, SALES = 3_000, 30_000
QUERY = """
SELECT a.shop, sum(a.digits) AS digits, sum(b.ways) AS ways FROM (
    SELECT shop, id, sum(length(sha2(repeat(shop, 40000), 256))) AS digits FROM sales GROUP BY 1, 2
) AS a JOIN (
    SELECT id, count(DISTINCT amount) AS ways FROM sales GROUP BY id
) AS b ON a.id = b.id GROUP BY a.shop
"""
"""Its digits take seconds, and are computed after what is stored."""
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can read."""
    made = Path(tempfile.mkdtemp(prefix="forerun-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def planned(interruptions: float) -> Plan:
    """The run as it is planned where it reads a thousand times the rows that are there."""
    rows = 1000 * SALES
    columns = (("id", BIGINT, IDS), ("shop", STRING, 3), ("amount", decimal(10, 2), 1000))
    sales = Source(
        name="sales",
        columns=tuple(SourceColumn(name=name, type=type_) for name, type_, _ in columns),
        rows=rows,
        bytes=30 * rows,
        stats=tuple((name, ColumnStats(distinct=values)) for name, _, values in columns),
    )
    request = PlanRequest(
        report="shops", sql=QUERY, sources=(sales,), points=(TimePoint(weight=1.0),),
        settings=Settings(interruptions=interruptions, own_batch="always"),
    )  # fmt: skip
    return plan(request).plan


def prepare(day: Day, interruptions: float) -> None:
    day.deliver([(at % IDS, SHOPS[at % 3], at % 100) for at in range(SALES)])
    found = planned(interruptions)
    day.plan_run(1, found.run.stages, final=True, families=found.families, method="own-batch")


@pytest.mark.parametrize(
    "engine",
    [
        "sail",
        pytest.param("spark", marks=[
            pytest.mark.slow, pytest.mark.spark,
            pytest.mark.skipif(driver_files().jars is None, reason="needs the S3A jars: make jars"),
        ]),
    ],
)  # fmt: skip
def test_a_preempted_run_goes_on_elsewhere(folder: Path, moto_bucket: str, engine: str) -> None:
    day, archive = Day(folder, f"{moto_bucket}/a/store"), job_archive(folder / "job")
    for path in (archive, archive.parent):
        path.chmod(0o755)
    prepare(day, 0.1)
    stages = [stage.id for stage in day.plan.run.stages]
    assert stages == ["checkpoint-1", "result"]

    def stored() -> bool:
        return read_stage(day.store, day.at, 1, "checkpoint-1") is not None

    assert kill_when(day, archive, "t1-00000000", engine, stored, signal.SIGTERM)
    home = folder / "other"
    home.mkdir()
    home.chmod(0o777)
    there = Machine(
        user=NOBODY if os.geteuid() == 0 else None,
        folder=str(home),
        variables=tuple((name, str(home)) for name in ("HOME", "FORERUN_HOME", "TMPDIR")),
    )
    commit = finish(day, archive, "t2-00000000", engine, there)
    first, last = commit.metrics.stages
    assert (first.reused, last.reused) == (True, False)
    assert commit.artifacts == ()  # no commit names a checkpoint
    assert sorted(day.rows(commit)) == [(shop, 64 * SALES // 3, IDS // 3) for shop in SHOPS]


def test_nothing_is_stored_where_runs_are_not_ended() -> None:
    assert [stage.id for stage in planned(0.0).run.stages] == ["result"]
    assert [stage.id for stage in planned(1e-6).run.stages] == ["result"]
