"""Generated days of sources with a declared key: rows that have met their only partner are not
kept, the result is that of batch, and a key that does not hold is noticed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice

import pytest

from forerun.planner.api import plan
from forerun.planner.rules.methods import higher_order
from forerun.planner.rules.methods.only_partner import REPEATED, RULE
from tests.oracles.values import EvaluationError, NotInterpretedError, Row
from tests.properties.cases import Case, JoinClause, QueryCase, Select, TableCase
from tests.properties.data import COLUMNS
from tests.properties.engines import InterpreterEngine, PlainSailEngine, PlainSparkEngine
from tests.properties.execute import Day, Engine, RefusedError, request_of, run_case
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session, spark_session

KINDS = ("flat", "flat", "grouped", "shared")
CASES = 20
SAYS = 96_010
"""A day on which the plan needs the key that does not hold."""


def with_key(table: TableCase) -> TableCase:
    """The same without rows whose key came before; NULL is no key."""
    seen: set[object] = set()
    deliveries: list[tuple[Row, ...]] = []
    for delivery in table.deliveries:
        new = []
        for row in delivery:
            if row[0] is None or row[0] not in seen:
                new.append(row)
                seen.add(row[0])
        deliveries.append(tuple(new))
    return replace(table, deliveries=tuple(deliveries), key=(table.columns[0][0],))


def keyed_case(seed: int, *, for_sail: bool = False) -> Case:
    """Most tables have a key; mostly there is no other way for deltas of joins."""
    rng = random.Random(f"keys-{seed}")
    case = random_case(seed, rng.choice(KINDS), for_sail=for_sail)
    tables = {n: with_key(t) if rng.random() < 0.8 else t for n, t in case.tables.items()}
    others = ("InnerJoinDelta", higher_order.DELTA.name, "JoinOrders")
    off = others if rng.random() < 0.8 else ()
    return replace(case, tables=tables, off=off, early=rng.random() < 0.8)


def keyed_cases(first: int, *, for_sail: bool = False) -> Iterator[tuple[int, Case]]:
    """The next cases of which the plan uses the rule."""
    given = ((seed, keyed_case(seed, for_sail=for_sail)) for seed in count(first))
    joined = ((seed, case) for seed, case in given if ".k = " in case.query.sql)
    return islice(((seed, case) for seed, case in joined if uses_the_rule(case)), CASES)


def uses_the_rule(case: Case) -> bool:
    """Whether the plan of the day does."""
    chosen = plan(request_of(case, 1, case.runs, Day(), case.early)).decision.chosen.extracted
    if chosen is None:
        return False
    return any(
        entry.expression is not None and entry.expression.origin == RULE.name
        for index, entries in enumerate(chosen.solution.entries)
        for place, entry in entries.items()
        if (index, place[0]) in chosen.worked
    )


def run(case: Case, engine: Engine, *, judge: bool) -> bool:
    try:
        run_case(case, engine, judge_kept=judge)
    except (RefusedError, NotInterpretedError):
        return False
    return True


def test_days_of_sources_with_keys_equal_batch_without_an_engine() -> None:
    engine, found = InterpreterEngine(), 0
    with engine.recording():
        for seed, case in keyed_cases(96_000):
            try:
                found += run(case, engine, judge=True)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {case.query.sql}: {error}") from error
    assert found >= 0.9 * CASES


def test_days_of_sources_with_keys_equal_batch_on_sail() -> None:
    engine, found = PlainSailEngine(sail_session()), 0
    for seed, case in keyed_cases(97_000, for_sail=True):
        try:
            found += run(case, engine, judge=False)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {case.query.sql}: {error}") from error
    assert found >= 0.9 * CASES


def repeated(seed: int, table: TableCase) -> TableCase:
    """The same, and the last delivery has a row again that came first."""
    rng = random.Random(seed)
    first = [row for row in table.deliveries[0] if row[0] is not None]
    if not table.changing or not table.key or not first:
        return table
    *others, last = table.deliveries
    return replace(table, deliveries=(*others, (*last, rng.choice(first))))


def test_a_key_that_does_not_hold_fails_the_run_or_does_no_harm() -> None:
    engine, failed = InterpreterEngine(), 0
    with engine.recording():
        for seed, case in keyed_cases(96_000):
            broken = {name: repeated(seed, table) for name, table in case.tables.items()}
            try:
                run(replace(case, tables=broken), engine, judge=False)
            except EvaluationError:
                failed += 1
            except Exception as error:
                raise AssertionError(f"seed {seed}: {case.query.sql}: {error}") from error
    assert failed >= CASES // 3


def test_an_engine_says_what_is_wrong() -> None:
    engine = PlainSailEngine(sail_session())
    seed, case = SAYS, keyed_case(SAYS)
    broken = {name: repeated(seed, table) for name, table in case.tables.items()}
    with pytest.raises(Exception, match=REPEATED.split("{", maxsplit=1)[0]):
        run(replace(case, tables=broken), engine, judge=False)


@pytest.mark.spark
def test_the_check_stays_where_what_is_above_rejects_null() -> None:
    """The join with ``c`` has no partner for a NULL: Spark would drop rows of NULLs, and with them
    the check that they come of."""

    def row(k: int, n: int = 0) -> Row:
        return (k, "a", n, None, None, None)

    def table(*deliveries: tuple[Row, ...]) -> TableCase:
        return TableCase(COLUMNS, True, deliveries, key=("k",))

    joins = (JoinClause("JOIN", "t1 b", ("a.k = b.k",)), JoinClause("JOIN", "t2 c", ("b.n = c.k",)))
    tables = {
        "t0": replace(table((row(1, 1), row(1, 2)), (row(2, 1),)), key=()),
        "t1": table((row(1, 3),), (row(1, 4), row(5, 5))),
        "t2": table((row(3),), (row(4),)),
    }
    query = QueryCase((Select(("a.n", "b.n", "c.k"), "t0 a", joins),))
    others = ("InnerJoinDelta", higher_order.DELTA.name, "JoinOrders")
    case = Case("rejected", tables, query, 2, early=True, off=others)
    assert uses_the_rule(case)
    with pytest.raises(Exception, match=REPEATED.split("{", maxsplit=1)[0]):
        run(case, PlainSparkEngine(spark_session()), judge=False)
