"""SQL to algebra: what each construct becomes (``queries/*.test`` and TPC-H, goldens)."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.planner.algebra.text import format_relation
from forerun.planner.sql.frontend import read_query
from tests.datadriven import Block, Case, cases, check
from tests.planner.sql import tables, tpch

FILES = sorted((Path(__file__).parent / "queries").glob("*.test"))


@pytest.mark.parametrize("case", cases(FILES))
def test_constructs(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        assert block.directive == "read"
        query = read_query(block.input, tables.SOURCES)
        order = " ordered" if query.ordered else ""
        return f"{', '.join(query.names)}{order}\n{format_relation(query.relation)}"

    check(case, run, accept=accept)


@pytest.mark.parametrize("case", cases([Path(__file__).parent / "tpch.test"]))
def test_tpch(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        (text,) = [p for p in tpch.TEXTS if p.stem == block.input]
        query = read_query(text.read_text(), tpch.SOURCES)
        order = " ordered" if query.ordered else ""
        return f"{', '.join(query.names)}{order}\n{format_relation(query.relation)}"

    check(case, run, accept=accept)
