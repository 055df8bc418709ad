"""Options of the whole test suite."""

from __future__ import annotations

import gc

import pytest

from planner.gc_pause import THRESHOLDS
from tests.s3_servers import moto_bucket, moto_server, store_uri, versitygw_server

__all__ = ["moto_bucket", "moto_server", "store_uri", "versitygw_server"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files; read the diff")


def pytest_collection_finish() -> None:
    """What is imported and collected stays: Python need not look for cycles in it, again and again
    (a twentieth of the time of a generated day)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--accept"))
