"""Foreign keys whose parents arrive first: plans that rely on them, executed, and days on which
they do not hold."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.state.commits import read_commit
from forerun.include.stores.opening import open_store
from forerun.planner.contract.plan_v1 import ForeignKey, ReliedForeignKey
from forerun.spark_jobs.declarations import DeclarationError
from tests.spark.places import Place

KEY = ForeignKey(columns=("o",), parent="sales", parent_columns=("o",))
RELIED = ReliedForeignKey(source="returns", key=KEY)
QUERIES = {
    "inner": "SELECT s.cat, sum(s.price) AS price, sum(r.cost) AS cost, count(*) AS n "
    "FROM returns r JOIN sales s ON r.o = s.o GROUP BY s.cat",
    "parent first": "SELECT s.cat, s.o, r.cost FROM sales s JOIN returns r ON s.o = r.o "
    "WHERE s.price > 2",
    "left": "SELECT s.cat, count(*) AS n, sum(r.cost) AS cost FROM returns r "
    "LEFT JOIN (SELECT * FROM sales WHERE price > 4) s ON r.o = s.o GROUP BY s.cat",
    "anti": "SELECT r.o, r.cost FROM returns r WHERE NOT EXISTS "
    "(SELECT 1 FROM sales s WHERE s.o = r.o AND s.price > 4)",
}
OTHERS = (
    "InnerJoinDelta", "OuterJoinDeltaByKey", "OuterJoinDeltaTouchedRows", "SemiJoinDeltaByKey",
    "SemiJoinDeltaTouchedRows", "PartnersOfDomain", "UnmatchedRowsOfAntiJoin", "JoinOfOldAndDelta",
)  # fmt: skip
"""Other ways to the same deltas."""


ENGINES = (("sail", ()), ("spark", pytest.mark.spark))
DAYS = [
    pytest.param(engine, sql, id=f"{shape}-{engine}", marks=marks)
    for shape, sql in QUERIES.items()
    for engine, marks in ENGINES
    if engine == "sail" or shape in ("inner", "left")
]
"""Every shape on the small engine; on Spark the two whose SQL differs by more than a name."""


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    """Everything early that can be, and there is no other way."""
    on_spark = getattr(request, "param", "sail") == "spark"
    engine = request.getfixturevalue("sessions")[0] if on_spark else request.getfixturevalue("sail")
    found = Place(tmp_path, engine, arrived=(0.5, 0.8, 1.0))
    found.settings = replace(found.settings, temporal="early", rules_off=OTHERS)
    found.changes["first.returns"] = {"foreign_keys": (KEY,)}
    return found


def deliver(place: Place, number: int, *, early: bool = False) -> None:
    """Returns with their sales or after; NULLs, duplicates, and returns of no sale. ``early``: one
    names a sale of the next delivery."""
    rng = random.Random(number)
    new = [(100 * number + i, rng.choice("abc"), rng.randrange(9)) for i in range(8)]
    known = [row[0] for row in (*place.delivered.get("sales", []), *new)]
    named = [(rng.choice(known), rng.randrange(9)) for _ in range(10)]
    lost = [(None, 1), (7, 2), *([(100 * (number + 1), 5)] if early else [])]
    place.deliver(number, [*new, new[0], (None, "a", 1)], [*named, named[0], *lost])


def relied(place: Place, at, sql: str, run: int, **more: object):
    prepared = place.plan(at, sql, run, **more)
    return prepared, prepared.result.plan.runs[run - 1].relies_on


@pytest.mark.parametrize(("place", "sql"), DAYS, indirect=["place"])
def test_a_day_whose_foreign_key_holds_equals_batch(place: Place, sql: str) -> None:
    at = place.open("first", sql)
    used = 0
    for run in (1, 2, 3):
        deliver(place, run)
        prepared, on = relied(place, at, sql, run, method="im1")
        assert set(on) <= {RELIED}
        assert run > 1 or not on, "nothing was there before run 1"
        used += bool(on)
        commit = place.do(prepared)
    place.check(commit, sql)
    assert used


@pytest.mark.parametrize(
    "place", [pytest.param(engine, marks=marks) for engine, marks in ENGINES], indirect=True
)
def test_a_child_that_came_before_its_parent_fails_the_run_with_an_example(place: Place) -> None:
    sql = QUERIES["inner"]
    at = place.open("first", sql)
    deliver(place, 1)
    place.run(at, sql, 1, method="im1")
    deliver(place, 2, early=True)
    place.run(at, sql, 2, method="im1")
    deliver(place, 3)
    prepared, on = relied(place, at, sql, 3, method="im1")
    assert on == (RELIED,)
    says = r"returns: 1 rows name by \(o\) rows of sales \(o\) .* such as 300, but the report"
    with pytest.raises(DeclarationError, match=says):
        place.do(prepared)
    assert read_commit(open_store(place.uri), at, 3) is None
    # Batch is the user's own text, and rests on no declaration.
    place.check(place.run(at, sql, 3, method="batch"), sql)


def test_a_key_that_comes_again_fails_the_run(place: Place) -> None:
    """The parent's key need not be unique, but no later row may be one that a child meant."""
    sql = QUERIES["inner"]
    at = place.open("first", sql)
    deliver(place, 1)
    place.run(at, sql, 1, method="im1")
    again = next(row[0] for row in place.delivered["returns"] if row[0])
    place.deliver(2, [(again, "b", 3)], [(again, 4)])
    prepared, on = relied(place, at, sql, 2, method="im1")
    assert on == (RELIED,)
    with pytest.raises(DeclarationError, match=rf"such as {again}, but"):
        place.do(prepared)


def test_what_no_plan_relies_on_is_not_looked_at(place: Place) -> None:
    sql = QUERIES["inner"]
    place.changes["first.returns"] = {}
    at = place.open("first", sql)
    for run in (1, 2, 3):
        deliver(place, run, early=True)
        prepared, on = relied(place, at, sql, run, method="im1")
        assert on == ()
        commit = place.do(prepared)
    place.check(commit, sql)
