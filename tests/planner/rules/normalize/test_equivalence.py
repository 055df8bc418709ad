"""Every single rewrite of random relations keeps columns and rows; a fault names its rule."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from forerun.planner.algebra.fingerprint import canonical
from forerun.planner.algebra.relational import Join, JoinKind, Limit, Project, Relation, Sort, walk
from forerun.planner.rules.normalize import driver
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.rules.normalize.safety import can_fail
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import Inputs
from tests.planner.rules.normalize.trees import (
    SOURCES,
    Builder,
    check_columns_unique,
    check_rewrite,
    random_inputs,
)
from tests.selection import need_all

CASES = 1500
BLOCKS = 10
fired: Counter[str] = Counter()


def case(seed: int) -> tuple[Builder, Relation, list[Inputs]]:
    rng = random.Random(seed)
    builder = Builder(rng)
    relation = builder.relation(rng.choice((2, 3, 4, 5)))
    return builder, relation, [random_inputs(rng) for _ in range(3)]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_rewrite_keeps_the_answer(block: int) -> None:
    for seed in range(block * CASES // BLOCKS, (block + 1) * CASES // BLOCKS):
        builder, relation, data = case(seed)
        eager: list[bool] = []

        def observe(
            name: str,
            before: Relation,
            after: Relation,
            data: list[Inputs] = data,
            eager: list[bool] = eager,
        ) -> None:
            fired[name] += 1
            # A key that can fail is computed for rows without partners, as Spark does.
            eager.append(name == "JoinKeysToColumns" and can_fail_in_key(after))
            for inputs in data[:1]:
                check_rewrite(name, before, after, inputs, may_fail=any(eager))

        try:
            result = normalize(relation, SOURCES, ColumnIds(builder.last_id), observe)
            check_columns_unique("normalize", result)
            for inputs in data:
                check_rewrite("UniqueColumns", relation, result, inputs, may_fail=any(eager))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        # Rules that undo each other would burn the budget without a wrong answer.
        assert len(eager) <= 10 * (1 + sum(1 for _ in walk(relation))), f"seed {seed} oscillates"
        check_normal_form(result)


def can_fail_in_key(relation: Relation) -> bool:
    return any(
        column.name == "key" and can_fail(scalar)
        for node in walk(relation)
        if isinstance(node, Project)
        for column, scalar in node.items
    )


def check_normal_form(relation: Relation) -> None:
    parents = {id(child): node for node in walk(relation) for child in node.inputs}
    for node in walk(relation):
        assert not (isinstance(node, Join) and node.kind is JoinKind.RIGHT)
        if isinstance(node, Sort):
            above = parents.get(id(node))
            while above is not None and not isinstance(above, Limit):
                assert type(above).__name__ in ("Project", "Filter"), "a sort nobody sees"
                above = parents.get(id(above))


def test_the_cases_fire_every_rule(request: pytest.FixtureRequest) -> None:
    """Otherwise the test above proves nothing of the rules that did not fire."""
    need_all(request, test_every_rewrite_keeps_the_answer, BLOCKS)
    rules = {rule.name for rule in (*driver.PUSH, *driver.IMPLY, *driver.KEYS, *driver.CLEAN)}
    passes = {"UniqueColumns", "DropInnerSorts", "ReorderJoins", "PruneColumns"}
    assert {name: fired[name] for name in rules | passes if fired[name] < 5} == {}


def test_same_input_same_plan_and_a_second_time_nothing_new() -> None:
    for seed in range(200):
        builder, relation, data = case(seed)
        ids = ColumnIds(builder.last_id)
        first = normalize(relation, SOURCES, ids)
        assert first == normalize(relation, SOURCES, ColumnIds(builder.last_id))
        again = normalize(first, SOURCES, ids)
        check_rewrite("UniqueColumns", relation, again, data[0], may_fail=True)
        assert len(canonical(again)) <= 2 * len(canonical(first))
