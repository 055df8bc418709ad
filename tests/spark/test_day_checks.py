"""Expectations on sources are about the day: one verdict, however its rows came."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.reports.expectations import BY_ROW, OF_ALL_ROWS, OF_SCHEMA, Expectation, expect
from forerun.include.state.check_figures import CheckFigures
from forerun.include.state.records import CheckRecord, decode, encode
from forerun.spark_jobs.engines.sail import SailEngine
from tests.selection import few
from tests.spark.days import Day, Sale, publish, save_rows, save_sums

SUITE = (
    expect("expect_table_row_count_to_be_between", min_value=5),
    expect("expect_column_values_to_be_unique", column="id"),
    expect("expect_column_values_to_not_be_null", column="shop"),
    expect("expect_column_values_to_not_be_null", column="id", mostly=0.8),
    expect("expect_column_sum_to_be_between", column="id", max_value=60),
    expect("expect_column_distinct_values_to_contain_set", column="shop", value_set=["a", "b"]),
    expect("expect_column_proportion_of_unique_values_to_be_between", column="shop", max_value=0.5),
    expect("expect_column_max_to_be_between", column="id", min_value=8),
    expect("expect_column_values_to_be_between", column="id", min_value=0, severity="warning"),
    expect("expect_compound_columns_to_be_unique", column_list=["id", "shop"]),
    expect("expect_column_to_exist", column="amount"),
)


Outcomes = list[tuple[CheckRecord, ...]]


def runs_of(day: Day, sail: SailEngine, deliveries: list[list[Sale]]) -> Outcomes:
    """The outcomes by run of a day whose rows come in so many runs."""
    found = []
    for run, rows in enumerate(deliveries, start=1):
        day.deliver(rows)
        final = run == len(deliveries)
        day.plan_run(
            run, (save_rows(run), save_sums(run), publish(run)), final=final, source_checks=SUITE
        )
        found.append(day.do(sail).checks)
    return found


def verdict(outcomes: Outcomes) -> tuple[bool, bool]:
    """Whether the day may not be published, and whether there is a warning."""
    every = [check for checks in outcomes for check in checks]
    return any(check.critical for check in every), any(check.warnings for check in every)


def failed(day: Day, outcomes: Outcomes) -> set[str]:
    """The expectations that do not hold of the day, by their sentences without what was seen."""
    found = set()
    for check in (check for checks in outcomes for check in checks if not check.provisional):
        for finding in json.loads(day.store.get(check.key))["findings"]:
            if finding["outcome"] != "passed":
                found.add(f"{finding['expectation']} {finding['arguments']}")
    return found


def sales(draw: random.Random) -> list[Sale]:
    ids = [*range(draw.randint(0, 10)), *([None, None] if draw.random() < 0.3 else [])]
    if draw.random() < 0.4:
        ids += [draw.choice((0, 1, -1, 40))]
    shops = draw.choice((["a", "b"], ["a", "b", "c", "d", "e"], ["a"], ["a", "b", None]))
    return [(i, draw.choice(shops), 100) for i in ids]


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_the_verdict_does_not_depend_on_how_many_runs_the_day_had(
    tmp_path: Path, sail: SailEngine, seed: int
) -> None:
    draw = random.Random(seed)
    rows = sales(draw)
    draw.shuffle(rows)
    seen = []
    for number, count in enumerate((1, 2, draw.randint(3, 4))):
        cuts = sorted(draw.randint(0, len(rows)) for _ in range(count - 1))
        parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        folder = tmp_path / str(number)
        folder.mkdir()
        day = Day(folder)
        outcomes = runs_of(day, sail, parts)
        seen.append((verdict(outcomes), failed(day, outcomes)))
    assert seen[0] == seen[1] == seen[2]


def test_a_part_of_the_day_is_only_warned_of(day: Day, sail: SailEngine) -> None:
    few, rest = [(9, "a", 1)], [(n, "b", 1) for n in range(8)]
    early, final = runs_of(day, sail, [few, rest])
    assert [(c.target, c.critical, c.provisional) for c in early] == [
        ("sales", 0, 0), ("sales", 0, 3),
    ]  # fmt: skip
    assert early[1].key.endswith("sales.so-far.json")
    assert "Provisional" in day.store.get(early[1].key.replace(".json", ".html")).decode()
    assert verdict([early, final]) == (False, False)


def test_rows_that_are_wrong_stop_the_day_in_the_run_to_which_they_came(
    day: Day, sail: SailEngine
) -> None:
    early, final = runs_of(day, sail, [[(9, None, 1)], [(n, "b", 1) for n in range(8)]])
    assert (early[0].critical, early[0].provisional) == (1, 0)
    assert verdict([(), final])[0]  # no shop a, in all rows of the day


def test_twice_the_same_in_two_deliveries_is_found(day: Day, sail: SailEngine) -> None:
    rows = [(n, "a" if n % 2 else "b", 1) for n in range(9)]
    _, final = runs_of(day, sail, [rows, [(3, "b", 1)]])
    assert "expect_column_values_to_be_unique {'column': 'id'}" in failed(day, [final])


def test_a_day_to_which_nothing_came_is_checked(day: Day, sail: SailEngine) -> None:
    outcomes = runs_of(day, sail, [[]])
    assert any("row_count" in one for one in failed(day, outcomes))
    assert verdict(outcomes)[0]


def test_nothing_is_checked_twice_where_nothing_came(day: Day, sail: SailEngine) -> None:
    first, second, _ = runs_of(day, sail, [[(1, "a", 1)], [], [(2, "b", 1)]])
    assert (len(first), second) == (2, ())


def test_of_a_changelog_what_is_there_at_the_end_counts(tmp_path: Path, sail: SailEngine) -> None:
    day = Day(tmp_path, change="changelog")
    wrong: Sale = (-7, None, 1)
    rows: list[Sale] = [(n, "a" if n % 3 else "b", 1) for n in range(9)]
    stages = (save_rows(1), save_sums(1), publish(1))
    day.deliver([*rows, rows[0], wrong])
    day.plan_run(1, stages, source_checks=SUITE)
    early = day.do(sail).checks
    assert [(c.critical, c.provisional) for c in early] == [(0, 4)], "all of it may still go"
    day.take_back([rows[0], wrong])
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True, source_checks=SUITE)
    final = day.do(sail).checks
    assert failed(day, [final]) == set()
    assert verdict([early, final]) == (False, False)


def test_a_row_that_stays_wrong_in_a_changelog_stops_the_day(
    tmp_path: Path, sail: SailEngine
) -> None:
    day = Day(tmp_path, change="changelog")
    rows: list[Sale] = [(n, "a" if n % 3 else "b", 1) for n in range(9)]
    day.deliver([*rows, (9, None, 1), (9, None, 1)])
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), source_checks=SUITE)
    day.do(sail)
    day.take_back([(9, None, 1)])  # one of two: the other one is there still
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True, source_checks=SUITE)
    final = day.do(sail).checks
    assert {one.split()[0] for one in failed(day, [final])} == {
        "expect_column_values_to_not_be_null"
    }
    assert verdict([final])[0]


def test_every_expectation_is_of_one_kind() -> None:
    kinds = (BY_ROW, OF_SCHEMA, OF_ALL_ROWS)
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))
    parts = Expectation(type="expect_column_values_to_not_be_null", arguments=(("column", "a"),))
    assert parts.holds_by_parts
    share = expect("expect_column_values_to_not_be_null", column="a", mostly=0.99)
    assert not share.holds_by_parts
    assert not expect("expect_column_values_to_be_unique", column="a").holds_by_parts


SUMS = (
    expect("expect_column_sum_to_be_between", column="id", max_value=60),
    expect("expect_column_values_to_be_unique", column="id"),
)


def observed(day: Day, outcomes: tuple[CheckRecord, ...]) -> float:
    [check] = [one for one in outcomes if one.key.endswith("sales.day.json")]
    return float(json.loads(day.store.get(check.key))["findings"][0]["observed"])


@pytest.mark.parametrize("same_rows", [True, False])
def test_the_final_run_goes_on_from_figures_of_the_same_rows(
    day: Day, sail: SailEngine, same_rows: bool
) -> None:
    """By figures that are changed on purpose: they are read instead of the rows."""
    day.deliver([(1, "a", 1), (2, "b", 1)])
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), source_checks=SUMS)
    [early] = day.do(sail).checks
    key = early.key.replace(".so-far.json", ".figures.json")
    known = decode(CheckFigures, day.store.get(key), key)
    assert [(one.of, one.values) for one in known.figures] == [("sum", ("3",)), ("unique", ())]
    larger = replace(known.figures[0], values=("33",))
    pin = known.pin if same_rows else "pins/others.json"
    day.store.put(key, encode(replace(known, figures=(larger,), pin=pin)))
    day.deliver([(5, "b", 1)])
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True, source_checks=SUMS)
    assert observed(day, day.do(sail).checks) == (38 if same_rows else 8)


def test_figures_that_cannot_be_read_are_found_anew(day: Day, sail: SailEngine) -> None:
    day.deliver([(1, "a", 1), (2, "b", 1)])
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), source_checks=SUMS)
    [early] = day.do(sail).checks
    key = early.key.replace(".so-far.json", ".figures.json")
    day.store.put(key, day.store.get(key)[:-9])
    day.deliver([(5, "b", 1)])
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True, source_checks=SUMS)
    said: list[str] = []
    assert observed(day, day.do(sail, progress=said.append).checks) == 8
    assert any("checked anew" in line and key in line for line in said)


def test_a_day_that_has_no_figures_yet_is_read_whole(day: Day, sail: SailEngine) -> None:
    """As one that a former version has begun."""
    day.deliver([(1, "a", 1), (2, "b", 1)])
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), source_checks=SUMS)
    [early] = day.do(sail).checks
    day.store.delete(early.key.replace(".so-far.json", ".figures.json"))
    day.deliver([(5, "b", 1)])
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True, source_checks=SUMS)
    assert observed(day, day.do(sail).checks) == 8
