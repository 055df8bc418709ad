"""The fitted queries have the figures that the paper states; the sweep has its shapes."""

from __future__ import annotations

import argparse

import pytest

from forerun.planner.schedule.single import Feasible, schedule_single
from tests.benchmarks.driver import Figures
from tests.benchmarks.minimum_batch import minimum_batch, total_cost
from tests.benchmarks.paper_queries import FILES, FIXED, LONGEST_S, QUERIES, RATES
from tests.benchmarks.paper_scheduling import Strategy
from tests.benchmarks.schedule import (
    FRACTIONS,
    PLOT,
    Case,
    beside,
    cases,
    lines,
    run_case,
    staggered,
)

BY_NAME = {query.name: query for query in QUERIES}
ORDERS = 2


def _minimum(slack: float) -> dict[str, tuple[int, int]]:
    found = {}
    for query in QUERIES:
        one = minimum_batch(query.cost, FILES, slack=slack, longest=LONGEST_S)
        assert not one.conflict
        found[query.name] = (one.rows, one.batches)
    return found


def test_one_batch_of_each():
    assert [BY_NAME[f"CQ{i}"].single for i in range(1, 5)] == [17.86, 18.85, 32.0, 32.5]
    assert max(staggered(QUERIES, 0.1).values()) == pytest.approx(4594)
    for query in QUERIES:
        assert query.cost.cost(FILES) == pytest.approx(query.single)


def test_minimum_batches():
    half, whole = _minimum(0.5), _minimum(1.0)
    assert {name for name, (rows, _) in half.items() if rows == 180} == {"CQ1", "Q6"}
    assert {name for name, (rows, _) in half.items() if rows == 1125} == {"CQ3", "CQ4"}
    assert all(180 <= rows <= 1125 for rows, _ in half.values())
    assert sum(BY_NAME[name].cost.cost(rows) for name, (rows, _) in half.items()) == pytest.approx(
        105, rel=0.08
    )
    assert sum(batches for _, batches in whole.values()) == pytest.approx(329, rel=0.06)


def test_sixty_batches():
    sixty = {name: total_cost(query.cost, FILES, 60) for name, query in BY_NAME.items()}
    assert sixty["Q10"] / 75.0 == pytest.approx(6, rel=0.05)
    assert sixty["CQ2"] / sixty["CQ1"] == pytest.approx(2.7, rel=0.05)
    assert BY_NAME["CQ3"].cost.final_aggregation(60) == pytest.approx(3, rel=0.05)
    assert BY_NAME["CQ4"].cost.final_aggregation(60) == pytest.approx(7, rel=0.05)


def test_each_query_alone():
    for query in QUERIES:
        for fraction in FRACTIONS:
            found = schedule_single(query.cost, FIXED, FILES + fraction * query.single)
            assert isinstance(found, Feasible)
            heavy = query.name in ("Q3", "Q9", "Q10")
            wanted = 1 if fraction == 1 else 3 if heavy and fraction == 0.1 else 2
            assert len(found.batches) == wanted


def test_less_is_left_after_the_window_where_rows_come_late():
    """By the paper 5,620 files at the fixed rate and 832 with VR4, slack 50 % and 0.2D."""
    left = {
        (rate, strategy.name): run_case(Case(0.5, rate, 0.2, strategy), ORDERS)["left"]
        for rate in ("FR", "VR3", "VR4")
        for strategy in (Strategy.LLF, Strategy.SJF)
    }
    assert left["FR", "LLF"] == left["FR", "SJF"] == pytest.approx(5620, rel=0.25)
    assert left["VR3", "LLF"] < 0.25 * left["FR", "LLF"]
    assert left["VR4", "SJF"] < 0.5 * left["FR", "SJF"]
    assert left["VR4", "LLF"] < 0.65 * left["FR", "LLF"]


def test_the_rates_are_those_of_the_paper():
    late = {name: curve.complete_at - FIXED.complete_at for name, curve in RATES.items()}
    assert late["VR3"] == pytest.approx(20, abs=0.5)
    assert late["VR4"] == pytest.approx(7, abs=0.5)
    assert late["VR1"] < -100 > late["VR2"]
    for name in ("VR3", "VR4"):
        assert all(RATES[name].rows_at(t) < FIXED.rows_at(t) for t in range(60, FILES, 60))


def _met(slack: float | None, rate: str, fraction: float, strategy: Strategy) -> Figures:
    return run_case(Case(slack, rate, fraction, strategy), ORDERS)


@pytest.mark.parametrize("strategy", [Strategy.LLF, Strategy.EDF])
def test_deadlines_hold_down_to_a_fifth(strategy):
    for fraction in (1.0, 0.2):
        found = _met(0.5, "FR", fraction, strategy)
        assert found["met"] == ORDERS
        assert found["cost"] == pytest.approx(1.5, abs=0.05)
    assert _met(0.5, "FR", 0.1, strategy)["met"] == 0
    for rate in ("VR1", "VR2"):
        assert _met(1.0, rate, 0.1, strategy)["met"] == ORDERS


def test_who_does_not_look_at_deadlines_misses_them():
    for strategy in (Strategy.SJF, Strategy.RR):
        assert _met(0.5, "FR", 0.2, strategy)["met"] == 0
        assert _met(1.0, "VR3", 0.1, strategy)["met"] == 0


def test_a_larger_slack_costs_more_and_holds_longer():
    found = _met(1.0, "FR", 0.1, Strategy.EDF)
    assert found["met"] == ORDERS
    assert found["cost"] == pytest.approx(2.0, abs=0.05)


def test_without_a_minimum_batch_deadlines_are_missed_at_many_times_the_cost():
    found = _met(None, "FR", 0.4, Strategy.EDF)
    assert found["met"] == 0
    assert found["cost"] > 7


def test_a_row_a_case_and_a_line_a_strategy() -> None:
    found = {
        case.name: {"met": 3, "missed": 0.0, "batches": 9.0, "left": 5.0, "cost": 1.5}
        for case in cases()
    }
    given = argparse.Namespace(orders=4)
    text = "\n".join(lines(given, found))
    assert "| slack-50% | VR1 | 0.2D | 3/4 | 3/4 | 3/4 | 3/4 | 1.50 | 9 | 5 |" in text
    drawn = beside(given, found)[PLOT]
    assert drawn.count("<circle") == len(Strategy) * len(FRACTIONS)
