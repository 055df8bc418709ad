"""Days whose joins are by bands or by intervals: rows that are near one another, or in one another,
are found by buckets, and every day equals batch."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from forerun.planner.api import plan
from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.execute import Day, request_of, run_case
from tests.properties.sessions import spark_session

RUNS, DAYS = 3, 16
COLUMNS = (
    ("k", "BIGINT"), ("i", "INT"), ("d", "DATE"), ("t", "TIMESTAMP"), ("v", "INT"),
    ("m", "DECIMAL(18,2)"), ("ke", "BIGINT"), ("de", "DATE"), ("te", "TIMESTAMP"),
    ("me", "DECIMAL(18,2)"),
)  # fmt: skip
BANDS = (
    "b.k BETWEEN a.k - 2 AND a.k + 3",
    "b.k >= a.i - 1 AND b.k < a.i + 1",
    "b.d BETWEEN a.d AND date_add(a.d, 2)",
    "b.d > a.d - INTERVAL 3 DAYS AND b.d <= a.d",
    "datediff(b.d, a.d) BETWEEN 1 AND 3",
    "b.t BETWEEN a.t AND a.t + INTERVAL 2 HOURS",
    "b.t BETWEEN a.t - INTERVAL 1 DAY AND a.t - INTERVAL 5 MINUTES",
    "b.m BETWEEN a.m - 0.05 AND a.m + 1",
    "b.m > a.m + 0.5 AND b.m <= a.m + 2.25",
    "abs(a.m - b.m) < 0.75",
    "abs(datediff(b.d, a.d)) <= 2",
)
INTERVALS = (
    "b.k BETWEEN a.k AND a.ke",
    "a.i > b.k AND a.i <= b.ke",
    "b.d >= a.d AND b.d < a.de",
    "a.d BETWEEN b.d AND coalesce(b.de, DATE'9999-12-31')",
    "b.d >= a.d AND (b.d < a.de OR a.de IS NULL)",
    "b.k <= a.ke AND (a.k < b.k OR a.k IS NULL)",
    "(a.ke IS NULL OR b.k <= a.ke) AND (a.k < b.k OR a.k IS NULL)",
    "a.t BETWEEN b.t AND b.te",
    "b.t > a.t AND b.t <= a.te AND b.t <> a.te",
    "b.d BETWEEN a.t AND a.te",
    "b.d BETWEEN a.d AND date_add(a.d, a.v)",
    "a.m BETWEEN b.m AND b.me",
)
EDGES = (2**63 - 9, 2**63 - 10, -(2**63) + 9, -(2**63) + 10)
"""Numbers near the largest: what is added to them by the queries themselves still fits."""


def text(rng: random.Random, conditions: tuple[str, ...]) -> str:
    condition = rng.choice(conditions) + rng.choice(("", "", " AND a.v <> b.v", " AND a.v < 3"))
    if rng.random() < 0.3:
        word = rng.choice(("EXISTS", "NOT EXISTS"))
        return f"SELECT a.k, a.v FROM t0 a WHERE {word} (SELECT 1 FROM t1 b WHERE {condition})"
    kind = rng.choice(("JOIN", "JOIN", "LEFT JOIN"))
    rows = f"t0 a {kind} {rng.choice(('t0', 't1'))} b ON {condition}"
    return rng.choice((
        f"SELECT a.k, a.v, b.v AS w FROM {rows}",
        f"SELECT a.v, count(*) AS n, sum(b.v) AS s, count(b.k) AS m FROM {rows} GROUP BY a.v",
        f"SELECT max(b.d) AS d, min(a.k) AS k FROM {rows}",
    ))  # fmt: skip


def day(seed: int, conditions: tuple[str, ...] = BANDS) -> Case:
    rng = random.Random(seed)
    noon = datetime(2026, 3, 29, 1)  # clocks change here and there

    def ends() -> tuple[Value, ...]:
        if rng.random() < 0.1:
            return 2**63 - 1, date(9999, 12, 31), datetime(9999, 12, 31), Decimal(10**18 - 1) / 100
        long = rng.choice((1, 20, 400, 10_000)) * rng.randrange(-1, 8)
        return (
            long - 8,
            date(2026, 3, 26) + timedelta(days=long % 20_000),
            noon + timedelta(seconds=long * rng.choice((1, 60, 3600))),
            Decimal(long - 4),
        )

    def row() -> tuple[Value, ...]:
        number = rng.choice(EDGES) if rng.random() < 0.1 else rng.randrange(-8, 9)
        moment = noon + timedelta(minutes=rng.randrange(-300, 300))
        values = (
            number,
            rng.randrange(-8, 9),
            date(2026, 3, rng.randint(25, 31)),
            moment,
            rng.randrange(5),
            Decimal(
                rng.choice((10**18 - 1, 1 - 10**18))
                if number in EDGES
                else rng.randrange(-400, 400)
            )
            / 100,
            *ends(),
        )
        return tuple(None if rng.random() < 0.1 else value for value in values)

    def rows() -> tuple[tuple[Value, ...], ...]:
        return tuple(row() for _ in range(rng.randint(0, 6)))

    tables = {}
    for name in ("t0", "t1"):
        came = tuple(rows() for _ in range(RUNS))
        gone = ((), *(tuple(rng.sample(part, min(1, len(part)))) for part in came[:-1]))
        tables[name] = TableCase(COLUMNS, True, came, gone if rng.random() < 0.4 else ())
    query = QueryCase((Select(("1",), "t0"),), outer=text(rng, conditions))
    return Case(f"banded-{seed}", tables, query, RUNS, early=rng.random() < 0.8)


def uses_buckets(case: Case, rule: str = "BandedJoin") -> bool:
    """Return whether the plan that is chosen for a day joins by buckets, by a rule."""
    chosen = plan(request_of(case, 1, case.runs, Day(), case.early)).decision.chosen.extracted
    return chosen is not None and any(
        entry.expression is not None and entry.expression.origin == rule
        for entries in chosen.solution.entries
        for entry in entries.values()
    )


def test_days_with_joins_by_bands_equal_batch() -> None:
    engine, used, kept = InterpreterEngine(), 0, 0
    with engine.recording():
        for seed in range(DAYS):
            case = day(seed)
            kept += run_case(case, engine).kept > 0
            used += uses_buckets(case)
    assert min(used, kept) > DAYS // 2


def test_days_with_joins_by_intervals_equal_batch() -> None:
    engine, used, kept = InterpreterEngine(), 0, 0
    with engine.recording():
        for seed in range(DAYS):
            case = day(seed, INTERVALS)
            kept += run_case(case, engine).kept > 0
            used += uses_buckets(case, "IntervalJoin")
    assert min(used, kept) > DAYS // 2


@pytest.mark.parametrize("word", ["LEFT", "LEFT ANTI", "LEFT SEMI"])
def test_rows_of_one_value_of_which_one_alone_has_a_partner(word: str) -> None:
    columns = (("k", "BIGINT"), ("ke", "BIGINT"), ("v", "INT"))
    tables = {
        "t0": TableCase(columns, True, (((5, 0, 1),), ((5, 0, 2), (5, 0, None))), ()),
        "t1": TableCase(columns, True, (((4, 6, 1),), ()), ()),
    }
    sql = f"SELECT a.v FROM t0 a {word} JOIN t1 b ON a.k BETWEEN b.k AND b.ke AND a.v <> b.v"
    case = Case("alone", tables, QueryCase((Select(("1",), "t0"),), outer=sql), 2, early=True)
    engine = InterpreterEngine()
    with engine.recording():
        run_case(case, engine)
    assert uses_buckets(case, "IntervalJoin")


@pytest.mark.spark
def test_and_on_spark() -> None:
    engine = PlainSparkEngine(spark_session())
    banded = [case for case in map(day, range(DAYS, 2 * DAYS)) if uses_buckets(case)][:8]
    assert all(run_case(case, engine).kept > 0 for case in banded if case.early)
