"""The 22 TPC-H queries as days of three runs on Sail: equal to batch, most with early work."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from planner.contract.plan_v1 import FamilyInput, Plan
from tests.oracles.bags import compare_bags
from tests.oracles.values import Row
from tests.properties.sessions import sail_session
from tests.tpch.days import TpchDay, generate

QUERIES = sorted(Path(__file__).parent.glob("q*.sql"))
REFUSED_BY_SAIL = {("q14", "early")}
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


def loosened(expected: list[Row], found: list[Row]) -> tuple[list[Row], list[Row]]:
    """As doubles, where the scales of a decimal column differ: Sail's type of a quotient of
    decimals is not Spark's, which the planner writes."""
    both = expected + found
    columns = [[row[i] for row in both] for i in range(len(both[0]) if both else 0)]
    scales = [{v.as_tuple().exponent for v in c if isinstance(v, Decimal)} for c in columns]
    loose = [len(scale) > 1 for scale in scales]

    def convert(row: Row) -> Row:
        return tuple(
            float(v) if is_loose and v is not None else v
            for v, is_loose in zip(row, loose, strict=True)
        )

    return [convert(row) for row in expected], [convert(row) for row in found]


@pytest.mark.parametrize("temporal", ["early", "cost"])
@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_day_equals_batch(tables, path, temporal):
    if (path.stem, temporal) in REFUSED_BY_SAIL:
        pytest.skip("Sail gives a quotient of decimals another type than it announces")
    day = TpchDay(sail_session(), tables, path.read_text().strip().rstrip(";"), temporal)
    final, rows = day.run()
    expected = day.batch()
    compare_bags(*loosened(expected, rows), magnitude=1e4)
    if has_early_work(final):
        EARLY[temporal].add(path.stem)


@pytest.mark.parametrize(("temporal", "least"), [("early", 18), ("cost", 12)])
def test_most_queries_work_early(temporal, least):
    """Runs after the days above, whose findings it counts."""
    if not EARLY["early"]:
        pytest.skip("needs the days of this module")
    found = EARLY[temporal]
    assert len(found) >= least, f"{len(found)}: {' '.join(sorted(found))}"
