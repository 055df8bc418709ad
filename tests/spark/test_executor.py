"""A run from plan to commit, on the small engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.reports.expectations import expect
from forerun.include.sources.delivery import SourceChangedError
from forerun.include.state.commits import read_commit
from forerun.include.state.records import StageRecord, decode, encode
from forerun.planner.contract import ColumnSpec, ResultOutput, SourceInput, Stage
from forerun.planner.errors import ContractError
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.failures import StageError
from tests.spark.days import QUERY, ROWS, SUMS, Day, expected, publish, save_rows, save_sums

FIRST = [(1, "a", 100), (2, "b", 250), (2, "b", 250), (None, None, 7)]
SECOND = [(3, "a", 1), (4, "c", 99), (5, None, 3)]


def two_runs(day: Day, engine: SailEngine) -> object:
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    day.do(engine)
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True)
    return day.do(engine, "a2")


def test_two_runs_give_the_batch_result_in_order(day: Day, sail: SailEngine) -> None:
    commit = two_runs(day, sail)
    assert day.rows(commit) == expected([FIRST, SECOND])
    assert [c.name for c in commit.result.columns] == ["shop", "total", "n"]
    assert [a.family for a in commit.artifacts] == ["f_rows", "f_sums"]
    assert commit.base == 1


def test_a_delivery_is_what_the_pin_has_over_the_base(day: Day, sail: SailEngine) -> None:
    commit = two_runs(day, sail)
    rows = commit.metrics.stages[0]
    assert rows.rows == rows.source_rows_read == len(SECOND)
    assert commit.metrics.source_rows_read == len(SECOND)
    assert commit.metrics.state_rows_read > 0
    assert commit.metrics.stages[0].bytes == commit.artifacts[0].bytes > 0
    assert commit.metrics.executor_cpu_s > 0


def test_a_failed_run_loses_nothing(day: Day, sail: SailEngine) -> None:
    """Run 1 never committed: the base of run 2 is 0 and its delivery is everything."""
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), base=0, final=True)
    assert day.rows(day.do(sail)) == expected([FIRST, SECOND])


def test_an_empty_delivery(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    day.do(sail)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), final=True)
    commit = day.do(sail, "a2")
    assert day.rows(commit) == expected([FIRST])
    assert [a.rows for a in commit.artifacts] == [0, 0]


def test_a_plan_that_leaves_out_what_has_come_is_refused(day: Day, sail: SailEngine) -> None:
    """The plan says that nothing has come since run 1; the pins say otherwise."""
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)))
    day.do(sail)
    day.deliver(SECOND)
    day.plan_run(2, (publish(2),), final=True, unchanged=("sales",))
    with pytest.raises(ContractError, match="nothing has come of sales since run 1"):
        day.do(sail, "a2")
    assert read_commit(day.store, day.at, 2) is None


def test_an_empty_day(day: Day, sail: SailEngine) -> None:
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    commit = day.do(sail)
    assert day.rows(commit) == []
    assert [c.name for c in commit.result.columns] == ["shop", "total", "n"]


def test_a_batch_plan_runs_the_users_text(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    stage = Stage(
        id="batch", title="batch", sql=QUERY + " ORDER BY shop",
        inputs=(SourceInput(view="sales", source="sales", version="snapshot"),),
        output=ResultOutput(columns=("shop", "total", "n"), ordered=True),
    )  # fmt: skip
    day.plan_run(1, (stage,), final=True, families=(), method="batch")
    assert day.rows(day.do(sail)) == expected([FIRST])


def test_a_committed_run_is_not_done_again(day: Day, sail: SailEngine) -> None:
    commit = two_runs(day, sail)
    assert day.do(sail, "late") == commit
    assert day.store.folders(f"{day.at.artifacts}/f_rows") == ("1-a1", "2-a2")


def test_the_loser_of_a_race_changes_nothing(day: Day, sail: SailEngine) -> None:
    """Another attempt commits while this one is at its last stage."""
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    winners = []

    def race(line: str) -> None:
        if line.startswith("stage 3/3") and not winners:
            winners.append(day.do(sail, "fast"))

    seen = day.do(sail, "slow", progress=race)
    assert winners[0].attempt == seen.attempt == "fast"
    assert read_commit(day.store, day.at, 1) == winners[0]
    assert day.rows(seen) == expected([FIRST])


def test_a_retry_takes_over_finished_stages(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    broken = Stage(
        id="publish", title="t", sql="SELECT 1 / 0 AS x", inputs=(),
        output=ResultOutput(columns=("x",)),
    )  # fmt: skip
    day.plan_run(1, (save_rows(1), save_sums(1), broken), final=True)
    with pytest.raises(StageError, match=r"(?i)divide.by.zero"):
        day.do(sail, "a1")
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    commit = day.do(sail, "a2")
    assert [a.attempt for a in commit.artifacts] == ["a1", "a1"]
    assert commit.result.attempt == "a2"
    assert [s.reused for s in commit.metrics.stages] == [True, True, False]
    assert day.rows(commit) == expected([FIRST])


def test_a_stage_planned_otherwise_is_done_again(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    key = day.at.stage(1, "save-rows")
    day.do(sail)
    record = decode(StageRecord, day.store.get(key), key)
    day.store.delete(day.at.commit(1))
    day.store.put(key, encode(_with_digest(record, "other")))
    commit = day.do(sail, "a2")
    assert commit.artifacts[0].attempt == "a2"


def test_a_finished_stage_with_lost_files_is_done_again(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    first = day.do(sail)
    day.store.delete(day.at.commit(1))
    lost = first.artifacts[0]
    day.store.delete(f"{lost.folder}/{lost.files[0].name}")
    commit = day.do(sail, "a2")
    assert commit.artifacts[0].attempt == "a2"
    assert day.rows(commit) == expected([FIRST])


def test_the_schema_of_a_family_is_frozen(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    stage = save_rows(1)
    other = Stage(
        id=stage.id, title=stage.title, inputs=stage.inputs, output=stage.output,
        sql="SELECT CAST(`id` AS INT) AS `id`, `shop`, `amount` FROM `sales__delta`",
    )  # fmt: skip
    day.plan_run(1, (other,))
    with pytest.raises(ContractError, match="gives id int; family f_rows declares id bigint"):
        day.do(sail)
    assert read_commit(day.store, day.at, 1) is None


@pytest.mark.parametrize(
    "change",
    [
        {"key": (), "buckets": 0},
        {"key": ("shop",)},
        {"columns": (ColumnSpec(name="id", type="INT"), *ROWS.columns[1:])},
    ],
)
def test_a_partition_written_under_another_definition_is_refused(
    day: Day, sail: SailEngine, change: dict[str, object]
) -> None:
    rows = replace(ROWS, key=("id",), buckets=0)
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1)), families=(rows, SUMS))
    day.do(sail)
    day.plan_run(
        2, (save_sums(2), publish(2)), final=True, families=(replace(rows, **change), SUMS)
    )
    with pytest.raises(ContractError, match="the partition of run 1 of f_rows has key"):
        day.do(sail, "a2")


def _with_digest(record: StageRecord, digest: str) -> StageRecord:
    return replace(record, digest=digest)


class TestChangedSources:
    """A pinned file that is not what it was is named, and nothing is committed."""

    def prepare(self, day: Day) -> object:
        path = day.deliver(FIRST)
        day.plan_run(1, (save_rows(1), save_sums(1)))
        return path

    def check(self, day: Day, sail: SailEngine, match: str) -> None:
        with pytest.raises(SourceChangedError, match=match) as caught:
            day.do(sail)
        assert "part [0].parquet" in str(caught.value)
        assert read_commit(day.store, day.at, 1) is None

    def test_vanished(self, day: Day, sail: SailEngine) -> None:
        self.prepare(day).unlink()
        self.check(day, sail, "vanished after")

    def test_rewritten_with_the_same_size(self, day: Day, sail: SailEngine) -> None:
        path = self.prepare(day)
        data = bytearray(path.read_bytes())
        data[10] ^= 1
        path.write_bytes(data)
        self.check(day, sail, "was changed after")

    def test_truncated(self, day: Day, sail: SailEngine) -> None:
        path = self.prepare(day)
        path.write_bytes(path.read_bytes()[:-5])
        self.check(day, sail, "was changed after")

    def test_changed_while_the_run_reads(self, day: Day, sail: SailEngine) -> None:
        path = self.prepare(day)

        def meddle(line: str) -> None:
            if line.startswith("stage 1/2"):
                path.write_bytes(path.read_bytes() + b"x")

        with pytest.raises(SourceChangedError, match="was changed after"):
            day.do(sail, progress=meddle)
        assert read_commit(day.store, day.at, 1) is None


def test_sources_of_the_report_must_be_pinned(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1),))
    table = replace(day.plan.sources[0], name="returns")
    day.plan = replace(day.plan, sources=(*day.plan.sources, table))
    with pytest.raises(ContractError, match="no pin of returns"):
        day.do(sail)


def test_a_run_without_stages_is_refused(day: Day, sail: SailEngine) -> None:
    day.plan_run(1, ())
    with pytest.raises(ContractError, match="nothing to do"):
        day.do(sail)


def test_a_final_run_without_a_result_is_refused(day: Day, sail: SailEngine) -> None:
    day.plan_run(1, (save_rows(1),), final=True)
    with pytest.raises(ContractError, match="makes no result"):
        day.do(sail)


def test_an_early_run_that_is_to_give_the_result_must(day: Day, sail: SailEngine) -> None:
    day.plan_run(1, (save_rows(1),))
    (run,) = day.plan.runs
    day.plan = replace(day.plan, runs=(replace(run, early_result=True),))
    with pytest.raises(ContractError, match="makes no result"):
        day.do(sail)


def test_an_early_result_is_committed_and_not_held_to_what_the_whole_day_must_be(
    day: Day, sail: SailEngine
) -> None:
    """Half a day may well have fewer rows than the report is to have; the final run is checked."""
    checks = (expect("expect_table_row_count_to_be_between", min_value=100),)
    day.deliver(FIRST)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), checks=checks)
    early = day.do(sail)
    assert day.rows(early) == expected([FIRST])
    assert early.checks == ()
    day.deliver(SECOND)
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), checks=checks, final=True)
    final = day.do(sail)
    assert day.rows(final) == expected([FIRST, SECOND])
    assert [check.critical for check in final.checks] == [1]


def test_expectations_are_recorded_with_the_commit(day: Day, sail: SailEngine) -> None:
    day.deliver(FIRST)
    day.plan_run(
        1, (save_rows(1), save_sums(1), publish(1)), final=True,
        source_checks=(expect("expect_column_values_to_not_be_null", column="id"),),
        checks=(expect("expect_column_values_to_be_between", column="n", min_value=1),),
    )  # fmt: skip
    commit = day.do(sail)
    assert [(c.target, c.critical, c.warnings) for c in commit.checks] == [
        ("sales", 1, 0),
        ("result", 0, 0),
    ], day.store.get(commit.checks[1].key).decode()
    page = day.store.get(commit.checks[0].key.replace(".json", ".html")).decode()
    assert "expect_column_values_to_not_be_null" in page
