"""Days of queries with lists and sets of a group whose order does not matter equal batch: sorted,
counted, searched; filtered, joined and grouped again; over rows that come and that go."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.properties.cases import Case, QueryCase, Select
from tests.properties.chunks import saved
from tests.properties.data import random_tables, with_withdrawals
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Engine, Outcome, RefusedError, run_case
from tests.properties.sessions import spark_session
from tests.selection import few

VALUES = ("a.n", "a.g", "a.m", "a.d", "a.n + a.k", "upper(a.g)", "b.n")
LISTS = (
    "collect_list({v})",
    "collect_set({v})",
    "collect_list(DISTINCT {v})",
    "collect_list({v}) FILTER (WHERE a.n > 0)",
    "array_agg({v})",
)
USES = (
    "array_sort({0})",
    "sort_array({0}, false)",
    "size({0})",
    "CAST(array_max({0}) AS STRING)",
    "CAST(array_min({0}) AS STRING)",
    "array_size({0}) + 1",
)
JOINED = (
    "listagg({v}, '-') WITHIN GROUP (ORDER BY {v})",
    "listagg({v}) WITHIN GROUP (ORDER BY {v} DESC)",
    "string_agg(DISTINCT {v}, ', ') WITHIN GROUP (ORDER BY {v})",
    "listagg({v}, '') WITHIN GROUP (ORDER BY {v}) FILTER (WHERE a.n > 0)",
)
PATHS = (
    "array_join(transform(array_sort(collect_list(struct(a.d, {v} AS v))), e -> e.v), '>')",
    "size(transform(sort_array(array_agg(named_struct('v', {v}, 'm', a.m)), false), e -> e.m))",
)
"""Of structs, in whose order the interpreter does not put them."""
TEXTS = ("a.g", "upper(a.g)", "CAST(a.n AS STRING)")
OUTER = (
    "{0}",
    "SELECT c1, count(*) AS n FROM ({0}) AS q GROUP BY c1",
    "SELECT q.c0, q.c1, r.n FROM ({0}) AS q LEFT JOIN t2 AS r ON q.c0 = r.k",
    "SELECT DISTINCT c1 FROM ({0}) AS q",
)


def lists_case(seed: int, joined_of: tuple[str, ...] = JOINED) -> Case:
    """A random day of a query with one or two lists by group."""
    rng = random.Random(f"lists-{seed}")
    runs = rng.randint(2, 4)
    tables = random_tables(rng, 3, runs)
    if seed % 3 == 0:
        growing = [name for name, table in tables.items() if table.changing]
        tables |= {name: with_withdrawals(rng, tables[name]) for name in growing}
    joined = rng.random() < 0.4
    values = VALUES if joined else VALUES[:-1]
    used = [_used(rng, values, joined_of) for _ in range(rng.randint(1, 2))]
    having = (f"size({rng.choice(LISTS[:2]).format(v='a.n')}) > 0",) if rng.random() < 0.3 else ()
    query = Select(
        items=("a.k", *used, *(("count(*)", "sum(a.n)") if rng.random() < 0.5 else ())),
        table="t0 a",
        where=("a.k IS NOT NULL",) if rng.random() < 0.3 else (),
        group=("a.k",),
        having=having,
    )
    if joined:
        query = replace(query, table="t0 a JOIN t1 b ON a.k = b.k")
    whole = QueryCase((query,), outer=rng.choice(OUTER))
    return Case(f"lists-{seed}", tables, whole, runs, early=rng.random() < 0.7)


def _used(rng: random.Random, values: tuple[str, ...], joined_of: tuple[str, ...]) -> str:
    if rng.random() < 0.3:
        return rng.choice(joined_of).format(v=rng.choice(TEXTS))
    value = rng.choice(values)
    return rng.choice(USES).format(rng.choice(LISTS).format(v=value))


def check(engine: Engine, seeds: range, joined_of: tuple[str, ...] = JOINED) -> Iterator[Outcome]:
    """Run the days; shrink and save the first that fails."""
    for seed in seeds:
        case = lists_case(seed, joined_of)
        try:
            yield run_case(case, engine, every_time_point=seed % 4 == 0, judge_kept=seed % 2 == 0)
        except RefusedError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, saved as {saved(case, engine, error)}") from error


@pytest.mark.parametrize("start", few(range(90_000, 90_600, 40), 2))
def test_equals_batch_without_an_engine(start):
    engine = InterpreterEngine()
    with engine.recording():
        found = list(check(engine, range(start, start + 40)))
    assert len(found) >= 38
    assert sum(one.kept > 0 for one in found) >= 15


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", few(range(91_000, 91_200, 20), 1))
def test_equals_batch_on_spark(start):
    both = JOINED + PATHS
    found = list(check(PlainSparkEngine(spark_session()), range(start, start + 20), both))
    assert len(found) >= 18
    assert sum(one.kept > 0 for one in found) >= 5
