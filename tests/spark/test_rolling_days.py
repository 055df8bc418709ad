"""Days of a report over a rolling range that go on from each other equal the plain query, whatever
comes, leaves the range and is corrected in it."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.oncall.overlapping import overlapping_days
from forerun.include.past.repair import find_repair
from forerun.include.reports.spec import SourceSpec, Trailing
from forerun.include.stores.opening import open_store
from forerun.include.stores.scratch_store import ScratchStore
from forerun.past.shown_repair import overlap_lines
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.failures import StageError
from tests.oracles.values import Row
from tests.properties.cases import Case, QueryCase, Select, TableCase
from tests.properties.chunks import starts
from tests.properties.engines import PlainSailEngine, PlainSparkEngine
from tests.properties.execute import RefusedError
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session
from tests.properties.test_aggregate_days import COLUMNS, table
from tests.selection import few
from tests.spark.rolling_days import RollingDays
from tests.spark.stored_days import DAY, write_rows
from tests.spark.test_repaired_days import SAIL_FAILS, on_sail

CHUNK, ON_SPARK = 8, 2
THIRD = DAY + dt.timedelta(days=2)
PANED = {
    "extremes": "SELECT g, max(n) AS most, min(x) AS least, count(*) AS c, sum(k) AS s FROM t0 "
    "GROUP BY g",
    "of-all": "SELECT max(x) FILTER (WHERE b) AS most, avg(x) AS a, bool_or(b) AS o FROM t0",
    "joined": "SELECT c.g, max(a.n + c.n) AS most, sum(a.x) AS s FROM t0 a JOIN still c "
    "ON a.k = c.k WHERE a.n > -2 GROUP BY c.g",
    "nested": "SELECT most, count(*) AS c FROM (SELECT g, k, max(n) AS most FROM t0 GROUP BY g, k) "
    "q GROUP BY most",
}
"""Texts of which days are kept by pane: their functions take no row back."""
SHARP = (74_001, 74_003, 74_009)
"""Days whose results are others if what was kept is left out, counted or taken back wrongly."""


def check_rolling(
    cases: list[Case],
    folder: Path,
    engine: Engine,
    plain: PlainSailEngine | PlainSparkEngine,
    seed: int,
    *,
    with_daily: bool = False,
) -> Counter[str]:
    """Every third row of days is planned by cost. ``with_daily``: of two growing tables one has
    other rows on each day."""
    found: Counter[str] = Counter()
    for number, case in enumerate(cases):
        if not any(table.changing for table in case.tables.values()):
            continue
        forced = (seed + number) % 3 > 0
        daily = frozenset[str]()
        growing = sorted(name for name, table in case.tables.items() if table.changing)
        if with_daily and len(growing) > 1:
            daily = frozenset({random.Random(f"daily-{seed + number}").choice(growing)})
        days = RollingDays(
            case, folder / case.name, engine, plain, seed=seed + number, forced=forced, daily=daily
        )
        try:
            found += days.check()
        except RefusedError:
            continue
        except StageError as error:
            if SAIL_FAILS not in str(error):
                raise
        except Exception as error:
            raise AssertionError(f"{case.name}, {days.seed}: {case.query.sql}\n{error}") from error
    return found


@pytest.mark.parametrize("start", starts(74_000, 10 * CHUNK, CHUNK, fast=0))
def test_rolling_days_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, start: int):
    cases = [on_sail(random_case(seed, for_sail=True)) for seed in range(start, start + CHUNK)]
    found = check_rolling(cases, tmp_path, sail, PlainSailEngine(sail_session()), start)
    assert found["reads what is inherited"] >= 1


@pytest.mark.parametrize("start", starts(78_000, 3 * CHUNK, CHUNK, fast=0))
def test_days_beside_a_table_of_today_equal_batch_on_sail(
    sail: SailEngine, tmp_path: Path, start: int
):
    cases = [on_sail(random_case(seed, for_sail=True)) for seed in range(start, start + CHUNK)]
    plain = PlainSailEngine(sail_session())
    found = check_rolling(cases, tmp_path, sail, plain, start, with_daily=True)
    assert found["reads what is inherited"] >= 1


def test_a_table_of_today_beside_a_range(sail: SailEngine, tmp_path: Path):
    """What is kept of the range alone is gone on from; all of the other table is new each day."""
    rng = random.Random("beside")
    tables = {
        "t0": replace(table(rng, takes_back=False), said=10**8),
        "t1": table(rng, takes_back=False),
    }
    text = (
        "SELECT t1.k, t1.n, a.s FROM (SELECT k, sum(n) AS s FROM t0 GROUP BY k) a "
        "JOIN t1 ON a.k = t1.k"
    )
    query = QueryCase((Select(("1",), "t0"),), outer=text)
    days = RollingDays(
        Case("beside", tables, query, 2, early=True), tmp_path, sail,
        PlainSailEngine(sail_session()), count=8, corrected=0.0, of_few_values=True, length=6,
        daily=frozenset({"t1"}),
    )  # fmt: skip
    assert days.check()["reads what is inherited"] >= 3


@pytest.mark.parametrize("seed", SHARP)
def test_days_that_see_most_equal_batch_on_sail(sail: SailEngine, tmp_path: Path, seed: int):
    cases = [on_sail(random_case(seed, "grouped", for_sail=True))]
    found = check_rolling(cases, tmp_path, sail, PlainSailEngine(sail_session()), seed)
    assert found["1 in a row"]


def paned_days(
    name: str, seed: int, folder: Path, engine: Engine, plain: PlainSailEngine | PlainSparkEngine
) -> Counter[str]:
    """Days of tables of which many rows are said to have few values, so that panes pay."""
    rng = random.Random(f"{name}-{seed}")
    still = replace(table(rng, takes_back=False), changing=False)
    tables = {"t0": replace(table(rng, takes_back=False), said=10**8), "still": still}
    query = QueryCase((Select(("1",), "t0"),), outer=PANED[name])
    case = Case(f"{name}-{seed}", tables, query, 1, early=True)
    days = RollingDays(
        case, folder, engine, plain, seed=seed, count=12, corrected=0.3,
        of_few_values=True, length=7,
    )  # fmt: skip
    return days.check()


@pytest.mark.parametrize(("name", "start"), few(itertools.product(PANED, (0, 4, 8)), 2))
def test_days_kept_by_pane_equal_batch_on_sail(
    sail: SailEngine, tmp_path: Path, name: str, start: int
):
    plain, found = PlainSailEngine(sail_session()), Counter[str]()
    for seed in range(start, start + 4):
        found += paned_days(name, seed, tmp_path / f"{seed}", sail, plain)
    assert found["by pane"] >= 3
    assert found["changed"] + found["vanished"]


class CorrectedDays(RollingDays):
    """Seven rows of CSV each day, of which one on the third day is the most, until the sixth. What
    was copied of the file that is corrected can still be read, so it can be taken back."""

    def _bring(self, day: dt.date, run: int, rng: random.Random) -> None:
        self._deliver(day, _rows(day))

    def _correct(self, day: dt.date, rng: random.Random) -> str:
        if day != THIRD + dt.timedelta(days=3):
            return ""
        self._deliver(THIRD, _rows(THIRD, most=6))
        return "changed"

    def _deliver(self, day: dt.date, rows: tuple[Row, ...]) -> None:
        folder = self._folder("t0", day)
        folder.mkdir(parents=True, exist_ok=True)
        names = ",".join(name for name, _ in COLUMNS)
        lines = (",".join(str(value).lower() for value in row) for row in rows)
        (folder / "all.csv").write_text("\n".join((names, *lines)) + "\n")

    def _there(self, name: str, table: TableCase, day: dt.date) -> list[Row]:
        most = 100 if day < THIRD + dt.timedelta(days=3) else 6
        days = (day - dt.timedelta(days=back) for back in range(self.length))
        return [row for each in days if each >= DAY for row in _rows(each, most)]

    def _source(self, name: str, table: TableCase) -> SourceSpec:
        return replace(super()._source(name, table), format="csv")


def _rows(day: dt.date, most: int = 100) -> tuple[Row, ...]:
    top = most if day == THIRD else 5
    return tuple((n, "a", n if n else top, 0.5, True) for n in range(7))


class WeekOverWeek(RollingDays):
    """Both tables have the rows of the same folders: ``t1`` those of the days before."""

    def _folder(self, name: str, day: dt.date) -> Path:
        return super()._folder("t0" if name == "t1" else name, day)

    def _there(self, name: str, table: TableCase, day: dt.date) -> list[Row]:
        ago = self.length if name == "t1" else 0
        return super()._there(name, table, day - dt.timedelta(days=ago))

    def _source(self, name: str, table: TableCase) -> SourceSpec:
        source = super()._source(name, table)
        path = str(self._folder(name, DAY)).replace(str(DAY), "{ds}")
        over = Trailing(days_back=self.length, days_ago=self.length if name == "t1" else 0)
        return replace(source, path=path, over=over)


def test_a_week_is_held_against_the_week_before(sail: SailEngine, tmp_path: Path):
    rng = random.Random("weeks")
    tables = {name: replace(table(rng, takes_back=False), said=10**8) for name in ("t0", "t1")}
    text = (
        "SELECT a.g, a.s, a.most, b.s AS before FROM (SELECT g, sum(n) AS s, max(x) AS most "
        "FROM t0 GROUP BY g) a LEFT JOIN (SELECT g, sum(n) AS s FROM t1 GROUP BY g) b ON a.g = b.g"
    )
    query = QueryCase((Select(("1",), "t0"),), outer=text)
    days = WeekOverWeek(
        Case("weeks", tables, query, 1, early=True), tmp_path, sail,
        PlainSailEngine(sail_session()), count=10, corrected=0.2, of_few_values=True, length=6,
    )  # fmt: skip
    assert days.check()["reads what is inherited"] >= 3


def test_a_corrected_day_is_not_taken_back_in_part(sail: SailEngine, tmp_path: Path):
    """What is kept of the third day has the most that is corrected, and cannot follow."""
    empty = TableCase(COLUMNS, True, ((),), said=10**8)
    query = QueryCase((Select(("1",), "t0"),), outer="SELECT g, max(n) AS most FROM t0 GROUP BY g")
    case = Case("corrected", {"t0": empty}, query, 1, early=True)
    days = CorrectedDays(
        case, tmp_path, sail, PlainSailEngine(sail_session()), count=7, corrected=1.0, length=8,
        of_few_values=True,
    )  # fmt: skip
    found = days.check()
    assert found["changed"] == 1
    assert found["by pane"] >= 3


def test_a_correction_names_the_other_days_that_read_it(sail: SailEngine, tmp_path: Path):
    rng = random.Random("overlapping")
    tables = {"t0": table(rng, takes_back=False)}
    query = QueryCase((Select(("1",), "t0"),), outer=PANED["extremes"])
    case = Case("overlapping", tables, query, 1, early=False)
    days = RollingDays(
        case, tmp_path, sail, PlainSailEngine(sail_session()), corrected=0.0, length=3
    )
    days.check()
    at = [DAY + dt.timedelta(days=number) for number in range(7)]
    late = tmp_path / "in" / "t0" / at[3].isoformat() / "late.parquet"
    late.parent.mkdir(exist_ok=True)
    write_rows(late, tables["t0"], ((1, "a", 9, 0.5, True),))
    store = ScratchStore(open_store(str(tmp_path / "store")))
    found = {day: find_repair(store, days.spec(), day, now=dt.datetime.now(dt.UTC)) for day in at}
    assert [day for day in at if found[day].is_needed] == at[3:6]
    others = overlapping_days(store, found[at[4]])
    assert others.days == (at[3], at[5])
    assert others.anew_cpu_s == 2 * found[at[4]].anew.cpu_s
    assert overlapping_days(store, found[at[0]]).days == ()
    line, price, command = overlap_lines("r", others, "s3://b/f")
    assert f"2 other published days, from {at[3]} to {at[5]}" in line
    assert price.endswith("CPU s  if all are computed anew")
    assert command.strip() == f"forerun backfill r {at[3]} {at[5]} --store s3://b/f --preview"


@pytest.mark.spark
def test_days_kept_by_pane_equal_batch_on_spark(sessions, tmp_path: Path):
    assert paned_days("of-all", 0, tmp_path, *sessions)["by pane"] >= 3


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(75_000, ON_SPARK, ON_SPARK, fast=ON_SPARK))
def test_rolling_days_equal_batch_on_spark(sessions, tmp_path: Path, start: int):
    cases = [random_case(seed) for seed in range(start, start + ON_SPARK)]
    found = check_rolling(cases, tmp_path, *sessions, start)
    assert found["reads what is inherited"] >= 1
