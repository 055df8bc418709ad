"""What the tests of sources share: a source is pinned on one day, and its pinned files are read."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.pins import pin_source
from forerun.include.state.records import ManifestSource, Pin
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.inputs import read_files
from tests.oracles.values import Row

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

ENGINES = ["sail", pytest.param("spark", marks=pytest.mark.spark)]
DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
COLUMNS = (
    ColumnSpec(name="k", type="BIGINT"),
    ColumnSpec(name="c", type="STRING"),
    ColumnSpec(name="dt", type="DATE"),
)


def catalog_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """Make a catalog in a file of SQLite, named by the environment as a deployment does."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{folder}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{folder}/lake")
    read_environment(monkeypatch)
    from pyiceberg.catalog import load_catalog  # who imports it first has read the environment

    made = load_catalog("lake")
    made.create_namespace("shop")
    return made


def read_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pyiceberg read the environment, as it does once in a process."""
    from pyiceberg.utils.config import Config

    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())


def pinned(folder: Path, spec: SourceSpec) -> Pin:
    """Pin what is there into a store in the folder."""
    return pin_source(open_store(str(folder / "store")), spec, DAY, NOW)[1]


def read(engine: Engine, spec: SourceSpec, pin: Pin) -> list[Row]:
    """The rows of the pinned files as a run reads them, in one order; those of a changelog as often
    as they come and are not taken back."""
    source = ManifestSource(
        name=spec.name, pin="", base_pin="", columns=spec.columns, changing=True,
        change=spec.change, format=spec.format,
    )  # fmt: skip
    rows = [tuple(row) for row in read_files(engine, source, pin.files).collect()]
    if spec.change == "changelog":
        counts = Counter[Row]()
        for *values, weight in rows:
            counts[tuple(values)] += weight
        assert min(counts.values(), default=0) >= 0, "more rows are taken back than came"
        rows = list(counts.elements())
    return sorted(rows, key=repr)
