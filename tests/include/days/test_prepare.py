"""A day outside of Spark: generations, manifests, plans, and every way to come at a wrong time."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forerun.include.days.generations import NameTakenError
from forerun.include.days.ledger import read_history
from forerun.include.reports.run_policy import Retries
from forerun.include.runs.prepare import (
    DayClosedError,
    latest_generation,
    open_generation,
    prepare_run,
)
from forerun.include.sources.delivery import SourceChangedError
from forerun.include.sources.files import SourcePathError
from forerun.include.state.commits import read_chain
from forerun.include.state.given_up import GivenUp, record_given_up
from forerun.include.state.layout import Generation, claim_key
from forerun.include.state.records import OpenedBy, RunCommit, RunMetrics, StageMetrics
from forerun.include.stores.opening import split_uri
from forerun.include.stores.store import StoreError
from forerun.planner.contract import decode_plan
from forerun.planner.errors import RequestError
from forerun.planner.request import TimePoint
from tests.include.days.day_cases import DAY, EARLY, NOW, DayCase


@pytest.fixture
def case(tmp_path) -> DayCase:
    return DayCase(tmp_path, (tmp_path / "store").as_uri())


def test_a_day_from_its_first_delivery_to_its_last_commit(tmp_path, store_uri):
    case = DayCase(tmp_path, store_uri)
    case.deliver("1", (1, 2), (1, 3), (2, 4))
    first = case.prepare(case.open(), 1)
    assert (first.skip_reason, first.tiny) == ("", True)
    root, key = split_uri(first.plan_uri)
    assert (root, key) == (store_uri, first.plan_key)
    stored = decode_plan(case.store.get(first.plan_key))
    assert stored == first.result.plan
    assert stored.run.index == 1
    case.commit(first)

    case.deliver("2", (1, 2))
    second = case.prepare(case.open(), 2)
    manifest = case.manifest(second)
    assert (manifest.base, manifest.final, manifest.run) == (1, True, 2)
    (orders,) = manifest.sources
    assert orders.base_pin == case.manifest(first).sources[0].pin != orders.pin
    assert second.result.plan.run.base == 1
    assert second.result.plan.runs[0].committed
    # The plan reads what run 1 has kept, and only the delivery of the source.
    kinds = {(i.source, i.version) for s in second.result.plan.run.stages for i in s.inputs
             if hasattr(i, "version")}  # fmt: skip
    assert kinds == {("orders", "delta")}
    case.commit(second)
    assert [c.run for c in read_chain(case.store, second.at)] == [1, 2]


def test_a_retried_plan_task_gets_the_first_manifest(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    first = case.prepare(generation, 1)
    before = case.manifest(first)
    case.deliver("2", (3, 4))  # arrived between the two tries: it belongs to the next run
    second = case.prepare(generation, 1)
    assert case.manifest(second) == before
    assert second.plan_key != first.plan_key
    assert second.result.plan == first.result.plan


def test_a_pinned_file_that_changes_before_a_retry_is_noticed(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.prepare(generation, 1)
    case.deliver("1", (1, 2), (3, 4))
    with pytest.raises(SourceChangedError, match=r"1\.parquet was changed after it was pinned"):
        case.prepare(generation, 1)


def test_a_source_that_changes_what_was_read_is_refused_until_the_day_is_cleared(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    case.deliver("1", (1, 5))
    with pytest.raises(SourceChangedError, match="was written again since the last committed run"):
        case.prepare(generation, 2)
    again = case.open("cleared")
    assert again == "2"
    assert case.manifest(case.prepare(again, 1)).base == 0


def test_what_a_failed_run_missed_is_in_the_next_delivery(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.prepare(generation, 1)  # planned, never committed
    case.deliver("2", (3, 4))
    manifest = case.manifest(case.prepare(generation, 2))
    assert (manifest.base, manifest.sources[0].base_pin) == (0, "")


def test_an_early_run_after_the_final_one_is_refused(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.commit(case.prepare(generation, 2))
    with pytest.raises(DayClosedError, match="comes after run 2 was committed"):
        case.prepare(generation, 1)
    assert case.store.find(Generation("totals", "2026-03-01", generation).manifest(1)) is None


def test_a_committed_run_is_not_planned_again(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    first = case.prepare(generation, 1)
    case.commit(first)
    again = case.prepare(generation, 1)
    assert again.skip_reason == "run 1 is committed already, by attempt a1"
    assert again.plan_uri == first.plan_uri
    assert again.result is None


def test_batch_goes_straight_to_the_final_run_with_the_users_text(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    for run, idle in ((1, True), (2, False)):
        prepared = prepare_run(case.day(generation), run, now=NOW, method="batch")
        assert bool(prepared.skip_reason) == idle
    (stage,) = prepared.result.plan.run.stages
    assert stage.sql == case.spec.sql


def test_a_batch_final_run_after_an_early_one_goes_on_from_it(case):
    """Plan and manifest name the same base, or the job would refuse them."""
    case.deliver("1", (1, 2))
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    final = prepare_run(case.day(generation), 2, now=NOW, method="batch")
    assert final.result.plan.run.base == case.manifest(final).base == 1


def test_a_run_is_planned_with_a_sample_of_what_it_pins(case):
    case.deliver("1", *((i, i % 7) for i in range(100)))
    (orders,) = case.spec.sources
    spec = replace(
        case.spec,
        sources=(replace(orders, sample=40),),
        sql="SELECT k, sum(v) AS total FROM orders WHERE v % 7 < 3 AND v < 3 GROUP BY k",
    )
    day = open_generation(case.store_uri, spec, DAY, trigger="t", now=NOW)
    prepared = prepare_run(day, 1, now=NOW, settings=EARLY)
    case.commit(prepared)
    case.deliver("2", *((i, 100) for i in range(3000)))  # so many that some are drawn
    last = prepare_run(day, 2, now=NOW, settings=EARLY)
    (first,), (then,) = prepared.result.request.sources, last.result.request.sources
    assert [(name, len(values)) for name, values in first.sample] == [("v", 40)]
    assert max(first.sample[0][1]) < 7 < max(then.sample[0][1])
    # What the first run knew is drawn again as it was: joins keep their order.
    assert last.result.request.first_sources[0].sample == first.sample


def test_a_run_that_gave_up_is_not_begun_again_and_its_cost_is_in_the_ledger(case):
    case.deliver("1", (1, 2), (3, 4))
    generation = case.open()
    first = case.prepare(generation, 1)
    day, (stage, *_) = case.day(generation), first.result.plan.run.stages
    took = StageMetrics(stage=stage.id, rows=2, bytes=9, executor_cpu_s=7.0)
    done = RunCommit(
        run=1,
        base=0,
        attempt="a1",
        plan=first.plan_key,
        committed_at="2026-03-01T12:00:00+00:00",
        metrics=RunMetrics(stages=(took,), executor_cpu_s=7.0, process_cpu_s=9.0),
    )
    record_given_up(case.store, day.at, GivenUp(why="run 1 has given up: too dear", done=done))
    again = case.prepare(generation, 1)
    assert again.skip_reason == "run 1 has given up: too dear"
    assert (again.plan_key, again.result) == (first.plan_key, None)
    case.deliver("2", (5, 6))
    last = case.prepare(generation, 2)
    assert case.manifest(last).base == 0
    (entry,) = read_history(case.store, "totals")
    assert (entry.run, entry.process_cpu_s, entry.arrived) == (1, 9.0, (("orders", 2),))
    # Of what the run was planned to cost, that which it had done by then.
    left = sum(s.estimated_cost for s in first.result.plan.run.stages if s.id != stage.id)
    assert entry.estimated_cost == first.result.plan.run.estimated_cost - left


@pytest.mark.parametrize(
    ("condition", "asked", "drawn"),
    [("v % 7 < 3", None, 100), ("v % 7 < 3", 0, 0), ("v < 3", None, 0), ("v < 3", 64, 64)],
)
def test_a_sample_is_drawn_where_a_filter_would_be_guessed(case, condition, asked, drawn):
    """All of a hundred rows, which are fewer than are drawn by default."""
    case.deliver("1", *((i, i % 7) for i in range(100)))
    (orders,) = case.spec.sources
    sql = f"SELECT k, sum(v) AS total FROM orders WHERE {condition} GROUP BY k"
    spec = replace(case.spec, sources=(replace(orders, sample=asked),), sql=sql)
    day = open_generation(case.store_uri, spec, DAY, trigger="t", now=NOW)
    (source,) = prepare_run(day, 1, now=NOW, settings=EARLY).result.request.sources
    assert [len(values) for _, values in source.sample] == [drawn] * bool(drawn)


def test_time_points_of_the_caller_replace_the_forecast(case):
    case.deliver("1", *[(1, 2)] * 10)
    points = [TimePoint(weight=0.25, arrived=0.5), TimePoint(weight=1.0)]
    prepared = prepare_run(case.day(case.open()), 1, now=NOW, points=points, settings=EARLY)
    assert [run.arrived for run in prepared.result.plan.runs] == [0.5, 1.0]


def test_a_reports_state_budget_bounds_what_its_runs_keep(case):
    """What is committed counts as it lies in the store."""
    case.sink["state_budget"] = "1MB"
    case.deliver("1", *[(k, 2) for k in range(10)])
    generation = case.open()
    first = case.prepare(generation, 1)
    assert first.result.decision.budget == 1_000_000
    (held,) = first.result.decision.chosen.held
    assert 0 < held <= 1_000_000
    commit = case.commit(first)
    counted = sum(artifact.bytes for artifact in commit.artifacts)
    assert counted > 0
    again = case.prepare(generation, 2).result
    assert again.plan.run.base == 1
    assert again.decision.chosen.extracted.keeps
    case.sink["state_budget"] = "0"
    assert case.prepare(case.open("cleared"), 1).result.plan.method == "batch"


def test_what_runs_have_counted_is_known_to_later_runs_and_days(case):
    """Of ten keys that were believed in, one was counted."""
    case.deliver("1", *[(k, 2) for k in range(10)])
    generation = case.open()
    first = case.prepare(generation, 1)
    group = first.result.space.root
    assert first.result.group_sizes.snapshot(group, 1).rows > 1.5
    case.commit(first)
    again = case.prepare(generation, 2).result
    assert again.group_sizes.snapshot(again.space.root, 2).rows == pytest.approx(1)
    assert len(again.request.observed) == len(first.result.plan.run.stages)
    states = [f for f in first.result.plan.families if f.kind == "state"]
    counted = {one.fingerprint: one.partitions for one in again.request.observed}
    for family in states:
        assert counted[family.fingerprint][0][0] == (("orders", 10),)
    cleared = case.prepare(case.open("cleared"), 1).result
    assert cleared.request.observed == again.request.observed


def test_generations_are_numbered_by_trigger(case):
    assert latest_generation(case.store, "totals", DAY) is None
    assert [case.open(t) for t in ("a", "a", "b", "a", "c")] == ["1", "1", "2", "1", "3"]
    assert latest_generation(case.store, "totals", DAY) == Generation("totals", "2026-03-01", "3")


def test_no_conditional_puts_no_day(case, monkeypatch):
    def always(self, key, data):
        self.put(key, data)
        return True

    monkeypatch.setattr(type(case.store), "put_if_absent", always)
    with pytest.raises(StoreError, match="ignores conditional puts"):
        case.open()


@pytest.mark.parametrize("run", [0, 3])
def test_runs_outside_of_the_policy(case, run):
    with pytest.raises(RequestError, match=f"has no run {run}"):
        case.prepare(case.open(), run)


def test_no_files_no_manifest(case):
    generation = case.open()
    with pytest.raises(SourcePathError):
        case.prepare(generation, 1)
    case.deliver("1", (1, 2))
    assert case.prepare(generation, 1).skip_reason == ""


def test_sources_edited_after_pinning_are_refused(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.prepare(generation, 1)
    spec = case.spec
    edited = replace(spec.sources[0], columns=spec.sources[0].columns[:1])
    with pytest.raises(RequestError, match="were edited after run 1 was pinned"):
        prepare_run(case.day(generation, replace(spec, sources=(edited,))), 1, now=NOW)


def test_a_source_that_the_report_gains_during_the_day_is_delivered_whole(case):
    case.deliver("1", (1, 2))
    generation = case.open()
    case.commit(case.prepare(generation, 1))
    spec = case.spec
    more = replace(spec.sources[0], name="more")
    sql = "SELECT o.k, o.v FROM orders o JOIN more m ON o.k = m.k"
    edited = replace(spec, sql=sql, sources=(*spec.sources, more))
    prepared = prepare_run(case.day(generation, edited), 2, now=NOW, settings=EARLY)
    base_pins = {s.name: bool(s.base_pin) for s in case.manifest(prepared).sources}
    assert base_pins == {"orders": True, "more": False}
    assert prepared.skip_reason == ""


def test_sql_from_a_file(case):
    case.deliver("1", (1, 2))
    path = case.folder / "totals.sql"
    spec = replace(case.spec, sql="", sql_file=str(path))
    with pytest.raises(RequestError, match="the SQL of report totals cannot be read"):
        prepare_run(case.day(case.open(), spec), 1, now=NOW)
    path.write_text(case.spec.sql)
    prepared = prepare_run(case.day(case.open(), spec), 1, now=NOW)
    assert prepared.result.plan.sql == case.spec.sql


def test_no_secret_reaches_the_store(tmp_path, store_uri, monkeypatch):
    monkeypatch.setenv("FORERUN_OTHER_SECRET", "hidden-value")
    case = DayCase(tmp_path, store_uri)
    case.deliver("1", (1, 2))
    case.commit(case.prepare(case.open(), 1))
    import os

    secrets = {"hidden-value", os.environ.get("AWS_SECRET_ACCESS_KEY", "hidden-value")}
    for file in (*case.store.list("reports"), *case.store.list("sources")):
        data = case.store.get(file.key)
        assert not any(secret.encode() in data for secret in secrets), file.key
        if file.key.endswith(".json"):
            json.loads(data)


def test_a_report_name_belongs_to_the_dag_that_first_runs_it(tmp_path, store_uri):
    case = DayCase(tmp_path, store_uri)

    def opened(dag_id: str, spec=case.spec, trigger: str = "t") -> str:
        opened_by = OpenedBy(
            dag_id=dag_id, run_id="r", mode="auto", group="", retries=Retries(count=0, pauses_s=0.0)
        )
        day = open_generation(
            case.store_uri, spec, DAY, trigger=trigger, now=NOW, opened_by=opened_by
        )
        return day.at.generation

    assert opened("first") == "1"
    with pytest.raises(NameTakenError, match="totals belongs to DAG first in this store") as caught:
        opened("second", trigger="u")
    assert "DAG second cannot use it" in caught.value.message
    assert "claim.json" in caught.value.hint
    edited = replace(case.spec, sql="SELECT k, max(v) AS total FROM orders GROUP BY k")
    assert opened("first", edited, "u") == "2"  # what it is made of may change
    case.store.delete(claim_key("totals"))
    assert opened("second", trigger="v") == "3"
