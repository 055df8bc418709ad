"""Weeks and months, executed: early runs as the days come, and what a plain query says of them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.include.machine.wall_clock import utc_now
from forerun.include.past.backfill import find_backfill
from forerun.include.reports.period import Monthly, PeriodsFrom, Trailing, Weekly, days_from
from forerun.include.reports.spec import (
    MarkerFile,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    encode_report,
)
from forerun.include.runs.prepare import open_generation, prepare_run, publish_result, read_pointer
from forerun.include.sources.completeness import find_missing
from forerun.include.stores import open_store
from forerun.past.backfill_work import compute_all
from forerun.planner.request import Settings
from forerun.simulation.running import Runner, open_runner

SUNDAY = date(2026, 3, 8)
PROGRESSIVE = Settings(temporal="early", buckets=2)
TEXT = """
SELECT item, month(day) AS month, sum(amount) AS total, count(*) AS n
FROM sales
WHERE day BETWEEN :period_start AND :period_end AND sold_at < :report_end
GROUP BY item, month(day)
"""


@dataclass
class Shop:
    """A source with a folder for each day, and all rows that ever came into it."""

    root: Path
    rows: list[tuple[date, str, int]] = field(default_factory=list)
    files: int = 0

    def deliver(self, day: date, rows: list[tuple[str, int]], *, whole: bool = True) -> None:
        folder = self.root / "sales" / f"ds={day}"
        folder.mkdir(parents=True, exist_ok=True)
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        table = pa.table({
            "item": pa.array([item for item, _ in rows], pa.string()),
            "amount": pa.array([amount for _, amount in rows], pa.int64()),
            "day": pa.array([day] * len(rows), pa.date32()),
            "sold_at": pa.array([noon] * len(rows), pa.timestamp("us", tz="UTC")),
        })  # fmt: skip
        self.files += 1
        pq.write_table(table, folder / f"{self.files}.parquet")
        self.rows += [(day, item, amount) for item, amount in rows]
        if whole:
            (folder / "_SUCCESS").touch()

    def plain(self, first: date, last: date) -> set[tuple[Any, ...]]:
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for day, item, amount in self.rows:
            if first <= day <= last:
                found[item, day.month].append(amount)
        return {(*key, sum(amounts), len(amounts)) for key, amounts in found.items()}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


ENGINES = ["sail", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]


@pytest.fixture(scope="module", params=ENGINES)
def runner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    folder = tmp_path_factory.mktemp(request.param)
    with open_runner(request.param, folder, "local[1]") as runner:
        yield runner


def report(shop: Shop, **changes: Any) -> ReportSpec:
    runs = (RunTime(at="-4d 12:00", weight=0.2), RunTime(at="-1d 24:00", weight=0.3))
    columns = {"item": "STRING", "amount": "BIGINT", "day": "DATE", "sold_at": "TIMESTAMP"}
    source = SourceSpec(
        name="sales",
        path=f"{shop.root}/sales/ds={{ds}}",
        columns=columns,  # type: ignore[arg-type]
        complete_when=MarkerFile(),
        allow_empty=True,
    )
    policy = RunPolicy(runs=(*runs, RunTime(at="24:00")))
    given = {"sql": TEXT, "period": Weekly(), "sources": (source,), "policy": policy, **changes}
    return ReportSpec(name="totals", **given)


def store_of(shop: Shop) -> str:
    return (shop.root / "store").as_uri()


def published(shop: Shop, spec: ReportSpec, day: date) -> set[tuple[Any, ...]]:
    store = open_store(store_of(shop))
    pointer = read_pointer(store, spec.name, day)
    rows = _rows(pointer)
    assert len(rows) == pointer.rows
    return {(row["item"], row["month"], row["total"], row["n"]) for row in rows}


def _rows(pointer: Any) -> list[dict[str, Any]]:
    folder = Path(pointer.folder.removeprefix("file://"))
    return [row for f in pointer.files for row in pq.read_table(folder / f.name).to_pylist()]


def sold(seed: int, day: date) -> list[tuple[str, int]]:
    chance = random.Random(f"{seed} {day}")
    return [(chance.choice("abc"), chance.randrange(-9, 99)) for _ in range(chance.randrange(1, 9))]


@pytest.mark.parametrize(
    "period",
    [
        Weekly(),
        Weekly(starts="thu"),
        Monthly(),
        PeriodsFrom(dates=("2026-02-20", "2026-03-05", "2026-03-11")),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(2))
def test_a_period_computed_as_it_passes_is_what_a_plain_query_says(shop, runner, period, seed):
    spec = report(shop, period=period)
    first, last = period.bounds(SUNDAY)
    opened = open_generation(store_of(shop), spec, last, trigger="t", now=spec.begins(last))
    days = list(days_from(first, last))
    for day in (first - timedelta(days=1), last + timedelta(days=1)):
        shop.deliver(day, sold(seed, day))  # of other periods
    for number, now in enumerate(spec.points(last), start=1):
        while days and datetime(days[0].year, days[0].month, days[0].day, tzinfo=UTC) < now:
            shop.deliver(days[0], sold(seed, days[0]))
            days.pop(0)
        prepared = prepare_run(opened, number, now=now, settings=PROGRESSIVE)
        runner.run([prepared.plan_uri], "run", tiny=True)
    assert not days
    assert [commit.run for commit in opened.chain()] == [1, 2, 3]
    publish_result(opened, now=now)
    assert published(shop, spec, last) == shop.plain(first, last) != set()


def test_what_is_missing_is_named_by_its_day(shop):
    spec, now = report(shop), datetime(2026, 3, 9, tzinfo=UTC)
    for day in days_from(date(2026, 3, 2), SUNDAY):
        if day.day not in (4, 6):
            shop.deliver(day, sold(1, day))
    (missing,) = find_missing(spec, SUNDAY, now)
    assert missing.what == (
        f"no _SUCCESS in {shop.root}/sales/ds=2026-03-04 and {shop.root}/sales/ds=2026-03-06"
    )


def test_a_daily_report_over_the_last_days_shares_no_pins_with_the_day(shop, runner):
    for day in days_from(date(2026, 3, 1), SUNDAY):
        shop.deliver(day, sold(2, day))
    daily = report(shop, period=None, policy=RunPolicy(runs=(RunTime(at="24:00"),)))
    (source,) = daily.sources
    text = TEXT.replace(":period_start", "date_sub(:report_date, 2)")
    last_three = ReportSpec(
        name="last_three",
        sql=text,
        sources=(SourceSpec(**{**_fields(source), "over": Trailing(days_back=3)}),),
        policy=daily.policy,
    )
    for spec, first in ((daily, SUNDAY), (last_three, date(2026, 3, 6))):
        opened = open_generation(store_of(shop), spec, SUNDAY, trigger="t", now=utc_now())
        prepared = prepare_run(opened, 1, now=utc_now())
        runner.run([prepared.plan_uri], "run", tiny=True)
        publish_result(opened, now=utc_now())
        assert published(shop, spec, SUNDAY) == shop.plain(first, SUNDAY) != set()


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def by_item(shop: Shop, first: date, last: date) -> set[tuple[Any, ...]]:
    sums: dict[str, list[int]] = defaultdict(list)
    for item, _, total, n in shop.plain(first, last):
        sums[item] += [total, n]
    return {(item, 3, sum(each[::2]), sum(each[1::2])) for item, each in sums.items()}


def test_weeks_are_backfilled_and_repaired_as_weeks(shop, runner, capsys):
    # On the small engine results that readers get are refused where they may not be Spark's.
    exact = "SELECT item, 3 AS month, sum(amount) AS total, count(*) AS n FROM sales GROUP BY item"
    spec, first, last = report(shop, sql=exact), date(2026, 2, 16), date(2026, 3, 4)
    for day in days_from(first, SUNDAY):
        shop.deliver(day, sold(3, day))
    found = find_backfill(store_of(shop), spec, first, last, now=utc_now(), together=7)
    weeks = [date(2026, 2, 22), date(2026, 3, 1), SUNDAY]
    assert [day.date for day in found.days] == weeks
    assert all(day.standing == "missing" for day in found.days)
    done = list(compute_all(store_of(shop), found, "sail", "local[1]", Settings(), print))
    assert not [one.error for one in done if one.error]
    for week in weeks:
        assert published(shop, spec, week) == by_item(shop, week - timedelta(days=6), week)
    shop.deliver(date(2026, 3, 3), [("late", 7)])
    (shop.root / "spec.json").write_bytes(encode_report(spec))
    command = ["repair", "totals", str(SUNDAY), "--store", store_of(shop), "--engine", "sail"]
    assert run([*command, "--spec", str(shop.root / "spec.json"), "--yes"]) == 0
    assert "ds=2026-03-03" in capsys.readouterr().out
    assert published(shop, spec, SUNDAY) == by_item(shop, date(2026, 3, 2), SUNDAY)
