"""The first rows of partitions, from the rows that each run has kept of its own delivery."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from forerun.planner.algebra.relational import (
    Filter,
    Project,
    Relation,
    SortKey,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref
from forerun.planner.algebra.types import BOOLEAN, INT, Column, ColumnId
from forerun.planner.api import plan
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.request import PlanRequest
from forerun.planner.rules.incremental.memo_rules import TVR_GENERATING
from forerun.planner.rules.methods.contenders import RULE
from forerun.planner.search.engine import RuleEngine
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import SourceData
from tests.oracles.values import row_key
from tests.planner.chosen_rules import chosen_rules
from tests.planner.memo.invariants import check_memo
from tests.properties.chunks import starts
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import run_case
from tests.properties.generate import random_case
from tests.properties.histories import GROUP, KEY, NUMBER, History, random_history
from tests.properties.memo_values import BASE, RUN, Values

HOLDS = (RULE.name,)
"""The rule that this file holds against rows."""
CASES, DAYS = 300, 40


def first_rows(rng: random.Random, history: History) -> Relation:
    """A filter on the numbers of the rows of a history. Where they are numbered one by one, their
    order tells all rows apart that are not equal."""
    columns = {column.name: column for column in history.columns}
    partition = tuple(columns[name] for name in rng.choice(((), (KEY,), (KEY, GROUP))))
    name = rng.choice(("row_number", "rank", "dense_rank"))
    keys = list(history.columns) if name == "row_number" else [columns[NUMBER], columns[GROUP]]
    rng.shuffle(keys)
    if name != "row_number":
        keys = keys[: rng.randint(1, 2)]
    order = tuple(SortKey(key, rng.random() < 0.5, rng.random() < 0.5) for key in keys)
    number = Column(ColumnId(5000), "number", INT)
    rows: Relation = Window(history.scan, ((number, WindowCall(name, (), partition, order)),))
    if rng.random() < 0.5:  # as where a column of the order is not read above
        kept = (columns[KEY], columns[NUMBER], number)
        rows = Project(rows, tuple((column, Ref(column)) for column in kept))
    limit = Literal(str(rng.randint(1, 3)), INT)
    left, right = Ref(number), limit
    test = Call(rng.choice(("<=", "=", "<")), (left, right), BOOLEAN)
    if rng.random() < 0.3:
        test = Call(rng.choice((">=", ">")), (right, left), BOOLEAN)
    return Filter(rows, test)


def test_first_rows_are_among_what_the_runs_have_kept() -> None:
    """Whether the second run's rows were looked through when they came, or are taken as they are;
    and as every memo, also from all rows at once."""
    found = 0
    for seed in range(CASES):
        rng = random.Random(f"contenders-{seed}")
        history = random_history(rng, "s", 100, 2, signed=False, changing=True)
        memo = Memo(frozenset({"s"}))
        root = memo.add(first_rows(rng, history))
        RuleEngine(memo, (*TVR_GENERATING, RULE), ColumnIds(ColumnId(9000)), 1000).run()
        check_memo(memo)
        came = [row for row, weight in history.deltas[1] for _ in range(weight)]
        data = SourceData(tuple(c.name for c in history.columns), history.rows(1), came)
        Values(memo, {"s": data}).check()
        made = [one for one in memo.alternatives(root) if one.origin == RULE.name]
        if not made:
            continue
        found += 1
        expected = Counter(map(row_key, Values(memo, {"s": data}).of(root, RUN)))
        (kept,) = [tvr for tvr in memo.tvrs if (Version.NEW, View.CONTENDERS) in tvr.edges]
        states = memo.leader(kept.edges[Version.NEW, View.CONTENDERS])
        for view in (View.CONTENDERS, View.SINGLES):
            values = Values(memo, {"s": data})
            added = values.of(kept.edges[Version.DELTA, view], RUN)
            values.know(states, RUN, values.of(states, BASE) + added)
            for one in made:
                rows = values.of_expression(one, RUN)
                assert Counter(map(row_key, rows)) == expected, f"seed {seed}, {view}"
    assert found > CASES // 2


@pytest.mark.parametrize("start", starts(40_000, 5 * DAYS, DAYS, fast=DAYS))
def test_days_of_ranked_rows_equal_batch(start: int) -> None:
    engine, chosen = InterpreterEngine(), 0

    def planned(request: PlanRequest):
        nonlocal chosen
        result = plan(request)
        chosen += chosen_rules(result)[RULE.name] > 0
        return result

    with engine.recording():
        for seed in range(start, start + DAYS):
            case = random_case(seed, "ranked")
            run_case(case, engine, every_time_point=seed % 2 == 0, planned=planned)
    assert chosen > DAYS // 5
