"""Estimates that are counted in a sample, beside those that are guessed."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from decimal import Decimal

import pytest

from forerun.planner.algebra.relational import Filter
from forerun.planner.algebra.scalar import TRUE, Ref, conjuncts
from forerun.planner.algebra.types import BIGINT, DATE, DOUBLE, STRING, Column
from forerun.planner.api import plan
from forerun.planner.errors import RequestError
from forerun.planner.request import (
    ColumnStats,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.sampling import filtered_sources
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.estimate import Estimator
from forerun.planner.stats.sample import Sample, distinct_values, error
from tests.planner.scalars import call, literal
from tests.planner.starts import CHEAP_RUNS

ROWS = 1000
RANDOM = random.Random(7)
NUMBERS = [RANDOM.randrange(100) for _ in range(ROWS)]
SALES = Source(
    name="sales",
    columns=(
        SourceColumn(name="n", type=BIGINT),
        SourceColumn(name="same", type=BIGINT),
        SourceColumn(name="note", type=STRING),
        SourceColumn(name="day", type=DATE),
        SourceColumn(name="ratio", type=DOUBLE),
        SourceColumn(name="other", type=STRING),
    ),
    changing=True,
    rows=1_000_000,
    stats=tuple((name, ColumnStats(minimum="0", maximum="99")) for name in ("n", "same")),
)
SAMPLED = replace(
    SALES,
    sample=(
        ("n", tuple(Decimal(n) for n in NUMBERS)),
        ("same", tuple(Decimal(n) for n in NUMBERS)),
        ("note", tuple("special" if n % 2 else None if n % 10 == 0 else "plain" for n in NUMBERS)),
        ("day", tuple(dt.date(2026, 1, 31) + dt.timedelta(days=n) for n in NUMBERS)),
        ("ratio", tuple(n / 100 for n in NUMBERS)),
    ),
)


def selected(where: str, source: Source = SAMPLED) -> float:
    """The share of the rows that is estimated to pass."""
    query = read_query(f"SELECT * FROM sales WHERE {where}", (source,))
    return Estimator((source,)).rows(query.relation) / source.rows


def counted(holds: list[bool]) -> float:
    return sum(holds) / ROWS


@pytest.mark.parametrize(
    ("where", "truth"),
    [
        ("n < 50 AND same < 50", counted([n < 50 for n in NUMBERS])),
        ("n < 50 AND same >= 50", 0.0),
        ("note LIKE 'sp%al'", counted([n % 2 == 1 for n in NUMBERS])),
        ("note NOT LIKE 's_ecial'", counted([n % 2 == 0 and n % 10 > 0 for n in NUMBERS])),
        ("note IS NULL", counted([n % 10 == 0 for n in NUMBERS])),
        ("day + INTERVAL '1' MONTH < DATE'2026-03-01'", counted([n == 0 for n in NUMBERS])),
        ("month(day) = 2", counted([0 < n < 29 for n in NUMBERS])),
        ("ratio BETWEEN 0.1 AND 0.2", counted([10 <= n <= 20 for n in NUMBERS])),
        ("CASE WHEN n % 2 = 1 THEN 'a' ELSE note END IN ('a', 'x')", None),
        ("n * 2 - same > 90 OR substring(note, 1, 2) = 'pl'",
         counted([n > 90 or (n % 2 == 0 and n % 10 > 0) for n in NUMBERS])),
    ],
)  # fmt: skip
def test_what_passes_is_counted(where, truth):
    if truth is None:  # % is not evaluated: the guess stays, to the digit
        assert selected(where) == selected(where, SALES)
        return
    assert selected(where) == pytest.approx(truth, abs=1.5 / ROWS)
    assert abs(selected(where) - truth) < abs(selected(where, SALES) - truth)


def test_what_no_sampled_row_passes_may_still_be_passed_by_some():
    assert 0.0 < selected("n > 200") < 1 / ROWS
    assert selected("note LIKE 'never%'") == pytest.approx(0.05 / (ROWS + 1))


def test_what_cannot_be_told_stays_a_guess_beside_what_can():
    """``other`` was not drawn."""
    alone = selected("other LIKE '%x%'")
    assert alone == selected("other LIKE '%x%'", SALES)
    assert selected("other LIKE '%x%' AND note IS NULL") == pytest.approx(
        alone * selected("note IS NULL")
    )


@pytest.mark.parametrize(
    "where", ["1 / n > 0.5", "year(note) = 2026", "trim(n) = '1'", "length(n) > 1", "abs(note) > 1"]
)
def test_a_value_that_fails_or_would_be_cast_is_no_answer(where):
    assert selected(where) == selected(where, SALES)


def test_filters_one_above_the_other_count_the_rows_of_both():
    relation = read_query("SELECT * FROM sales WHERE n < 50", (SAMPLED,)).relation
    low = next(_filters(relation))
    same = next(column for column in low.columns if column.name == "same")
    high = Filter(low, call(">=", Ref(same), literal("40", BIGINT)))
    found = Estimator((SAMPLED,)).estimate(high)
    assert found.rows / SAMPLED.rows == pytest.approx(
        counted([40 <= n < 50 for n in NUMBERS]), rel=0.02
    )
    assert found.sample is not None
    assert found.sample.columns[same.id] == [Decimal(n) for n in NUMBERS if 40 <= n < 50]


def _filters(relation):
    stack = [relation]
    while stack:
        node = stack.pop()
        if isinstance(node, Filter):
            yield node
        stack.extend(node.inputs)


def test_conjuncts_are_told_apart():
    relation = read_query("SELECT * FROM sales WHERE n < 50 AND other = 'x'", (SAMPLED,)).relation
    node = next(_filters(relation))
    columns = {c.id: dict(SAMPLED.sample)[c.name] for c in node.input.columns if c.name != "other"}
    passed = Sample(ROWS, columns).through(node.predicate)
    assert [str(part.name) for part in conjuncts(passed.told)] == ["<"]
    assert [str(part.name) for part in conjuncts(passed.untold)] == ["="]
    assert Sample(ROWS, columns).through(TRUE).sample.size == ROWS


def request(*sources: Source) -> PlanRequest:
    return PlanRequest(
        report="r",
        sql="SELECT n, count(*) AS c FROM sales WHERE note LIKE '%special%' GROUP BY n",
        sources=tuple(replace(source, rows=100_000_000) for source in sources),
        points=(TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0)),
        settings=Settings(prices=CHEAP_RUNS),
    )


def test_the_whole_plan_is_of_what_is_counted():
    guessed, known = plan(request(SALES)), plan(request(SAMPLED))
    # The pattern passes half of the rows, not a tenth: there is more to group.
    assert known.plan.batch_cost > 1.05 * guessed.plan.batch_cost
    assert plan(request(SAMPLED)).plan == known.plan


def test_only_what_is_filtered_needs_a_sample():
    sql = """
        SELECT a.n, count(*) FROM sales a JOIN sales b ON a.n = b.same
        WHERE a.note LIKE '%x%' AND b.ratio < 0.5 GROUP BY a.n HAVING count(*) > 3
    """
    assert filtered_sources(sql, (SALES,)) == {"sales": (("note", "ratio"), True)}
    assert filtered_sources("SELECT n FROM sales", (SALES,)) == {}
    assert filtered_sources("SELECT nowhere FROM sales WHERE n % 2 = 1", (SALES,)) == {}


@pytest.mark.parametrize(
    ("condition", "guessed"),
    [
        ("note LIKE 'x%'", True),
        ("ratio < 0.5 AND n % 7 = 3", True),
        ("NOT (n = 3 OR note LIKE 'x%')", True),
        ("n < same", True),
        ("ratio < 0.5 AND n IN (1, 2) AND note IS NOT NULL", False),
        ("NOT (n = 3 OR ratio < 0.5)", False),
    ],
)
def test_a_filter_is_guessed_where_statistics_of_columns_say_nothing(condition, guessed):
    found = filtered_sources(f"SELECT count(*) FROM sales WHERE {condition}", (SALES,))
    assert found["sales"].guessed == guessed


def test_columns_of_different_length_are_no_sample():
    bad = replace(SALES, sample=(("n", (Decimal(1),)), ("same", ())))
    with pytest.raises(RequestError, match="sample of source sales differ in length") as error:
        plan(request(bad))
    assert "NULL" in error.value.hint


WORDS = ("red", "blue", "green", "small", "large")
TEXTS = tuple(" ".join(RANDOM.choices(WORDS, k=3)) for _ in range(ROWS))
NOTED = replace(SALES, sample=(("note", TEXTS),))


@pytest.mark.parametrize("outer", ["", "_outer"])
def test_elements_of_an_array_that_is_computed_are_counted(outer):
    sql = f"SELECT explode{outer}(split(note, ' ')) AS word FROM sales"
    relation = read_query(sql, (NOTED,)).relation
    known = Estimator((NOTED,)).estimate(relation)
    assert known.rows / NOTED.rows == pytest.approx(3.0, rel=0.01)
    (word,) = known.columns.values()
    assert word.distinct == pytest.approx(len(WORDS))
    filtered = read_query(f"SELECT * FROM ({sql}) q WHERE word = 'red'", (NOTED,)).relation
    share = sum(text.split(" ").count("red") for text in TEXTS) / ROWS
    assert Estimator((NOTED,)).rows(filtered) / NOTED.rows == pytest.approx(share, rel=0.02)


def test_what_cannot_be_split_here_stays_a_guess():
    for array in ("split(note, '(a)b')", "split(note, ' ', 2)", "split(other, ' ')"):
        relation = read_query(f"SELECT explode({array}) AS word FROM sales", (NOTED,)).relation
        guess = Estimator((SALES,)).rows(relation)
        assert Estimator((NOTED,)).rows(relation) == guess


@pytest.mark.parametrize(("values", "rows"), [(50, 1e6), (3_000, 1e7), (300, 1e4)])
def test_values_that_were_not_drawn_are_counted_by_those_that_were_seldom(values, rows):
    """Of values that come with very different shares, within a factor of four."""
    rng = random.Random(values)
    weights = [1.0 / (place + 1) for place in range(values)]
    drawn = rng.choices(range(values), weights, k=5_000)
    found = distinct_values(drawn, rows)
    assert found is not None
    assert values / 4 <= found <= values * 4


def test_of_values_that_hardly_repeat_a_sample_says_nothing():
    assert distinct_values(range(2_000), 1e9) is None
    assert distinct_values([n % 1_500 for n in range(2_000)], 1e9) is None
    assert distinct_values([None] * 2_000, 1e9) is not None


def test_values_that_are_counted_and_arrays_that_are_computed_ask_for_a_sample():
    for sql, columns in (
        ("SELECT day, median(n) AS m, median(ratio) AS r FROM sales GROUP BY day", ("n",)),
        ("SELECT mode(day) AS m FROM sales", ("day",)),
        ("SELECT explode(split(note, ' ')) AS w FROM sales", ("note",)),
    ):
        assert filtered_sources(sql, (SALES,)) == {"sales": (columns, True)}
    assert filtered_sources("SELECT n, sum(same) AS s FROM sales GROUP BY n", (SALES,)) == {}


def deviation(shares: list[float], each: int) -> tuple[float, float]:
    """What a sample of blocks that pass so many of their rows is said to deviate by, in odds: with
    blocks, and as if each row had been drawn by itself."""
    values = [n < share * each for share in shares for n in range(each)]
    blocks = [number for number in range(len(shares)) for _ in range(each)]
    column = {1: values}
    whole = Sample(len(values), column, blocks)
    passed = Sample(sum(values), {}, [b for b, v in zip(blocks, values, strict=True) if v])
    rows_alone = replace(whole, blocks=()), replace(passed, blocks=())
    return error(whole, passed), error(*rows_alone)


def test_rows_of_blocks_that_differ_are_doubted_by_the_blocks():
    """Of ten row groups one passes: the share is 0.1, give or take 0.1."""
    by_blocks, by_rows = deviation([0.0] * 4 + [1.0] + [0.0] * 5, 100)
    assert by_rows == pytest.approx(0.105, abs=0.01)
    assert by_blocks == pytest.approx(0.105 / (0.1 * 0.9), rel=0.02)


def test_blocks_that_differ_from_those_far_away_are_no_doubt():
    """Half of the rows pass, the first half: equal steps count such a share to within one block of
    a hundred, where a hundred blocks drawn at random would deviate by five."""
    by_blocks, by_rows = deviation([1.0] * 50 + [0.0] * 50, 100)
    assert by_rows == pytest.approx(0.02, rel=0.02)
    assert by_blocks == pytest.approx(0.0071 / (0.5 * 0.5), rel=0.02)


def test_rows_of_blocks_that_are_alike_are_not():
    by_blocks, by_rows = deviation([0.1] * 10, 100)
    assert by_blocks == by_rows


def test_one_block_says_nothing_of_others():
    by_blocks, by_rows = deviation([0.1], 100)
    assert by_blocks == by_rows


def test_blocks_follow_the_rows_that_pass():
    sample = Sample(4, {1: [Decimal(n) for n in (1, 5, 5, 2)]}, [0, 0, 1, 1])
    passed = sample.where(call("=", Ref(Column(1, "n", BIGINT)), literal("5", BIGINT)))
    assert passed is not None
    assert passed.blocks == [0, 1]


def test_blocks_that_are_not_of_all_rows_are_refused():
    wrong = replace(SAMPLED, sample_blocks=(ROWS, 1))
    with pytest.raises(RequestError, match="blocks of the sample"):
        plan(
            PlanRequest(report="r", sql="SELECT n FROM sales", sources=(wrong,), points=CHEAP_RUNS)
        )
