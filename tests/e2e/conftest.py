"""TPC-H tables in a folder, for days by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.demo.data import generate

ALL = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All eight tables at scale 0.01, a Parquet file each."""
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, 0.01, ALL)
    return folder
