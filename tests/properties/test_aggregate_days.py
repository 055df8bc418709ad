"""Days of reports with every kind of aggregate function that has a state: the result is that of
batch, on the interpreter and on Sail, whether or not rows are taken back; and the functions are
kept early, where they can be."""

from __future__ import annotations

import random

import pytest

from tests.oracles.values import Value
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.engines import InterpreterEngine, PlainSailEngine
from tests.properties.execute import Engine, Outcome, run_case
from tests.properties.sessions import sail_session
from tests.selection import few

RUNS = 4
DAYS = 2
COLUMNS = (("k", "BIGINT"), ("g", "STRING"), ("n", "INT"), ("x", "DOUBLE"), ("b", "BOOLEAN"))
SPREADS = "stddev({0}) AS a, stddev_pop({0}) AS b, variance({0}) AS c, var_pop({0}) AS d"
QUERIES = {
    "spreads": f"SELECT g, {SPREADS.format('x')} FROM t0 GROUP BY g",
    "spreads-of-all": f"SELECT {SPREADS.format('n')} FROM t0",
    "pairs": "SELECT g, covar_samp(x, n) AS a, covar_pop(n, x) AS b, count(*) AS n FROM t0 "
    "GROUP BY g",
    "shapes": "SELECT g, skewness(x) AS a, kurtosis(x) AS b, kurtosis(n) AS c, count(*) AS n "
    "FROM t0 GROUP BY g",
    "shapes-of-all": "SELECT skewness(n) FILTER (WHERE k > 0) AS a, kurtosis(x) AS b FROM t0",
    "correlation": "SELECT corr(k, x) AS r FROM t0",
    "truths": "SELECT g, every(b) AS a, bool_or(b) AS o, count_if(b) AS n, mean(n) AS m FROM t0 "
    "GROUP BY g",
    "having": "SELECT g, bool_or(b) AS o FROM t0 GROUP BY g HAVING some(n > 3) AND count_if(b) > 0",
    "nested-truths": "SELECT o, count(*) AS n FROM (SELECT g, n, bool_and(b) AS o FROM t0 "
    "GROUP BY g, n) q GROUP BY o",
    "joined": "SELECT a.g, std(a.x) AS s, bool_and(c.b) AS t FROM t0 a JOIN t1 c ON a.k = c.k "
    "GROUP BY a.g",
    "best": "SELECT g, max_by(m, k) AS late, min_by(m, k) AS soon FROM (SELECT g, k, max(n) AS m "
    "FROM t0 GROUP BY g, k) q GROUP BY g",
    "places": "SELECT g, percentile_disc(0.3) WITHIN GROUP (ORDER BY n) AS a, "
    "percentile_disc(0.75) WITHIN GROUP (ORDER BY n DESC) FILTER (WHERE b) AS c, "
    "percentile_cont(0.2) WITHIN GROUP (ORDER BY n DESC) AS d, median(n) AS m, sum(k) AS s "
    "FROM t0 GROUP BY g",
    "joined-in-order": "SELECT b, listagg(g, '-') WITHIN GROUP (ORDER BY n) AS up, "
    "listagg(g) WITHIN GROUP (ORDER BY n DESC) FILTER (WHERE k > 0) AS down FROM "
    "(SELECT DISTINCT b, n, 'g' || abs(n) AS g, max(k) AS k FROM t0 GROUP BY b, n) q GROUP BY b",
    "any": "SELECT k, any_value(k + 1) AS a, first(k) AS f, count(*) AS n FROM t0 GROUP BY k",
}


def table(rng: random.Random, *, takes_back: bool) -> TableCase:
    def row() -> tuple[Value, ...]:
        return (
            rng.randrange(4),
            rng.choice(("a", "b", None)),
            rng.choice((None, -2, 0, 3, 6)),
            rng.choice((None, 0.1, 0.2, 13.7, -0.4)),
            rng.choice((None, True, False)),
        )

    deliveries = [tuple(row() for _ in range(rng.randint(1, 7))) for _ in range(RUNS)]
    gone: list[tuple[tuple[Value, ...], ...]] = [()]
    gone += [tuple(rng.sample(part, 1)) for part in deliveries[:-1]]
    return TableCase(COLUMNS, True, tuple(deliveries), tuple(gone) if takes_back else ())


def day(name: str, seed: int, engine: Engine, *, takes_back: bool) -> Outcome:
    rng = random.Random(f"{name}-{seed}")
    tables = {t: table(rng, takes_back=takes_back) for t in ("t0", "t1")}
    query = QueryCase((Select(("1",), "t0"),), outer=QUERIES[name])
    case = Case(f"{name}-{seed}", tables, query, RUNS, early=True)
    return run_case(case, engine, every_time_point=True)


@pytest.mark.parametrize("takes_back", [False, True])
@pytest.mark.parametrize("name", few(QUERIES, 5))
def test_a_day_equals_batch_without_an_engine(name: str, takes_back: bool) -> None:
    for seed in range(DAYS):
        engine = InterpreterEngine()
        with engine.recording():
            found = day(name, seed, engine, takes_back=takes_back)
        assert found.kept > 0


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return PlainSailEngine(sail_session())


@pytest.mark.parametrize("name", QUERIES)
def test_a_day_equals_batch_on_sail(name: str, sail: PlainSailEngine) -> None:
    assert day(name, DAYS, sail, takes_back=False).kept > 0


def test_a_declared_key_that_does_not_hold_is_noticed() -> None:
    """A wrong key may not change an answer: several values of a group are an error."""
    name = "SELECT k, any_value(g) AS g, count(*) AS n FROM t0 GROUP BY k"
    for rows, holds in ((((1, "a"), (2, None)), True), (((1, "a"), (1, "b")), False)):
        columns = (("k", "BIGINT"), ("g", "STRING"))
        tables = {"t0": TableCase(columns, True, tuple((row,) for row in rows), key=("k",))}
        query = QueryCase((Select(("1",), "t0"),), outer=name)
        engine = InterpreterEngine()
        case = Case("declared", tables, query, len(rows), early=True)
        with engine.recording():
            if holds:
                assert run_case(case, engine).kept > 0
                continue
            with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):
                run_case(case, engine)
