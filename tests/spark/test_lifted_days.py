"""Days of a backfill by one query, on Spark and on Sail: each day has its own rows in their order,
and whatever goes wrong with the query, or with one day of it, costs no other day anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history
from forerun.include.days.publishing import NotPublishedError, published_folder
from forerun.include.machine.cpu_meter import Meter
from forerun.include.past.backfill import BegunDays, begin_days, find_backfill
from forerun.include.reports.expectations import expect
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs.prepare import publish_result
from forerun.include.state.rows import read_rows
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.lifted_v1 import decode_lifted
from forerun.planner.errors import ContractError
from forerun.planner.request import Settings
from forerun.spark_jobs import lifted
from forerun.spark_jobs.application import read_lifted, read_plans, run_all
from forerun.spark_jobs.engine import Engine
from tests.include.days.day_cases import NOW

FIRST = date(2026, 1, 1)
ITEMS = ((1, "one"), (2, "two"), (3, "three"))
SQL = """
SELECT i.name, sum(s.amount) AS total, min(100 / s.amount) AS least
FROM sales s JOIN items i ON s.item = i.item GROUP BY i.name ORDER BY total DESC
"""
TOTAL = "SELECT count(*) AS n, sum(amount) AS total FROM sales"


@dataclass(frozen=True)
class Range:
    """A report over a folder for each day and a static table."""

    folder: Path
    engine: Engine
    sql: str = SQL
    expectations: tuple[object, ...] = ()

    @property
    def store_uri(self) -> str:
        return (self.folder / "store").as_uri()

    @property
    def spec(self) -> ReportSpec:
        sales = SourceSpec(
            name="sales",
            path=str(self.folder / "sales" / "{ds}"),
            columns=(
                ColumnSpec(name="item", type="BIGINT"),
                ColumnSpec(name="amount", type="BIGINT"),
            ),
            complete_when=ClockTime(),
        )
        items = SourceSpec(
            name="items",
            path=str(self.folder / "items"),
            columns=(
                ColumnSpec(name="item", type="BIGINT"),
                ColumnSpec(name="name", type="STRING"),
            ),
            arrival="static",
        )
        return ReportSpec(
            name="totals",
            sql=self.sql,
            sources=(sales, items) if "items" in self.sql else (sales,),
            policy=RunPolicy(runs=(RunTime(at="24:00", weight=1.0),)),
            deadline="30:00",
            expectations=self.expectations,
        )

    def deliver(self, number: int, *rows: tuple[int, int], name: str = "part") -> None:
        """Rows (item, amount) of a day."""
        schema = pa.schema([("item", pa.int64()), ("amount", pa.int64())])
        columns = [pa.array(values, pa.int64()) for values in zip(*rows, strict=True)]
        folder = self.folder / "sales" / (FIRST + timedelta(days=number)).isoformat()
        folder.mkdir(parents=True, exist_ok=True)
        made = pa.table(columns or [[], []], schema=schema)
        pq.write_table(made, folder / f"{name}.parquet")

    def begin(self, days: int) -> BegunDays:
        last = FIRST + timedelta(days=days - 1)
        found = find_backfill(self.store_uri, self.spec, FIRST, last, now=NOW, together=days)
        (application,) = found.applications
        assert found.cost < found.apart
        return begin_days(self.store_uri, self.spec, application, now=NOW, settings=Settings())

    def run(self, begun: BegunDays, attempt: str = "a1") -> list[str]:
        """Do the runs as an application does; what it said."""
        said: list[str] = []
        todo = [prepared.plan_uri for _, prepared in begun.runs if not prepared.skip_reason]
        plans, _ = read_plans(todo)
        query = read_lifted([begun.query], said.append)
        run_all(self.engine, plans, attempt, said.append, Meter(), query)
        return said

    def rows(self, day: Day) -> list[tuple[object, ...]]:
        """Publish a day and read what readers find."""
        pointer = publish_result(day, now=NOW)
        found = read_rows(open_store(self.store_uri), published_folder(pointer), pointer.files)
        if found is None:  # Sail writes no file for no rows
            return []
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.fixture(params=["sail", pytest.param("spark", marks=pytest.mark.spark)])
def days(request: pytest.FixtureRequest, tmp_path: Path) -> Range:
    (tmp_path / "items").mkdir()
    columns = {"item": [i for i, _ in ITEMS], "name": [n for _, n in ITEMS]}
    pq.write_table(pa.table(columns), tmp_path / "items" / "all.parquet")
    return Range(tmp_path, request.getfixturevalue(request.param))


def shared_by(begun: BegunDays) -> list[int]:
    """By how many days the query of each day was shared; 0 for a day that is not committed."""
    commits = [day.commit(prepared.run) for day, prepared in begun.runs]
    return [commit.metrics.days_in_query if commit else 0 for commit in commits]


def test_each_day_has_its_rows_in_their_order(days: Range) -> None:
    days.deliver(0, (1, 5), (2, 7), (3, 20), (1, 5))
    days.deliver(1, (2, 50))
    days.deliver(1, (2, 50), (3, 1), name="more")
    days.deliver(2)
    days.deliver(3, (9, 1), (3, 4), (1, 2))
    begun = days.begin(4)
    said = days.run(begun)
    # A day without rows has its own run, which writes the file that says what its columns are.
    assert shared_by(begun) == [4, 4, 1, 4], said
    found = [days.rows(day) for day, _ in begun.runs]
    assert [[row[:2] for row in rows] for rows in found] == [
        [("three", 20), ("one", 10), ("two", 7)],
        [("two", 100), ("three", 1)],
        [],
        [("three", 4), ("one", 2)],
    ]
    assert found[3][0][2] == 25.0
    # What a part of a query took says nothing of what a run takes.
    known = read_history(open_store(days.store_uri), "totals")
    assert [entry.day for entry in known] == [begun.runs[2][0].at.day]
    left = open_store(days.store_uri).list(begun.runs[0][0].at.artifacts)
    assert not [file.key for file in left if "/lifted/" in file.key]


def test_a_total_has_a_row_on_a_day_without_rows(days: Range) -> None:
    days = replace(days, sql=TOTAL)
    days.deliver(0, (1, 5), (2, 7))
    days.deliver(1)
    begun = days.begin(2)
    said = days.run(begun)
    assert shared_by(begun) == [2, 1], said  # it has no row in the query's result: done by itself
    assert [days.rows(day) for day, _ in begun.runs] == [[(2, 12)], [(0, None)]]


def test_a_folder_with_other_files_is_read_file_by_file(days: Range) -> None:
    days = replace(days, sql=TOTAL)
    days.deliver(0, (1, 5))
    days.deliver(1, (1, 6))
    (days.folder / "sales" / FIRST.isoformat() / "EMPTY").write_bytes(b"")
    begun = days.begin(2)
    said = days.run(begun)
    assert shared_by(begun) == [2, 2], said
    assert [days.rows(day) for day, _ in begun.runs] == [[(1, 5)], [(1, 6)]]


def test_an_error_in_one_day_costs_no_other_day_anything(days: Range) -> None:
    days.deliver(0, (1, 5))
    days.deliver(1, (1, 0))  # a division by zero
    days.deliver(2, (2, 8))
    begun = days.begin(3)
    said = days.run(begun)
    assert any("one query for all failed" in line for line in said)
    assert shared_by(begun) == [1, 0, 1], said
    assert [row[:2] for row in days.rows(begun.runs[2][0])] == [("two", 8)]


def test_a_file_that_comes_while_it_is_read_is_of_no_day(
    days: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = replace(days, sql=TOTAL)
    days.deliver(0, (1, 5))
    days.deliver(1, (1, 6))
    begun = days.begin(2)
    write = type(days.engine).write_result

    def late(engine: Engine, frame: object, folder: str, **how: object) -> int | None:
        if how.get("by"):
            days.deliver(1, (1, 1000), name="late")
        return write(engine, frame, folder, **how)

    monkeypatch.setattr(type(days.engine), "write_result", late)
    days.run(begun)
    assert [days.rows(day) for day, _ in begun.runs] == [[(1, 5)], [(1, 6)]]


def test_what_is_committed_before_a_kill_stays(
    days: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = replace(days, sql=TOTAL)
    for number in range(4):
        days.deliver(number, (1, number + 1))
    begun = days.begin(4)
    commit, done = lifted.commit_run, []

    def killed(*arguments: object) -> object:
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(arguments)
        return commit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(lifted, "commit_run", killed)
        with pytest.raises(KeyboardInterrupt):
            days.run(begun)
    assert shared_by(begun) == [4, 0, 0, 0]
    again = days.begin(4)
    assert [bool(prepared.skip_reason) for _, prepared in again.runs] == [True, False, False, False]
    days.run(again, "a2")
    assert shared_by(again) == [4, 3, 3, 3]
    assert [days.rows(day) for day, _ in again.runs] == [[(1, n + 1)] for n in range(4)]


def test_expectations_that_fail_hold_back_their_day_alone(days: Range) -> None:
    if days.engine.name != "sail":
        pytest.skip("what is checked is the same; importing the checks takes seconds")
    few = expect("expect_column_values_to_be_between", column="total", max_value=10)
    days = replace(days, sql=TOTAL, expectations=(few,))
    days.deliver(0, (1, 5))
    days.deliver(1, (1, 60))
    begun = days.begin(2)
    said = days.run(begun)
    assert shared_by(begun) == [2, 2], said
    assert days.rows(begun.runs[0][0]) == [(1, 5)]
    with pytest.raises(NotPublishedError, match="did not hold"):
        days.rows(begun.runs[1][0])


def test_another_version_of_the_document_is_refused(days: Range) -> None:
    if days.engine.name != "sail":
        pytest.skip("no engine is asked")
    days.deliver(0, (1, 5))
    days.deliver(1, (1, 6))
    begun = days.begin(2)
    root, _, key = begun.query.partition("/reports/")
    data = open_store(root).get(f"reports/{key}")
    assert len(decode_lifted(data).days) == 2
    with pytest.raises(ContractError):
        decode_lifted(data.replace(b'"version": 1', b'"version": 2'))
