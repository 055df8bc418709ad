"""Engines for the tests of the job: one Sail server and one Spark session for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog

from forerun.include.machine.jvm import submit_options
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.engines.sail import SailEngine, start_sail
from tests.properties.engines import PlainSparkEngine
from tests.properties.sessions import SESSION
from tests.spark.days import Day
from tests.spark.lake import catalog_in

# Compiling a stage takes longer than running it over a dozen rows.
_OF_GENERATED_DAYS = {
    **SESSION,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="session")
def sail() -> Iterator[SailEngine]:
    engine = start_sail()
    yield engine
    engine.stop()


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    return catalog_in(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """Spark itself, in whose executors Python cannot be started: no run may need it there."""
    from forerun.spark_jobs.engines.spark import start_spark

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


@pytest.fixture(scope="module")
def sessions(
    spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Engine, PlainSparkEngine]:
    """For generated days: the executor's session of Spark, and one for the plain query. Each has
    its own views."""
    from forerun.spark_jobs.engines.spark import SparkEngine

    working, plain = spark.session.newSession(), spark.session.newSession()
    for session in (working, plain):
        for name, value in _OF_GENERATED_DAYS.items():
            session.conf.set(name, value)
    scratch = tmp_path_factory.mktemp("engine")
    return SparkEngine(working, scratch), PlainSparkEngine(plain)


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)
