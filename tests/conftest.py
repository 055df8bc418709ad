"""Options of the whole test suite."""

from __future__ import annotations

import pytest

from tests.s3_servers import moto_bucket, moto_server, store_uri, versitygw_server

__all__ = ["moto_bucket", "moto_server", "store_uri", "versitygw_server"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files; read the diff")


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--accept"))
