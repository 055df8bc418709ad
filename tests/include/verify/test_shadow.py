"""A report in shadow: each day against what the other job makes, and nothing for readers."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.airflow.pages.render import Where, render
from forerun.cli.app import run
from forerun.include.days.handle import Day
from forerun.include.days.publishing import publish_result
from forerun.include.days.results import read_pointer
from forerun.include.days.shadow_days import keep_shadow_day, shadow_standing
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import grouped
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import (
    PartitionFolder,
    ReportSpec,
    Shadow,
    SpecError,
    decode_report,
    encode_report,
)
from forerun.include.runs.prepare import open_generation
from forerun.include.state.layout import shadow_key
from forerun.include.state.records import OpenedBy, RunMetrics
from forerun.include.state.shadow_day import ShadowDay
from forerun.include.verify.shadow import compare_days
from tests.include.days.day_cases import DAY, NOW, DayCase, table

OPENED_BY = OpenedBy(
    dag_id="sums", run_id="r", mode="auto", group="", retries=Retries(count=2, pauses_s=60.0)
)
PASSWORD = "key:secret"
OURS = (1, 2)
"""The one row that a day of :class:`DayCase` gives."""


class Beside:
    """A published day of a report in shadow, and the table of the other job."""

    def __init__(self, folder: Path, **shadow: object) -> None:
        self.table = folder / "old" / "totals"
        self.sink = folder / "warehouse" / "totals"
        self.shadow = Shadow(compare_with=str(self.table), column="day", **shadow)
        store = str(folder / "store")
        sink = {"shadow": self.shadow, "sink": PartitionFolder(path=str(self.sink))}
        self.case = DayCase(folder, store, sink=sink)
        self.case.deliver("1", (1, 2))
        opened = open_generation(
            store, self.case.spec, DAY, trigger="first", now=NOW, opened_by=OPENED_BY
        )
        generation = opened.at.generation
        for number in (1, 2):
            metrics = RunMetrics(process_cpu_s=4.0, executor_cpu_s=1.0)
            self.case.commit(self.case.prepare(generation, number), metrics=metrics)
        self.day = self.case.day(generation)
        publish_result(self.day, now=NOW)

    def other_job(self, *rows: tuple[int, int], name: str = "part-0", columns=("k", "v")) -> None:
        folder = self.table / f"day={DAY}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(*rows).select(list(columns)), folder / f"{name}.parquet")

    def compare(self) -> ShadowDay:
        return compare_days(self.day, self.shadow, NOW)[-1]


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    return Beside(tmp_path, days=2, cpu_s=60.0)


def test_a_shadow_publishes_into_the_store_and_not_into_its_sink(beside: Beside):
    assert not beside.sink.exists()
    pointer = read_pointer(beside.case.store, "totals", DAY)
    assert "/store/results/totals/" in pointer.folder


def test_equal_rows_are_equal_in_any_order_of_columns_and_files(beside: Beside):
    beside.other_job(OURS, columns=("v", "k"))
    found = beside.compare()
    assert (found.verdict, found.rows, found.other_rows) == ("equal", 1, 1)
    assert (found.cpu_s, found.other_cpu_s) == (8.0, 60.0)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (((1, 3),), "1 rows are missing, 1 rows should not be there"),
        ((OURS, OURS), "1 rows are missing, 0 rows should not be there"),
        ((), "0 rows are missing, 1 rows should not be there"),
    ],
)
def test_other_rows_are_different_and_shown(beside: Beside, rows, said: str):
    beside.other_job(*rows)
    found = beside.compare()
    assert (found.verdict, found.other_rows) == ("different", len(rows))
    assert found.differences[0] == said
    assert "k=1, v=" in found.differences[1]


def test_other_columns_are_different(beside: Beside):
    beside.other_job(OURS, columns=("k",))
    assert beside.compare().differences == ("columns: expected k, got k, v",)


def test_a_day_that_the_other_job_has_not_made_is_not_compared_and_looked_at_again(
    beside: Beside, capsys
):
    missing = beside.compare()
    assert missing.verdict == "not-compared"
    assert f"day={DAY} has no Parquet file" in missing.why
    command = ["shadow", "totals", "--store", beside.case.store_uri]
    assert run(command) == 1
    assert "not-compared" in capsys.readouterr().out
    beside.other_job(OURS)
    assert run([*command, "--compare", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["equal"], record["wanted"], record["enough"]) == (1, 2, False)
    assert record["days"][0]["verdict"] == "equal"


def test_the_next_day_looks_again_at_one_that_was_late(beside: Beside):
    beside.compare()
    beside.other_job(OURS)
    case = beside.case
    following = Day.of(case.store_uri, case.spec, DAY + dt.timedelta(days=1), "1")
    found = compare_days(following, beside.shadow, NOW)
    assert [(one.day, one.verdict) for one in found] == [(DAY.isoformat(), "equal")]


def test_a_file_that_is_no_parquet_is_not_compared(beside: Beside):
    beside.other_job(OURS)
    (beside.table / f"day={DAY}" / "half.parquet").write_bytes(b"PAR1")
    found = beside.compare()
    assert (found.verdict, found.other_rows) == ("not-compared", None)
    assert "Arrow" in found.why


def days_of(beside: Beside, *verdicts: str) -> None:
    for number, verdict in enumerate(verdicts, 1):
        keep_shadow_day(
            beside.case.store,
            ShadowDay(
                report="totals", day=f"2026-02-{number:02d}", version="1-2-a", verdict=verdict,
                compared_at=NOW.isoformat(), rows=1, other_rows=1, why="", differences=(),
                cpu_s=1.0, other_cpu_s=None,
            ),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "equal", "enough"),
    [
        ((), 0, False),
        (("equal", "equal"), 2, True),
        (("equal", "not-compared", "equal"), 2, True),
        (("equal", "different", "equal"), 1, False),
        (("equal", "equal", "different"), 0, False),
    ],
)
def test_enough_are_equal_days_in_a_row(beside: Beside, verdicts, equal: int, enough: bool):
    days_of(beside, *verdicts)
    found = shadow_standing(beside.case.store, "totals", beside.shadow)
    assert (found.equal, found.enough) == (equal, enough)
    assert ("shadow=None" in found.text) is enough


def test_a_damaged_record_counts_as_not_compared(beside: Beside, caplog):
    days_of(beside, "equal", "equal", "equal")
    beside.case.store.put(shadow_key("totals", "2026-02-02"), b"{}")
    found = shadow_standing(beside.case.store, "totals", beside.shadow)
    assert found.equal == 2
    assert "passed over" in caplog.text


@pytest.mark.parametrize(
    ("theirs", "text", "look"),
    [(OURS, "equal on 1 of 2", "<small>"), ((1, 3), "equal on 0 of 2", '<small class="warn">')],
)
def test_the_night_says_how_far_a_shadow_is(beside: Beside, theirs, text: str, look: str):
    beside.other_job(theirs)
    verdict = beside.compare().verdict
    now = NOW + dt.timedelta(hours=2)
    night = NightReader(beside.case.store, clock=lambda: now).night()
    (row,) = night.rows
    assert row.shadow.text == f"{text} days in a row; {DAY} is {verdict}"
    known = {"night": night, "rows": night.rows, "groups": grouped(night.rows), "show": ""}
    page = render("night.html", Where(base="/forerun", framed=False), **known, changeable=())
    assert f"{look}in shadow: {row.shadow.text}</small>" in page


def test_what_is_not_in_shadow_is_an_error_that_says_what_to_do(tmp_path: Path, capsys):
    store = str(tmp_path / "store")
    assert run(["shadow", "totals", "--store", store]) == 2
    assert "does not know" in capsys.readouterr().err
    case = DayCase(tmp_path, store)
    open_generation(
        store, case.spec, DAY, trigger="t", now=NOW,
        opened_by=OPENED_BY,
    )  # fmt: skip
    assert run(["shadow", "totals", "--store", store]) == 2
    assert "shadow=Shadow(" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": 0}, {"cpu_s": 0.0}, {"cpu_s": float("nan")}, {"column": "a b"},
        {"compare_with": "prod.totals"}, {"compare_with": f"s3://{PASSWORD}@lake/x"},
    ],
)  # fmt: skip
def test_a_shadow_that_cannot_be_is_refused(wrong: dict[str, object]):
    with pytest.raises(SpecError) as error:
        Shadow(**{"compare_with": "s3://lake/totals", **wrong})
    assert "secret" not in str(error.value)


def test_a_report_in_shadow_is_written_and_read(beside: Beside):
    spec: ReportSpec = beside.case.spec
    assert decode_report(encode_report(spec)) == spec
