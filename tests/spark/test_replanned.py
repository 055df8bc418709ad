"""A day that goes another way than it was planned, through the store (Tempura 7).

Costs against the stale plan, and what an edited query keeps, are tested in
``tests/planner/materialize/test_replanning.py``; here: which files are read, and that it is right.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forerun.include.stores.opening import open_store
from forerun.planner.contract import FamilyInput, SourceInput
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.inputs import load_inputs
from tests.oracles.values import Row
from tests.spark.places import FIRST, Place


def rows_of_orders(rng: random.Random, orders: range) -> tuple[list[Row], list[Row]]:
    """Sales of some orders, and returns of some of these and of earlier ones."""
    sales = [(o, rng.choice(("a", "b", None)), rng.randint(-2, 9)) for o in orders]
    returned = rng.sample(range(orders.stop), len(orders) // 3)
    return sales, [(o, rng.choice((5, 7, None))) for o in returned]


@pytest.fixture
def place(tmp_path: Path, sail: SailEngine) -> Place:
    return Place(tmp_path, sail, arrived=(0.9, 0.95, 1.0))


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        pytest.param(("", ""), 2, id="as it was"),
        pytest.param(("sum(r.cost) AS cost", "max(r.cost) AS most"), 2, id="another select list"),
        # To read all returns again is as cheap as to read those that are kept.
        pytest.param(("s.price > 0", "s.price > 1"), 0, id="another filter"),
    ],
)
def test_a_run_is_dropped_and_ten_times_as_much_comes(
    place: Place, edit: tuple[str, str], kept: int
) -> None:
    """What the first run kept is read, as far as the query is the same, and no file of its
    delivery for what is kept of it; the second run never happens."""
    rng = random.Random(11)
    place.deliver(1, *rows_of_orders(rng, range(60)))
    at = place.open("sold", FIRST)
    first = place.run(at, FIRST, 1)
    place.deliver(2, *rows_of_orders(rng, range(60, 660)))
    sql = FIRST.replace(*edit) if edit[0] else FIRST
    prepared = place.plan(at, sql, 3)
    plan, store = prepared.result.plan, open_store(place.uri)
    assert (plan.run.base, plan.runs[1].opened) == (1, False)
    given = [one for stage in plan.run.stages for one in stage.inputs]
    read = {one.family for one in given if isinstance(one, FamilyInput)}
    held = {artifact.family for artifact in first.artifacts}
    rows = {f.id for f in plan.families if f.kind == "shuffle" and f.id in held}
    assert len(read & rows) == kept
    inputs = load_inputs(store, at, plan)
    for one in given:
        if isinstance(one, SourceInput) and kept == 2:
            names = {file.uri.rpartition("/")[2] for file in inputs.files(one)}
            assert names == {"2.parquet"}
    place.check(place.do(prepared), sql)
