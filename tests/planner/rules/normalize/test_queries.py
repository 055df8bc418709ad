"""Normal forms of real texts: every construct of the front end, and TPC-H run on an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.planner.algebra.relational import Relation
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.tvr.signed import ColumnIds
from tests.datadriven import Block
from tests.oracles.bags import compare_bags, with_equal_scales
from tests.oracles.values import NotInterpretedError
from tests.planner.rules.normalize.trees import check_rewrite
from tests.planner.sql import tables, tpch
from tests.planner.sql.constructs import CONSTRUCTS
from tests.properties.engines import PlainSailEngine


@pytest.mark.parametrize("block", CONSTRUCTS)
def test_every_construct_keeps_its_answer(block: Block) -> None:
    query = read_query(block.input, tables.SOURCES)
    inputs = tables.inputs()

    def observe(name: str, before: Relation, after: Relation) -> None:
        if "interpreter" not in block.options:
            check_rewrite(name, before, after, inputs)

    try:
        result = normalize(query.relation, tables.SOURCES, ColumnIds(query.last_id), observe)
    except NotInterpretedError as missing:
        pytest.skip(str(missing))
    assert [c.type for c in result.columns] == [c.type for c in query.relation.columns]


@pytest.mark.parametrize("path", tpch.TEXTS, ids=lambda p: p.stem)
def test_tpch_on_an_engine(path: Path, sail: PlainSailEngine) -> None:
    query = read_query(path.read_text(), tpch.SOURCES)
    normal = normalize(query.relation, tpch.SOURCES, ColumnIds(query.last_id))
    answer = sail.query(to_sql(normal, names=query.names))
    compare_bags(*with_equal_scales(sail.query(path.read_text()), answer))
