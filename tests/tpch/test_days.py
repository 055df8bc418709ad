"""The 22 TPC-H queries as days of three runs on Sail: equal to batch, most with early work."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import cast

import pytest

from forerun.planner.contract.plan_v1 import FamilyInput, Plan
from forerun.planner.errors import MethodError, Reason
from forerun.planner.request import Method
from forerun.planner.rules.methods.catalog import SINGLE
from tests.oracles.bags import compare_bags, with_equal_scales
from tests.properties.sessions import sail_session
from tests.selection import few, need_all
from tests.tpch.days import TpchDay, generate

QUERIES = sorted(Path(__file__).parent.glob("q*.sql"))
EARLY: dict[str, set[str]] = {"cost": set(), "early": set()}
APPLIED: dict[str, set[str]] = defaultdict(set)
ALONE: dict[str, set[str]] = defaultdict(set)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("tpch"))


def has_early_work(final: Plan) -> bool:
    """The final run reads what an earlier run kept."""
    stages = final.run.stages
    return final.run.base > 0 and any(
        isinstance(given, FamilyInput) for stage in stages for given in stage.inputs
    )


@pytest.mark.parametrize("temporal", ["early", pytest.param("cost", marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", few(QUERIES, 6), ids=lambda p: p.stem)
def test_day_equals_batch(tables, path, temporal):
    day = TpchDay(sail_session(), tables, path.read_text().strip().rstrip(";"), temporal)
    final, rows = day.run()
    expected = day.batch()
    compare_bags(*with_equal_scales(expected, rows), magnitude=1e4)
    if has_early_work(final):
        EARLY[temporal].add(path.stem)


@pytest.mark.parametrize("path", few(QUERIES, 8), ids=lambda p: p.stem)
@pytest.mark.parametrize(
    "method",
    [pytest.param(m.name, marks=() if m.name == "ojv" else pytest.mark.slow) for m in SINGLE],
)
def test_a_method_alone_equals_batch_or_says_why(tables, path, method):
    """Every rule of the method early, whatever it repays."""
    sql = path.read_text().strip().rstrip(";")
    day = TpchDay(sail_session(), tables, sql, "early", cast(Method, method))
    why_not = ""
    try:
        final, rows = day.run()
    except MethodError as error:
        why_not = error.message
    if why_not:
        assert any(f"({reason})" in why_not for reason in Reason)
        return
    compare_bags(*with_equal_scales(day.batch(), rows), magnitude=1e4)
    APPLIED[method].add(path.stem)
    if has_early_work(final):
        ALONE[method].add(path.stem)


def test_methods_apply_to_the_queries_that_they_are_for(request):
    """Runs after the days above: OJV to the one with an outer join, HOV to those with
    equalities in joins."""
    need_all(request, test_a_method_alone_equals_batch_or_says_why, 2 * len(QUERIES))
    assert APPLIED["ojv"] == ALONE["ojv"] == {"q13"}
    assert len(APPLIED["hov"]) >= 15
    assert APPLIED["hov"] == ALONE["hov"]


@pytest.mark.parametrize(
    ("temporal", "least"), [("early", 18), pytest.param("cost", 12, marks=pytest.mark.slow)]
)
def test_most_queries_work_early(request, temporal, least):
    """Runs after the days above, whose findings it counts."""
    need_all(request, test_day_equals_batch, len(QUERIES) * (1 if temporal == "early" else 2))
    found = EARLY[temporal]
    assert len(found) >= least, f"{len(found)}: {' '.join(sorted(found))}"
