"""Windows that are computed again of the partitions that a step touches, and kept of all others."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    SortKey,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, Column, ColumnId
from forerun.planner.api import plan
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.request import PlanRequest
from forerun.planner.rules.incremental.memo_rules import TVR_GENERATING
from forerun.planner.rules.methods.changed_partitions import RULE
from forerun.planner.search.engine import RuleEngine
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import SourceData
from tests.oracles.values import NotInterpretedError, row_key
from tests.planner.chosen_rules import chosen_rules
from tests.planner.memo.invariants import check_memo
from tests.properties.chunks import saved, starts
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import RefusedError, run_case
from tests.properties.generate import changelog_case, random_case
from tests.properties.histories import GROUP, KEY, NUMBER, History, random_history
from tests.properties.memo_values import RUN, Values
from tests.properties.sessions import spark_session
from tests.selection import few

HOLDS = (RULE.name,)
"""The rule that this file holds against rows."""
CASES, DAYS = 300, 40


def windows(rng: random.Random, history: History) -> Relation:
    """Windows of a history with what stands above them. Where the order of rows matters, it tells
    all of them apart that are not equal."""
    columns = {column.name: column for column in history.columns}
    partition = tuple(columns[name] for name in rng.choice(((KEY,), (GROUP,), (KEY, GROUP))))
    name = rng.choice(("row_number", "rank", "lag", "sum"))
    keys = list(history.columns) if name != "rank" else [columns[NUMBER]]
    rng.shuffle(keys)
    order = tuple(SortKey(key, rng.random() < 0.5, rng.random() < 0.5) for key in keys)
    args = (Ref(columns[NUMBER]),) if name in ("lag", "sum") else ()
    made = Column(ColumnId(5000), "made", BIGINT if name == "sum" else INT)
    calls = [(made, WindowCall(name, args, partition, order))]
    if rng.random() < 0.4:  # beside it one of fewer, more or other partitions
        others = tuple(columns[name] for name in rng.choice(((KEY,), (GROUP,), (KEY, GROUP))))
        beside = Column(ColumnId(5003), "beside", BIGINT)
        calls.append((beside, WindowCall("count", (), others, ())))
    rows: Relation = Window(history.scan, tuple(calls))
    if rng.random() < 0.4:
        few_of = (partition[0], columns[NUMBER], *(column for column, _ in calls))
        rows = Project(rows, tuple((column, Ref(column)) for column in few_of))
    if rng.random() < 0.4:
        rows = Filter(rows, Call(">", (Ref(made), Literal("1", made.type)), BOOLEAN))
    if rng.random() < 0.3:
        again = Column(ColumnId(5001), "again", BIGINT)
        rows = Window(rows, ((again, WindowCall("count", (), partition[:1], ())),))
    if rng.random() < 0.4:
        counted = Column(ColumnId(5002), "counted", BIGINT)
        by = (partition[0], made) if rng.random() < 0.5 else partition[:1]
        rows = Aggregate(rows, by, ((counted, AggregateCall("count", ())),))
    return rows


def test_what_is_touched_is_computed_again_and_the_rest_stays() -> None:
    found = 0
    for seed in range(CASES):
        rng = random.Random(f"changed-{seed}")
        history = random_history(rng, "s", 100, 2, signed=False, changing=True)
        memo = Memo(frozenset({"s"}))
        root = memo.add(windows(rng, history))
        RuleEngine(memo, (*TVR_GENERATING, RULE), ColumnIds(ColumnId(9000)), 1000).run()
        check_memo(memo)
        came = [row for row, weight in history.deltas[1] for _ in range(weight)]
        data = SourceData(tuple(c.name for c in history.columns), history.rows(1), came)
        values = Values(memo, {"s": data})
        values.check()
        for tvr in memo.tvrs:
            if (Version.NEW, View.SPLIT) not in tvr.edges:
                continue
            found += 1
            again = values.of(tvr.edges[Version.NEW, View.SPLIT], RUN)
            whole = values.of(tvr.new, RUN)
            assert Counter(map(row_key, again)) == Counter(map(row_key, whole)), f"seed {seed}"
        assert memo.leader(root) == root
    assert found > CASES // 2


def check(engine: InterpreterEngine | PlainSparkEngine, seeds: range) -> int:
    """Run the days, each as if every run were the last one, and what is kept judged; return how
    many computed some partitions again. Shrink and save the first that fails."""
    chosen = 0

    def planned(request: PlanRequest):
        nonlocal chosen
        result = plan(request)
        chosen += chosen_rules(result)[RULE.name] > 0
        return result

    for seed in seeds:
        case = (changelog_case if seed % 4 == 0 else random_case)(seed, "changed")
        try:
            run_case(case, engine, every_time_point=True, judge_kept=True, planned=planned)
        except (RefusedError, NotInterpretedError):
            continue
        except Exception as error:
            where = saved(case, engine, error)
            raise AssertionError(f"seed {seed} ({case.name}), saved as {where}") from error
    return chosen


@pytest.mark.parametrize("start", starts(60_000, 20 * DAYS, DAYS, fast=DAYS))
def test_days_of_windows_equal_batch(start: int) -> None:
    engine = InterpreterEngine()
    with engine.recording():
        assert check(engine, range(start, start + DAYS)) > DAYS // 5


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", few(range(61_000, 61_100, 20), 1))
def test_days_of_windows_equal_batch_on_spark(start: int) -> None:
    check(PlainSparkEngine(spark_session()), range(start, start + 20))
