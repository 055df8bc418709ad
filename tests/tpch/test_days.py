"""The 22 TPC-H queries as days of three runs on Sail: equal to batch, most with early work."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.contract.plan_v1 import FamilyInput, Plan
from tests.oracles.bags import compare_bags, with_equal_scales
from tests.properties.sessions import sail_session
from tests.tpch.days import TpchDay, generate

QUERIES = sorted(Path(__file__).parent.glob("q*.sql"))
EARLY: dict[str, set[str]] = {"cost": set(), "early": set()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("tpch"))


def has_early_work(final: Plan) -> bool:
    """The final run reads what an earlier run kept."""
    stages = final.run.stages
    return final.run.base > 0 and any(
        isinstance(given, FamilyInput) for stage in stages for given in stage.inputs
    )


@pytest.mark.parametrize("temporal", ["early", "cost"])
@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_day_equals_batch(tables, path, temporal):
    day = TpchDay(sail_session(), tables, path.read_text().strip().rstrip(";"), temporal)
    final, rows = day.run()
    expected = day.batch()
    compare_bags(*with_equal_scales(expected, rows), magnitude=1e4)
    if has_early_work(final):
        EARLY[temporal].add(path.stem)


@pytest.mark.parametrize(("temporal", "least"), [("early", 18), ("cost", 12)])
def test_most_queries_work_early(temporal, least):
    """Runs after the days above, whose findings it counts."""
    if not EARLY["early"]:
        pytest.skip("needs the days of this module")
    found = EARLY[temporal]
    assert len(found) >= least, f"{len(found)}: {' '.join(sorted(found))}"
