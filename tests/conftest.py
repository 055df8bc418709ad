"""Options of the whole test suite."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path

import pytest

from forerun.include.machine import jvm
from tests.kafka_broker import broker, shop
from tests.postgresql_server import database, warehouse
from tests.registry_server import registry
from tests.s3_servers import moto_bucket, moto_server, store_uri, versitygw_server

__all__ = [
    "broker",
    "database",
    "moto_bucket",
    "moto_server",
    "registry",
    "shop",
    "store_uri",
    "versitygw_server",
    "warehouse",
]

_LONGEST_FIRST = (
    "properties/test_days_on_sail.py", "properties", "simulation", "spark", "e2e", "tpch", "chaos",
    "planner",
)  # fmt: skip
"""Where the files are that take longest. Test processes that take file after file end together if
the last files are short."""


_LATER = re.compile(r"mark\.(search|slow|spark)|starts\(|selection")
"""What is in files with tests that `make unit` leaves out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files; read the diff")
    parser.addoption("--checked", action="append", default=[], help="without what a check here ran")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--accept") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--accept writes block after block of a file: leave out -n")
    # A local Spark that listens at the machine's own address dies with it: its executor gives up
    # after ten minutes without a heartbeat, and takes the session of all tests along.
    os.environ.update(jvm.local_name("local"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that are checked already, whole: to import five thousand tests that nobody
    runs takes each process some seconds."""
    checked = [config.rootpath / path for path in config.getoption("--checked")]
    if collection_path.suffix != ".py" or not any(map(collection_path.is_relative_to, checked)):
        return None
    return not _LATER.search(collection_path.read_text(encoding="utf-8")) or None


def pytest_collection_finish() -> None:
    """What is imported and collected stays: Python need not look for cycles in it, again and again
    (a twentieth of the time of a generated day)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put long files first where several processes share the files (``--no-loadscope-reorder``
    keeps this order)."""
    if checked := [config.rootpath / path for path in config.getoption("--checked")]:
        # The marks of `make unit`: what it leaves out is not checked yet.
        gone = {
            item
            for item in items
            if not any(item.get_closest_marker(mark) for mark in ("search", "slow", "spark"))
            and any(item.path.is_relative_to(path) for path in checked)
        }
        config.hook.pytest_deselected(items=list(gone))
        items[:] = [item for item in items if item not in gone]
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    name = item.path.relative_to(Path(__file__).parent).as_posix()
    places = (i for i, start in enumerate(_LONGEST_FIRST) if name.startswith(start))
    return next(places, len(_LONGEST_FIRST))


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--accept"))
