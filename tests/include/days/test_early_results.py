"""Early results: planned where they are wanted, published whole, never over what tells more."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from forerun.include.days.publishing import published_folder
from forerun.include.runs.prepare import (
    NotPublishedError,
    OvertakenError,
    publish_result,
    read_findings,
    read_pointer,
)
from forerun.include.state.expire import Retention, expire
from forerun.include.state.records import CheckRecord
from tests.include.days.day_cases import DAY, NOW, DayCase, later


@pytest.fixture
def case(tmp_path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri(), runs=3, results_at=(1, 2))


def publish(case: DayCase, generation: str, run: int | None = None):
    return publish_result(case.day(generation), now=NOW, run=run)


def do(case: DayCase, generation: str, run: int, **commit) -> None:
    if not (case.orders / f"{run}.parquet").exists():  # a cleared day has the same deliveries
        case.deliver(str(run), (run, 1), (run, 2))
    case.commit(case.prepare(generation, run), **commit)


def test_every_run_that_is_wanted_gives_a_result_and_no_other(case):
    case.results_at = (2,)
    case.deliver("1", (1, 1))
    plan = case.prepare(case.open(), 1).result.plan
    assert [run.early_result for run in plan.runs] == [False, True, False]
    assert [stage.id for stage in plan.runs[1].stages][-1] == "result"
    assert "result" not in [stage.id for stage in plan.runs[0].stages]


def test_with_ivm_the_last_run_decides(case):
    case.deliver("1", (1, 1))
    case.results_at, case.problem = (), "ivm"
    plan = case.prepare(case.open(), 1).result.plan
    assert [run.early_result for run in plan.runs] == [True, True, False]
    assert plan.objective == "last-run-first"


def test_the_pointer_says_that_a_version_is_early_and_over_what(tmp_path, store_uri):
    case = DayCase(tmp_path, store_uri, runs=3, results_at=(1, 2))
    generation = case.open()
    do(case, generation, 1)
    pointer = publish(case, generation, 1)
    assert read_pointer(case.store, "totals", DAY) == pointer
    assert (pointer.early, pointer.run, pointer.version) == (True, 1, "1-1-a1")
    assert pointer.arrived == (("orders", 2),)
    assert pointer.fraction == pytest.approx(12 / 20)  # noon, of a day that ends at eight
    assert pointer.as_of == NOW.isoformat()
    (file,) = pointer.files
    with case.store.open(f"{published_folder(pointer)}/{file.name}") as opened:
        assert pq.read_table(opened).num_rows == pointer.rows == 1
    assert publish(case, generation, 1) == pointer


def test_an_early_run_that_an_edit_makes_the_final_one_is_not_taken_for_the_whole_day(case):
    generation = case.open()
    do(case, generation, 1)
    do(case, generation, 2)
    case.runs, case.results_at = 2, (1,)
    with pytest.raises(NotPublishedError, match="was an early one when it was made"):
        publish(case, generation)
    assert read_pointer(case.store, "totals", DAY) is None


def test_the_final_result_takes_the_place_of_early_ones(case):
    generation = case.open()
    versions = []
    for run in (1, 2, 3):
        do(case, generation, run)
        pointer = publish(case, generation, run)
        versions.append((pointer.version, pointer.early))
    assert versions == [("1-1-a1", True), ("1-2-a1", True), ("1-3-a1", False)]
    final = read_pointer(case.store, "totals", DAY)
    assert (final.arrived, final.as_of, final.fraction) == ((), "", 1.0)
    assert publish(case, generation) == final
    kept = case.store.folders("results/totals/2026-03-01")
    assert [name[:6] for name in kept] == ["1-1-a1", "1-2-a1", "1-3-a1"]


def test_an_early_result_never_goes_back(case):
    generation = case.open()
    do(case, generation, 1)
    do(case, generation, 2)
    second = publish(case, generation, 2)
    with pytest.raises(OvertakenError, match="the result of run 2 of totals"):
        publish(case, generation, 1)
    assert read_pointer(case.store, "totals", DAY) == second
    do(case, generation, 3)
    final = publish(case, generation)
    with pytest.raises(OvertakenError, match="the result of the whole day of totals"):
        publish(case, generation, 2)
    assert read_pointer(case.store, "totals", DAY) == final


def test_a_cleared_day_keeps_its_whole_result_until_there_is_a_new_one(case):
    old = case.open()
    for run in (1, 2, 3):
        do(case, old, run)
    whole = publish(case, old)
    new = case.open("cleared")
    do(case, new, 1)
    with pytest.raises(OvertakenError, match="generation 1, is published; that of run 1 of"):
        publish(case, new, 1)
    assert read_pointer(case.store, "totals", DAY) == whole
    do(case, new, 2)
    do(case, new, 3)
    assert publish(case, new).generation == 2


def test_an_early_result_of_a_newer_generation_takes_the_place_of_an_older_early_one(case):
    old = case.open()
    do(case, old, 1)
    do(case, old, 2)
    publish(case, old, 2)
    new = case.open("cleared")
    do(case, new, 1)
    assert publish(case, new, 1).generation == 2
    with pytest.raises(NotPublishedError, match="generation 1 is older"):
        publish(case, old, 2)


def test_a_run_without_a_result_publishes_nothing(case):
    generation = case.open()
    with pytest.raises(NotPublishedError, match="run 1 of totals, 2026-03-01, generation 1, has"):
        publish(case, generation, 1)
    case.results_at = (2,)
    do(case, generation, 1)
    with pytest.raises(NotPublishedError, match="has not made a result"):
        publish(case, generation, 1)
    assert read_pointer(case.store, "totals", DAY) is None


def test_a_bad_delivery_of_an_earlier_run_stops_an_early_result(case):
    generation = case.open()
    key = f"reports/totals/2026-03-01/{generation}/checks/run-1-a1/orders.json"
    finding = b'{"findings": [{"severity": "critical", "outcome": "failed", "sentence": "no k"}]}'
    case.store.put(key, finding)
    do(case, generation, 1, checks=(CheckRecord(target="orders", key=key, critical=1),))
    do(case, generation, 2)
    (found,) = read_findings(case.day(generation), 2)
    assert found.text == "run 1, orders: no k"
    with pytest.raises(NotPublishedError, match="1 critical expectations of totals did not hold"):
        publish(case, generation, 2)
    assert read_pointer(case.store, "totals", DAY) is None


def test_clean_up_counts_early_results_among_the_versions(case, monkeypatch):
    generation = case.open()
    for run in (1, 2, 3):
        do(case, generation, run)
        final = publish(case, generation, run)
    later(monkeypatch, days=9)
    expire(case.store, "totals", Retention(versions=1))
    kept = case.store.folders("results/totals/2026-03-01")
    assert kept == (final.folder.rpartition("/")[2],)
