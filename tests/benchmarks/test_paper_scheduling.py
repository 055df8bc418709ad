"""Many queries on one machine: readiness, order, queries that come and go, wrong forecasts."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from forerun.planner.schedule.arrivals import arrival_curve, steady
from forerun.planner.schedule.batch_cost import linear_cost
from tests.benchmarks.paper_scheduling import Course, Query, Strategy, run_queries

STEADY = steady(0, 100, 100)
QUERY = Query(
    name="q",
    cost=linear_cost(1.0, 0.1, per_batch=0.5),
    deadline=150,
    arrivals=STEADY,
    forecast=STEADY,
    minimum=25,
)


def _run(*queries: Query, strategy: Strategy = Strategy.LLF) -> dict[str, Course]:
    return {course.query.name: course for course in run_queries(queries, strategy)}


def test_a_batch_starts_as_soon_as_its_minimum_is_there():
    course = _run(QUERY)["q"]
    assert [(b.start, b.rows) for b in course.batches] == [(25, 25), (50, 25), (75, 25), (100, 25)]
    assert course.aggregation == 2.0
    assert course.finished == 100 + 3.5 + 2.0
    assert course.seconds == 4 * 3.5 + 2.0
    assert not course.missed


def test_without_a_minimum_whatever_is_there_is_taken():
    course = _run(replace(QUERY, minimum=None))["q"]
    assert course.batches[0].rows == 1
    assert len(course.batches) > 40
    assert course.done == 100


def test_what_is_left_at_the_end_is_a_smaller_batch():
    course = _run(replace(QUERY, minimum=40))["q"]
    assert [(b.start, b.rows) for b in course.batches] == [(40, 40), (80, 40), (100, 20)]


def test_a_late_source_is_not_waited_for():
    """The expected time of a batch has passed: it takes what is there."""
    late = arrival_curve([(0, 0), (20, 20), (60, 20), (140, 100)])
    course = _run(replace(QUERY, arrivals=late, deadline=200))["q"]
    # 20 rows wait at 25, when 25 were expected; then 40 s without a row; each expected time that
    # has passed meanwhile costs one batch, and no more.
    assert [(b.start, b.rows) for b in course.batches[:2]] == [(25, 20), (61, 1)]
    assert len(course.batches) <= 4 + 4
    assert course.done == 100


def test_an_early_source_is_used_early():
    early = steady(0, 50, 100)
    course = _run(replace(QUERY, arrivals=early))["q"]
    assert [b.start for b in course.batches] == [12.5, 25, 37.5, 50]


def test_an_unknown_total_is_estimated_and_nothing_waits_for_a_minimum():
    larger = steady(0, 100, 200)
    query = replace(QUERY, arrivals=larger, total_known=False)
    course = _run(query)["q"]
    assert course.batches[0].start == pytest.approx(0.5)
    assert max(b.rows for b in course.batches) <= 25
    assert course.done == 200
    fresh = Course(query)
    # 100 of 200 have come at 50, when the forecast has half of its 100.
    assert fresh.remaining(50) == Course(replace(query, total_known=True)).remaining(50)


def test_queries_come_and_go():
    first = replace(QUERY, name="gone", removed=60)
    later = replace(QUERY, name="late", submitted=80, deadline=130)
    courses = _run(first, QUERY, later)
    assert courses["gone"].removed
    assert not courses["gone"].missed
    assert all(b.start < 60 for b in courses["gone"].batches)
    assert courses["late"].batches[0].start >= 80
    assert courses["late"].done == courses["q"].done == 100


def test_a_removed_query_leaves_the_machine_to_the_others():
    alone = _run(QUERY)["q"].finished
    assert _run(QUERY, replace(QUERY, name="gone", removed=-1.0))["q"].finished == alone


def test_the_urgent_one_goes_first_only_if_the_strategy_looks_at_deadlines():
    slow = replace(QUERY, name="slow", deadline=112, minimum=100)
    quick = replace(QUERY, name="quick", cost=linear_cost(2.0, 0.05), minimum=100, deadline=130)
    for strategy in (Strategy.LLF, Strategy.EDF):
        assert not any(c.missed for c in _run(slow, quick, strategy=strategy).values())
    shortest = _run(slow, quick, strategy=Strategy.SJF)
    assert shortest["slow"].missed
    assert not shortest["quick"].missed


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", range(5))
def test_what_always_holds(strategy, seed):
    draw = random.Random(seed)
    queries = []
    for number in range(6):
        at, knots = draw.uniform(0, 50), [(0.0, 0.0)]
        for rows in range(1, 60):
            at += draw.expovariate(1.0)
            knots.append((at, float(rows)))
        queries.append(
            Query(
                name=f"q{number}",
                cost=linear_cost(draw.uniform(0, 2), draw.uniform(0.01, 0.3), per_batch=0.1),
                deadline=at + draw.uniform(0, 60),
                arrivals=arrival_curve(knots),
                forecast=steady(0, 60, draw.randint(30, 90)),
                minimum=draw.choice([None, 1, 7, 59, 500]),
                total_known=draw.random() < 0.7,
                submitted=draw.choice([-math.inf, 40.0]),
            )
        )
    courses = run_queries(queries, strategy)
    for course in courses:
        done = 0
        for batch in course.batches:
            done += batch.rows
            assert batch.rows > 0
            assert batch.start >= course.query.submitted
            assert done <= course.query.arrivals.rows_at(batch.start)
        assert done == course.query.arrivals.total
    spans = sorted(
        (batch.start, batch.end if i + 1 < len(c.batches) else c.finished)
        for c in courses
        for i, batch in enumerate(c.batches)
    )
    assert all(before[1] <= after[0] + 1e-6 for before, after in pairwise(spans))


def test_no_queries_are_done_at_once():
    assert run_queries([], Strategy.EDF) == ()
