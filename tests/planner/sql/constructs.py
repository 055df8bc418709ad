"""Every construct of the front end as a case, and the tables that the cases read."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from tests.datadriven import read_blocks
from tests.planner.sql import tables, tpch
from tests.properties.engines import PlainSailEngine, PlainSparkEngine

CONSTRUCTS = [
    pytest.param(block, id=f"{path.stem}:{block.line}")
    for path in sorted((Path(__file__).parent / "queries").glob("*.test"))
    for block in read_blocks(path)
]


_Engine = TypeVar("_Engine", PlainSailEngine, PlainSparkEngine)


def bound(engine: _Engine) -> _Engine:
    """The engine with the tables of the constructs and those of TPC-H."""
    tables.bind_all(engine)
    generated = tpch.rows()
    for name, columns in tpch.COLUMNS.items():
        engine.bind(name, columns, generated[name])
    return engine
