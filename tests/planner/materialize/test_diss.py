"""The dynamic program over budgets: the operators of the paper on random trees, against all
combinations of actions, and against Algorithm 1 with its search for steps."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest

from forerun.planner.materialize.diss import (
    MOST_STEPS,
    BudgetStep,
    GoalAction,
    Price,
    Program,
    thinned,
)

Goal = tuple[str, int]
"""``D`` or ``F``, and the number of an operator."""


class Tree:
    """A random tree of the paper's operators. Sizes are small, so that many sums are equal."""

    def __init__(self, rng: random.Random, operators: int) -> None:
        self.actions: dict[Goal, list[GoalAction[Goal, str]]] = {}
        self.prices: dict[str, Price] = {}
        self.order: list[Goal] = []
        self._rng = rng
        self.root = self._grow(operators)

    def _add(
        self, number: int, delta: list[GoalAction[Goal, str]], full: list[GoalAction[Goal, str]]
    ):
        self.actions["D", number], self.actions["F", number] = delta, full
        self.order += [("D", number), ("F", number)]

    def _artifact(self, number: int, what: str) -> str:
        self.prices[f"{what}{number}"] = Price(self._rng.randint(1, 9), self._rng.randint(0, 9))
        return f"{what}{number}"

    def _grow(self, left: int) -> int:
        rng = self._rng
        kind = rng.choice(("materialize", "sort", "aggregate", "join")) if left > 1 else "scan"
        if kind == "join" and left > 2:
            below = rng.randint(1, left - 2)
            return self._join(self._grow(below), self._grow(left - 1 - below))
        if kind == "scan":
            number = len(self.order)
            self._add(number, [GoalAction(rng.randint(1, 9))], [GoalAction(rng.randint(5, 60))])
            return number
        return self._unary(kind, self._grow(left - 1))

    def _unary(self, kind: str, child: int) -> int:
        """Actions 1 to 5: drop, which an aggregate can only compute again, and keep."""
        rng, number = self._rng, len(self.order)
        small, large = rng.randint(1, 9), rng.randint(5, 60)
        below = "F" if kind == "aggregate" else "D"
        keep = (self._artifact(number, kind),)
        drop = GoalAction(large if kind == "aggregate" else small, (), ((below, child),))
        kept = GoalAction(small, keep, (("D", child),))
        read = GoalAction(small + rng.randint(0, 9), keep, (("D", child),))
        self._add(number, [drop, kept], [GoalAction(large, (), (("F", child),)), read])
        return number

    def _join(self, left: int, right: int) -> int:
        """Action 6, the symmetric hash join, and to drop both."""
        rng, number = self._rng, len(self.order)
        one, other = self._artifact(number, "right"), self._artifact(number, "left")
        both = (GoalAction(rng.randint(30, 90), (), (("F", left), ("F", right))),)
        right_kept = (("F", left), ("D", right))
        deltas = (("D", left), ("D", right))
        self._add(
            number,
            [
                *both,
                GoalAction(rng.randint(9, 40), (one,), right_kept),
                GoalAction(5, (one, other), deltas),
            ],
            [
                *both,
                GoalAction(rng.randint(9, 40), (one,), right_kept),
                GoalAction(9, (one, other), deltas),
            ],
        )
        return number

    def program(self) -> Program[Goal, str]:
        program: Program[Goal, str] = Program(self.prices)
        for goal in self.order:
            program.meet(goal, self.actions[goal])
        return program

    def combinations(self, goal: Goal) -> list[tuple[int, int]]:
        """Bytes and cost of every way to choose actions."""
        found = []
        for action in self.actions[goal]:
            prices = [self.prices[artifact] for artifact in action.keeps]
            own = (sum(p.bytes for p in prices), action.cost + sum(p.cost for p in prices))
            found += [
                (own[0] + sum(size for size, _ in parts), own[1] + sum(cost for _, cost in parts))
                for parts in product(*(self.combinations(below) for below in action.goals))
            ]
        return found


@pytest.mark.parametrize("seed", range(60))
def test_equals_all_combinations_on_small_trees(seed: int) -> None:
    tree = Tree(random.Random(seed), 6)
    program = tree.program()
    for goal in (("D", tree.root), ("F", tree.root)):
        every = tree.combinations(goal)
        for budget in range(max(size for size, _ in every) + 2):
            cheapest = min(cost for size, cost in every if size <= budget)
            step = program.at(goal, budget)
            assert step is not None
            assert step.cost == cheapest
            assert step.bytes == sum(tree.prices[kept].bytes for kept in step.kept) <= budget


class Algorithm1:
    """As printed, but for the line that sets D and F to infinity: that is before the loop. Bytes
    are counted out to the parts one by one."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.memo: dict[tuple[Goal, int], float] = {}

    def best(self, goal: Goal, budget: int) -> float:
        if (goal, budget) not in self.memo:
            best = math.inf
            for action in self.tree.actions[goal]:
                prices = [self.tree.prices[artifact] for artifact in action.keeps]
                left = budget - sum(price.bytes for price in prices)
                if left >= 0:
                    own = action.cost + sum(price.cost for price in prices)
                    best = min(best, own + self.parts(action.goals, left))
            self.memo[goal, budget] = best
        return self.memo[goal, budget]

    def parts(self, goals: tuple[Goal, ...], budget: int) -> float:
        if not goals:
            return 0
        if len(goals) == 1:
            return self.best(goals[0], budget)
        return min(
            self.best(goals[0], mine) + self.parts(goals[1:], budget - mine)
            for mine in range(budget + 1)
        )

    def changes(self, goal: Goal, low: int, high: int) -> list[int]:
        """The budgets at which the cost falls, by the binary search of section 5."""
        if self.best(goal, low) == self.best(goal, high):
            return []
        if high - low == 1:
            return [high]
        middle = (low + high) // 2
        return self.changes(goal, low, middle) + self.changes(goal, middle, high)


@pytest.mark.parametrize("seed", range(100, 130))
def test_steps_are_where_binary_search_over_budgets_finds_them(seed: int) -> None:
    tree = Tree(random.Random(seed), 9)
    program, paper = tree.program(), Algorithm1(tree)
    goal, most = ("F", tree.root), sum(price.bytes for price in tree.prices.values())
    steps = program.steps(goal)
    assert [step.bytes for step in steps] == [0, *paper.changes(goal, 0, most)]
    assert [step.cost for step in steps] == [paper.best(goal, step.bytes) for step in steps]


def test_an_action_without_a_way_to_its_parts_is_not_applicable() -> None:
    program: Program[str, str] = Program({"kept": Price(5, 1)})
    program.meet("top", [GoalAction(1, goals=("nowhere",)), GoalAction(7, keeps=("kept",))])
    assert program.at("top", 4) is None
    assert program.at("top", 5) == BudgetStep(5, 8, frozenset({"kept"}))


def test_an_artifact_that_two_parts_keep_counts_once() -> None:
    program: Program[str, str] = Program({"kept": Price(5, 10)})
    program.meet("one", [GoalAction(1, keeps=("kept",))])
    program.meet("other", [GoalAction(2, keeps=("kept",))])
    program.meet("top", [GoalAction(0, goals=("one", "other"))])
    assert program.steps("top") == (BudgetStep(5, 13, frozenset({"kept"})),)


def test_thinning_keeps_the_first_step_and_the_greatest_savings() -> None:
    costs = (100, 99, 60, 59, 20, 19)
    steps = tuple(BudgetStep(10 * i, cost, frozenset[str]()) for i, cost in enumerate(costs))
    assert [step.cost for step in thinned(steps, 3)] == [100, 60, 20]
    assert thinned(steps, MOST_STEPS) == steps
