"""Fixtures with real S3 servers: one process per kind and session, a bucket of its own per test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from forerun.include.machine.local_s3 import LocalS3, local_s3, versitygw

_BUCKETS = itertools.count(1)


@pytest.fixture(scope="session")
def moto_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalS3]:
    with local_s3(tmp_path_factory.mktemp("s3") / "moto", kind="moto") as server:
        yield server


@pytest.fixture(scope="session")
def versitygw_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalS3]:
    if versitygw() is None:
        pytest.skip("VersityGW is not built here (needs Go): make s3-server")
    with local_s3(tmp_path_factory.mktemp("s3") / "versitygw", kind="versitygw") as server:
        yield server


def use_bucket(server: LocalS3, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fresh bucket's URI; the environment names the server, as it does for users."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.make_bucket(f"bucket-{next(_BUCKETS)}")


@pytest.fixture
def moto_bucket(moto_server: LocalS3, monkeypatch: pytest.MonkeyPatch) -> str:
    return use_bucket(moto_server, monkeypatch)


@pytest.fixture(
    params=[
        "file",
        pytest.param("moto", marks=pytest.mark.s3),
        pytest.param("versitygw", marks=pytest.mark.s3),
    ]
)
def store_uri(request, tmp_path, monkeypatch) -> str:
    """The URI of an empty store: a folder, and a prefix in a bucket of each server."""
    if request.param == "file":
        return (tmp_path / "store").as_uri()
    return use_bucket(request.getfixturevalue(f"{request.param}_server"), monkeypatch) + "/a/store"
