"""SQL to algebra: what each construct becomes (``queries/*.test`` and TPC-H, goldens)."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.planner.algebra.text import format_relation
from forerun.planner.sql.frontend import read_query
from tests.datadriven import Block, run_file
from tests.planner.sql import tables, tpch

FILES = sorted((Path(__file__).parent / "queries").glob("*.test"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_constructs(path: Path, accept: bool) -> None:
    def run(block: Block) -> str:
        assert block.directive == "read"
        query = read_query(block.input, tables.SOURCES)
        order = " ordered" if query.ordered else ""
        return f"{', '.join(query.names)}{order}\n{format_relation(query.relation)}"

    run_file(path, run, accept=accept)


def test_tpch(accept: bool) -> None:
    def run(block: Block) -> str:
        (text,) = [p for p in tpch.TEXTS if p.stem == block.input]
        query = read_query(text.read_text(), tpch.SOURCES)
        order = " ordered" if query.ordered else ""
        return f"{', '.join(query.names)}{order}\n{format_relation(query.relation)}"

    run_file(Path(__file__).parent / "tpch.test", run, accept=accept)
