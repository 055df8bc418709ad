"""``forerun backfill`` as it is typed, over days in every state."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.include.days.generations import latest_generation
from forerun.include.days.handle import Day
from forerun.include.days.publishing import published_folder
from forerun.include.machine.wall_clock import utc_now
from forerun.include.past.backfill import find_backfill
from forerun.include.reports.expectations import expect
from forerun.include.reports.spec import ReportSpec, encode_report
from forerun.include.runs.prepare import open_generation, prepare_run, publish_result, read_pointer
from forerun.include.state.commits import read_commit
from forerun.include.state.rows import read_rows
from forerun.past.backfill_work import compute_all
from forerun.planner.errors import RequestError
from forerun.planner.request import Settings
from forerun.simulation.running import Runner, open_runner
from tests.include.days.day_cases import DAY, EARLY, NOW, DayCase, table

RUNS = 2
DAYS = [DAY + timedelta(days=n) for n in range(5)]
PUBLISHED, CORRECTED, BEGUN, MISSING, EMPTY = DAYS


@dataclass(frozen=True)
class Range:
    """A report whose source has a folder for each day."""

    case: DayCase
    runner: Runner

    @property
    def spec(self) -> ReportSpec:
        (source,) = self.case.spec.sources
        path = str(self.case.folder / "sources" / "{ds}")
        return replace(self.case.spec, sources=(replace(source, path=path),))

    def deliver(self, day: date, name: str, *rows: tuple[int, int]) -> None:
        folder = self.case.folder / "sources" / day.isoformat()
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(*rows), folder / f"{name}.parquet")

    def execute(self, day: date, *, until: int) -> Day:
        """Deliver to runs and execute them, up to one."""
        opened = open_generation(self.case.store_uri, self.spec, day, trigger="first", now=NOW)
        for number in range(1, until + 1):
            self.deliver(day, str(number), *((k, number) for k in range(3)))
            prepared = prepare_run(opened, number, now=NOW, settings=EARLY)
            self.runner.run([prepared.plan_uri], "run", tiny=True)
        return opened

    def totals(self, day: date) -> dict[int, int]:
        """What is published of a day."""
        pointer = read_pointer(self.case.store, "totals", day)
        rows = read_rows(self.case.store, published_folder(pointer), pointer.files)
        return dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))


@pytest.fixture
def days(tmp_path: Path) -> Range:
    case = DayCase(tmp_path, (tmp_path / "store").as_uri(), runs=RUNS)
    with open_runner("sail", tmp_path, "local[1]") as runner:
        found = Range(case, runner)
        for day in (PUBLISHED, CORRECTED):
            publish_result(found.execute(day, until=RUNS), now=NOW)
        found.execute(BEGUN, until=1)
    found.deliver(CORRECTED, "late", (2, 40))
    found.deliver(BEGUN, "2", (0, 7))
    found.deliver(MISSING, "1", (5, 5))
    (tmp_path / "spec.json").write_bytes(encode_report(found.spec))
    return found


def test_a_range_is_priced_and_computed(days: Range, tmp_path: Path, capsys, monkeypatch):
    """By the small engine in place of Spark, also the day of which the text itself is run."""
    monkeypatch.setattr("forerun.cli.stored.backfill.refuse_inexact", lambda *_: None)
    command = ["backfill", "totals", DAYS[0].isoformat(), DAYS[-1].isoformat()]
    command += ["--store", days.case.store_uri, "--engine", "sail"]
    assert run(command) == 2
    assert "--spec" in capsys.readouterr().err
    command += ["--spec", str(tmp_path / "spec.json"), "--together", "2"]
    assert run(command) == 0  # no terminal: it only looks
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in said[:5]] == [
        "published", "corrected", "missing", "missing", "blocked",
    ]  # fmt: skip
    assert said[1].endswith("files since: 1 new; to compute anew")
    assert "no files in" in said[4]
    assert said[5].startswith("3 days to do in 2 applications")
    assert read_pointer(days.case.store, "totals", MISSING) is None

    assert run([*command, "--yes", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["applications"] == [
        [CORRECTED.isoformat(), BEGUN.isoformat()],
        [MISSING.isoformat()],
    ]
    assert record["estimated_cpu_s"] < record["apart_estimated_cpu_s"]
    assert not any(one["error"] for one in record["done"])
    assert days.totals(PUBLISHED) == {0: 3, 1: 3, 2: 3}
    assert days.totals(CORRECTED) == {0: 3, 1: 3, 2: 43}
    assert days.totals(BEGUN) == {0: 8, 1: 1, 2: 1}
    assert days.totals(MISSING) == {5: 5}
    assert read_pointer(days.case.store, "totals", BEGUN).generation == 1  # where it was begun
    assert run([*command, "--yes"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing to do"


def test_missing_days_are_computed_by_one_query(days: Range, tmp_path: Path, capsys):
    days.deliver(EMPTY, "1", (6, 6), (6, 1))
    command = ["backfill", "totals", MISSING.isoformat(), EMPTY.isoformat()]
    command += ["--store", days.case.store_uri, "--engine", "sail"]
    command += ["--spec", str(tmp_path / "spec.json")]
    assert run([*command, "--preview"]) == 0
    assert "2 days by one query" in capsys.readouterr().out
    assert run([*command, "--preview", "--no-lift", "--json"]) == 0
    each = json.loads(capsys.readouterr().out)
    assert each["at_once"] == [{"days": [], "why_not": ""}]
    assert run([*command, "--yes", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["at_once"] == [{"days": [MISSING.isoformat(), EMPTY.isoformat()], "why_not": ""}]
    assert record["estimated_cpu_s"] < each["estimated_cpu_s"]
    assert (days.totals(MISSING), days.totals(EMPTY)) == ({5: 5}, {6: 7})
    opened = [latest_generation(days.case.store, "totals", day) for day in (MISSING, EMPTY)]
    commits = [read_commit(days.case.store, at, RUNS) for at in opened]
    assert [commit.metrics.days_in_query for commit in commits] == [2, 2]


def test_the_small_engine_is_refused_what_it_may_get_wrong(days: Range, tmp_path: Path, capsys):
    command = ["backfill", "totals", "--preview", "--store", days.case.store_uri]
    command += ["--spec", str(tmp_path / "spec.json")]
    assert run([*command, BEGUN.isoformat(), MISSING.isoformat(), "--engine", "sail"]) == 2
    assert f"totals of {BEGUN} cannot be computed by Sail" in capsys.readouterr().err
    command += [CORRECTED.isoformat(), CORRECTED.isoformat()]
    assert run([*command, "--engine", "sail"]) == 0
    text = "SELECT k, stddev(v) AS total FROM orders GROUP BY k"
    checked = (expect("expect_column_values_to_not_be_null", column="k"),)
    for changed, why in (
        (replace(days.spec, sql=text), "stddev_samp was not compared with Spark"),
        (
            replace(days.spec, expectations=checked),
            "what is expected of its result is checked by Spark",
        ),
    ):
        (tmp_path / "spec.json").write_bytes(encode_report(changed))
        assert run([*command, "--engine", "sail"]) == 2
        said = capsys.readouterr().err
        assert why in said
        assert "--engine spark" in said
        assert run([*command, "--engine", "spark"]) == 0


def test_sources_that_move_after_they_were_looked_at_are_not_computed(days: Range, tmp_path: Path):
    found = find_backfill(
        days.case.store_uri, days.spec, MISSING, MISSING, now=utc_now(), together=1
    )
    days.deliver(MISSING, "2", (5, 6))
    settings, logs = Settings(), []
    (done,) = compute_all(days.case.store_uri, found, "sail", "local[1]", settings, logs.append)
    assert "changed since they were looked at" in done.error
    assert read_pointer(days.case.store, "totals", MISSING) is None


def test_a_day_that_fails_holds_up_no_other(days: Range, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr("forerun.cli.stored.backfill.refuse_inexact", lambda *_: None)
    broken = tmp_path / "sources" / CORRECTED.isoformat() / "late.parquet"
    broken.write_bytes(b"no Parquet")
    command = ["backfill", "totals", DAYS[0].isoformat(), MISSING.isoformat(), "--yes"]
    command += ["--store", days.case.store_uri, "--engine", "sail"]
    assert run([*command, "--spec", str(tmp_path / "spec.json")]) == 0
    assert "blocked" in capsys.readouterr().out.splitlines()[1]
    assert days.totals(MISSING) == {5: 5}


def test_what_is_no_range_is_refused(days: Range):
    for first, last in ((DAYS[1], DAYS[0]), (DAYS[0], DAYS[0] + timedelta(days=4_000))):
        with pytest.raises(RequestError, match="no range of days"):
            find_backfill(days.case.store_uri, days.spec, first, last, now=NOW, together=1)
