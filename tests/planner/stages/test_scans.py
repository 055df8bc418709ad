"""How often a run scans a table: no method more often than the query needs it, derived by hand."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
import sqlglot
from sqlglot import exp

from forerun.planner.api import PlanResult
from forerun.planner.contract.plan_v1 import Run, SourceInput
from forerun.planner.errors import MethodError
from forerun.planner.request import PDW, Method, ivm
from forerun.planner.rules.methods.catalog import SINGLE
from tests.planner.rules.methods.test_chosen import BIG, SMALL, summary, tpch
from tests.selection import few

pytestmark = pytest.mark.search
DELTA = "__delta"
METHODS: tuple[Method, ...] = (*(method.name for method in SINGLE), "auto")
NEEDED = {
    # An outer join and its parts: each row is read once, whatever becomes of it.
    13: {"customer": 1, "orders": 1},
    # Orders say which lines count, and are joined with those: the stage reads them once for both.
    4: {"orders": 1, "lineitem": 1},
    # Of three aliases of lineitem, two are of the late lines alone, which one scan finds.
    21: {"lineitem": 2, "orders": 1, "supplier": 1, "nation": 1},
    # A chain of six tables, and three that are joined once.
    5: dict.fromkeys(("customer", "orders", "lineitem", "supplier", "nation", "region"), 1),
}
"""Scans of each table in one run: of the whole where it is the first one, else of the delta."""


def scans(run: Run) -> Counter[str]:
    """How often the texts of a run's stages name each source, as a whole or as a delta."""
    found: Counter[str] = Counter()
    for stage in run.stages:
        views = {given.view for given in stage.inputs if isinstance(given, SourceInput)}
        for text in (stage.sql, *(side.sql for side in stage.small_sides)):
            tables = sqlglot.parse_one(text, read="spark").find_all(exp.Table)
            found.update(table.name for table in tables if table.name in views)
    return found


def too_often(result: PlanResult, needed: dict[str, int]) -> list[tuple[int, str, int]]:
    counted = ((run.index, scans(run)) for run in result.plan.runs)
    return [
        (index, name, times)
        for index, tables in counted
        for name, times in tables.items()
        if times > needed[name.removesuffix(DELTA)]
    ]


CASES = [
    *product((13,), METHODS, ("at the end", "each run"), (BIG, SMALL)),
    *product((5,), METHODS, ("at the end",), (BIG, SMALL)),
    *product((4,), ("im1", "auto"), ("at the end",), (BIG, SMALL)),
    *product((21,), METHODS, ("at the end",), (BIG, SMALL)),
    *product((21,), METHODS, ("each run",), (BIG,)),
]


@pytest.mark.parametrize(("number", "method", "results", "arrived"), few(CASES, 12))
def test_no_run_scans_a_table_more_often_than_the_query_needs(
    number: int, method: Method, results: str, arrived: tuple[float, ...]
) -> None:
    problem = PDW if results == "at the end" else ivm(3)
    try:
        found = tpch(number, arrived, method=method, problem=problem)
    except MethodError:
        return  # which test_catalog.py looks at
    assert too_often(found, NEEDED[number]) == []
    early = [scans(run) for run in found.plan.runs[:-1]]
    assert any(early), "nothing was read early"


@pytest.mark.parametrize("method", ["im1", "im2", "ojv", "hov", "auto"])
def test_the_running_example_reads_each_row_once(method: Method) -> None:
    assert too_often(summary(method), {"sales": 1, "returns": 1}) == []
    assert sum(scans(run)["returns__delta"] for run in summary(method).plan.runs) >= 1
