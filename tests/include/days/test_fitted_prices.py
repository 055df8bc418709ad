"""Prices fitted in a store: from its ledger, into its plans, and never in the way of a day."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from forerun.cli.app import app
from forerun.include.days.ledger import record_history
from forerun.include.engines import ENGINES
from forerun.include.runs import fitted_prices
from forerun.include.runs.fitted_prices import executed_runs, forget_prices, prices_in, store_prices
from forerun.include.state.commits import read_chain
from forerun.include.state.layout import PRICES_KEY
from forerun.include.state.ledger_entry import StageEntry
from forerun.include.state.records import RunMetrics, StageMetrics, encode
from forerun.include.stores.store import Store
from forerun.planner.contract import decode_plan
from forerun.planner.cost.prices import SPARK
from tests.include.days.day_cases import DayCase
from tests.include.days.ledgers import enter, ran

DEAR = replace(SPARK, scan_row=9.0, run_start=1.0)
WORK = (("scan_row", 1e8), ("stage_start", 1.0))
TOOK_S = 3 * 1e8 * SPARK.scan_row / 1e6
"""Executors take three times what is estimated."""
STAGES = (StageEntry(executor_cpu_s=TOOK_S, work=WORK),)


@pytest.fixture
def case(tmp_path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri())


def days(store: Store, count: int, **other: object) -> None:
    """Enter days whose runs read 100 M rows."""
    process_s = 1.2 * TOOK_S + (SPARK.run_start + SPARK.stage_start) / 1e6
    values = {"stages": STAGES, "engine": "spark", "process_cpu_s": process_s, **other}
    entries = [[ran(f"2026-01-{n + 1:02}", 2, 3.5, TOOK_S, **values)] for n in range(count)]
    enter(store, *entries)


def test_what_a_run_has_done_is_entered_with_what_its_plan_was_charged_for(case):
    case.deliver("1", (1, 2), (1, 3))
    prepared = case.prepare(case.open(), 1)
    stages = decode_plan(case.store.get(prepared.plan_key)).run.stages
    took = tuple(StageMetrics(stage=s.id, executor_cpu_s=n + 0.5) for n, s in enumerate(stages))
    case.commit(prepared, metrics=RunMetrics(stages=took, engine="spark", process_cpu_s=9.0))
    record_history(case.day(prepared.at.generation), read_chain(case.store, prepared.at))
    (run,) = executed_runs(case.store)
    assert [stage.executor_s for stage in run.stages] == [n + 0.5 for n in range(len(stages))]
    assert [dict(stage.work) for stage in stages] == [stage.work for stage in run.stages]
    assert all("stage_start" in stage.work for stage in run.stages)
    assert run.process_s == 9.0


def test_a_retry_tells_nothing_of_stages_that_an_attempt_before_it_did(case):
    case.deliver("1", (1, 2), (1, 3))
    prepared = case.prepare(case.open(), 1)
    stages = decode_plan(case.store.get(prepared.plan_key)).run.stages
    took = tuple(StageMetrics(stage=s.id, executor_cpu_s=1.0, reused=True) for s in stages)
    case.commit(prepared, metrics=RunMetrics(stages=took, engine="spark", process_cpu_s=9.0))
    record_history(case.day(prepared.at.generation), read_chain(case.store, prepared.at))
    assert list(executed_runs(case.store)) == []


@pytest.mark.parametrize("other", [{"engine": "sail"}, {"engine": ""}, {"stages": ()}])
def test_runs_of_other_engines_and_older_versions_tell_nothing(case, other):
    days(case.store, 2, **other)
    assert list(executed_runs(case.store)) == []


def test_a_run_that_shared_its_application_has_no_process_of_its_own(case):
    days(case.store, 1, runs_in_application=3)
    (run,) = executed_runs(case.store)
    assert run.process_s is None


def test_executors_on_other_machines_are_no_part_of_the_driver_s_process(case):
    days(case.store, 1, process_cpu_s=TOOK_S / 2)
    (run,) = executed_runs(case.store)
    assert run.process_s == 1.5 * TOOK_S


def test_every_report_of_the_store_is_planned_with_fitted_prices(case):
    case.deliver("1", (1, 2))
    before = case.prepare(case.open(), 1).result.plan.batch_cost
    store_prices(case.store, DEAR, 12)
    after = case.prepare(case.open("again"), 1).result.plan.batch_cost
    assert after < before < SPARK.run_start + 10 * SPARK.stage_start
    forget_prices(case.store)
    assert case.prepare(case.open("more"), 1).result.plan.batch_cost == before


def test_prices_of_another_engine_are_left_alone(case):
    store_prices(case.store, DEAR, 12)
    sail = ENGINES["sail"].prices
    assert prices_in(case.store, sail) == sail
    assert prices_in(case.store, SPARK) == DEAR


@pytest.mark.parametrize("data", [b"", b"{}", b"not json", b'{"prices": []}'])
def test_a_damaged_record_costs_a_warning_and_no_day(case, data, caplog):
    case.store.put(PRICES_KEY, data)
    assert prices_in(case.store, SPARK) == SPARK
    assert "prices that Forerun comes with" in caplog.text


def test_a_price_that_this_version_does_not_know_is_passed_over(case):
    record = fitted_prices.FittedPrices(
        prices=(("scan_row", 9.0), ("broadcast_bytes", 1.0), ("of_tomorrow", 2.0)),
        fitted_at="", runs=1,
    )  # fmt: skip
    case.store.put(PRICES_KEY, encode(record))
    assert prices_in(case.store, SPARK) == replace(SPARK, scan_row=9.0)


class TestCommand:
    def said(self, *arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["calibrate", *arguments], standalone_mode=False)
        if code:
            raise done.exception
        assert done.exception is None, done.output
        return done.output

    def test_it_shows_what_fits_and_changes_nothing(self, case):
        days(case.store, 12)
        said = self.said(case.store_uri)
        assert "nothing is changed" in said
        assert f"{SPARK.scan_row:,.6g}" in said
        assert case.store.find(PRICES_KEY) is None

    def test_apply_and_reset(self, case):
        days(case.store, 12)
        found = json.loads(self.said(case.store_uri, "--apply", "--json"))
        assert found["after"]["median_error"] < 0.1 < found["before"]["median_error"]
        assert (
            prices_in(case.store, SPARK).scan_row
            == found["fitted"]["scan_row"]
            > 1.5 * SPARK.scan_row
        )
        again = json.loads(self.said(case.store_uri, "--json"))
        assert again["now"] == found["fitted"]
        assert "that Forerun comes with" in self.said(case.store_uri, "--reset")
        assert prices_in(case.store, SPARK) == SPARK

    @pytest.mark.parametrize("other", ["--apply", "--json"])
    def test_reset_fits_nothing(self, case, other):
        store_prices(case.store, DEAR, 12)
        with pytest.raises(Exception, match="--reset fits nothing"):
            self.said(case.store_uri, "--reset", other, code=2)
        assert prices_in(case.store, SPARK) == DEAR

    def test_too_few_runs_are_refused(self, case):
        days(case.store, 9)
        with pytest.raises(Exception, match="there are 9 runs"):
            self.said(case.store_uri, code=2)
