"""Engines for the tests of the job: one Sail server and one Spark session for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from include.machine.jvm import submit_options
from spark_jobs.connect import ConnectEngine, start_sail
from tests.spark.days import Day


@pytest.fixture(scope="session")
def sail() -> Iterator[ConnectEngine]:
    engine = start_sail()
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """Spark itself, in whose executors Python cannot be started: no run may need it there."""
    from spark_jobs.classic import start_spark

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", "/no/such/python")
        engine = _started(start_spark)
    yield engine
    engine.stop()


def _started(start_spark: object) -> object:
    engine = start_spark(
        master="local[2]",
        options=(
            *submit_options("", tiny=True),
            ("spark.sql.shuffle.partitions", "3"),
            ("spark.driver.memory", "1g"),
        ),
    )
    engine.session.sparkContext.setLogLevel("ERROR")
    return engine


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)
