"""Days that go on from each other: what is inherited, when nothing is, and what clean-up leaves."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.include.days.handle import Day
from forerun.include.past.repair import find_repair
from forerun.include.reports.spec import (
    Monthly,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    SpecError,
    Trailing,
    Weekly,
)
from forerun.include.runs.inheriting import readable
from forerun.include.runs.prepare import (
    AskedRun,
    ask_for_run,
    open_generation,
    prepare_run,
    publish_result,
)
from forerun.include.state.expire import Retention, expire
from forerun.include.state.fence import close_through
from forerun.include.state.inherited import Inherited, read_inherited
from forerun.include.state.layout import Generation
from forerun.planner.contract import FamilyInput, Plan, decode_plan
from tests.include.days.day_cases import COLUMNS, EARLY, DayCase, later, table

FIRST = dt.date(2026, 3, 3)
SQL = (
    "SELECT name.v, sum(orders.v) AS total FROM orders JOIN name ON orders.k = name.k "
    "GROUP BY name.v"
)


@dataclass
class RollingCase(DayCase):
    """The last days of orders, joined with names. ``inherit``: days in a row."""

    inherit: int = 2
    back: int = 3
    sql: str = SQL

    @property
    def spec(self) -> ReportSpec:
        spec = super().spec
        orders = replace(
            spec.sources[0], path=f"{self.orders}/{{ds}}", over=Trailing(days_back=self.back)
        )
        names = SourceSpec(
            name="name", path=str(self.names), columns=COLUMNS, arrival="static", allow_empty=True
        )
        policy = replace(spec.policy, inherit_days=self.inherit)
        return replace(spec, sources=(orders, names), policy=policy, sql=self.sql)

    @property
    def names(self) -> Path:
        return self.folder / "sources" / "names"

    def file(self, number: int) -> Path:
        """The file of a day, by its number; the days of the range before the first have some."""
        return self.orders / (FIRST + dt.timedelta(days=number)).isoformat() / "rows.parquet"

    def write(self, path: Path, *rows: tuple[int, int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(*rows), path)

    def handle(self, number: int, trigger: str = "first") -> Day:
        day = FIRST + dt.timedelta(days=number)
        now = dt.datetime.combine(day, dt.time(23), dt.UTC)
        return open_generation(self.store_uri, self.spec, day, trigger=trigger, now=now)

    def run(self, handle: Day, run: int) -> Plan:
        """Prepare and commit a run; return the plan that it followed."""
        now = dt.datetime.combine(handle.date, dt.time(23), dt.UTC)
        prepared = prepare_run(handle, run, now=now, settings=EARLY)
        plan = decode_plan(self.store.get(prepared.plan_key))
        assert prepared.result is not None
        followed = replace(prepared.result, plan=plan)
        self.commit(replace(prepared, result=followed))
        return plan

    def pass_day(self, number: int) -> Day:
        """A whole day, to which a file comes before its first run."""
        self.write(self.file(number), *((k, number) for k in range(20)))
        handle = self.handle(number)
        for run in range(1, self.runs + 1):
            self.run(handle, run)
        publish_result(handle, now=dt.datetime.combine(handle.date, dt.time(23), dt.UTC))
        return handle

    def inherited(self, number: int) -> Inherited:
        """What the next day inherits, at its first run."""
        self.write(self.file(number), *((k, number) for k in range(20)))
        handle = self.handle(number)
        self.run(handle, 1)
        return read_inherited(handle.store, handle.at)


@pytest.fixture
def case(tmp_path: Path) -> RollingCase:
    made = RollingCase(tmp_path, (tmp_path / "store").as_uri())
    made.write(made.names / "all.parquet", *((k, k % 3) for k in range(20)))
    for number in (-2, -1):
        made.write(made.file(number), *((k, number) for k in range(20)))
    return made


def read_of(plan: Plan, inherited: Inherited) -> set[str]:
    families = {family.id for family in inherited.families}
    inputs = (item for stage in plan.run.stages for item in stage.inputs)
    return {i.family for i in inputs if isinstance(i, FamilyInput)} & families


def test_a_day_goes_on_from_the_day_before(case: RollingCase):
    first = case.pass_day(0)
    assert read_inherited(first.store, first.at) == Inherited()
    case.write(case.file(1), *((k, 1) for k in range(20)))
    handle = case.handle(1)
    plan = case.run(handle, 1)
    inherited = read_inherited(handle.store, handle.at)
    assert (inherited.day, inherited.days, inherited.runs_before) == (first.at.day, 1, 2)
    assert (plan.current, plan.run.index, plan.run.base, len(plan.runs)) == (1, 1, 0, 2)
    assert read_of(plan, inherited)
    orders = handle_source(case, handle, 1)
    assert orders.takes_back
    assert [file.uri.split("/")[-2] for file in orders.withdrawn] == ["2026-03-01"]
    case.run(handle, 2)
    assert not handle_source(case, handle, 2).withdrawn
    assert handle_source(case, handle, 2).takes_back


def handle_source(case: RollingCase, handle: Day, run: int):
    from forerun.include.days.manifests import read_manifest

    return read_manifest(case.store, handle.at, run).source("orders")


def test_a_text_with_the_report_date_is_another_one_each_day(case: RollingCase):
    """What is kept is named by what it is computed from, the values of parameters with it."""
    case.sql = SQL.replace("GROUP BY", "WHERE orders.v < day(:report_date) GROUP BY")
    case.pass_day(0)
    case.write(case.file(1), *((k, 1) for k in range(20)))
    handle = case.handle(1)
    plan = case.run(handle, 1)
    inherited = read_inherited(handle.store, handle.at)
    assert inherited.families
    mentioned = {f.id for f in plan.families} & {f.id for f in inherited.families}
    assert read_of(plan, inherited) == mentioned
    assert all("orders" not in plan.family(one).sources for one in mentioned)


def test_what_another_engine_has_kept_is_read_without_buckets_only(case: RollingCase):
    case.pass_day(0)
    inherited = case.inherited(1)
    keyed = next(family for family in inherited.families if family.buckets)
    plain = tuple(
        replace(one, buckets=0) if one.family == keyed.id else one for one in inherited.partitions
    )
    other = replace(inherited, partitions=plain)
    assert readable(other, buckets=False) == inherited.families
    assert readable(inherited, buckets=True) == inherited.families
    left = readable(other, buckets=True)
    assert keyed not in left
    assert len(left) == len(inherited.families) - 1
    assert keyed not in readable(inherited, buckets=True, lost={keyed.id})


def test_a_day_by_itself_inherits_nothing_and_has_no_heirs(case: RollingCase):
    """As in a backfill, whose days are all planned before any of them is computed."""
    case.pass_day(0)
    case.write(case.file(1), *((k, 1) for k in range(20)))
    handle, now = case.handle(1), dt.datetime(2026, 3, 4, 23, tzinfo=dt.UTC)
    asked = ask_for_run(handle, case.runs, now=now, settings=EARLY, by_itself=True)
    assert isinstance(asked, AskedRun)
    assert (asked.heirs, asked.request.runs_before) == (0, 0)
    assert read_inherited(handle.store, handle.at) == Inherited()
    asked = ask_for_run(case.handle(1, "other"), case.runs, now=now, settings=EARLY)
    assert isinstance(asked, AskedRun)
    assert (asked.heirs, asked.request.runs_before) == (1, 2)


def test_what_is_inherited_is_decided_once(case: RollingCase):
    case.pass_day(0)
    before = case.inherited(1)
    close_through(case.store, "totals", FIRST.isoformat(), 1)
    handle = case.handle(1)
    prepare_run(handle, 2, now=dt.datetime(2026, 3, 4, 23, tzinfo=dt.UTC), settings=EARLY)
    assert read_inherited(handle.store, handle.at) == before


def test_so_many_days_in_a_row_inherit(case: RollingCase):
    days = [case.pass_day(number) for number in range(4)]
    in_a_row = [read_inherited(day.store, day.at).days for day in days]
    assert in_a_row == [0, 1, 2, 0]


def test_runs_are_counted_on_over_the_days(case: RollingCase):
    case.pass_day(0)
    case.pass_day(1)
    inherited = case.inherited(2)
    assert inherited.runs_before == 4
    runs = {partition.run for partition in inherited.partitions}
    assert min(runs) == 1
    assert max(runs) > 2
    assert inherited.generations == (("2026-03-03", "1"), ("2026-03-04", "1"))
    assert inherited.first is not None
    assert inherited.first.day == "2026-03-03"


def test_of_the_earlier_days_those_count_whose_files_are_read(case: RollingCase):
    """Clean-up may close any other: nothing of it is missed."""
    case.pass_day(0)
    case.pass_day(1)
    inherited = case.inherited(2)
    assert [at.day for at in inherited.of_days("totals")] == ["2026-03-03", "2026-03-04"]
    only = tuple(one for one in inherited.partitions if "/2026-03-04/" in one.folder)
    left = replace(inherited, partitions=only)
    assert [at.day for at in left.of_days("totals")] == ["2026-03-04"]
    assert not list(inherited.of_days("totals", families=()))


@pytest.mark.parametrize("what", ["not over", "closed", "file gone", "edited"])
def test_what_cannot_be_read_is_not_inherited(case: RollingCase, what: str):
    first = case.pass_day(0)
    if what == "not over":
        case.store.delete(first.at.commit(2))
    if what == "closed":
        close_through(case.store, "totals", first.at.day, 1)
    if what == "file gone":
        for file in case.store.list(first.at.artifacts):
            if "/f_" in file.key:
                case.store.delete(file.key)
    if what == "edited":
        case.inherit = 3
    assert case.inherited(1).day == ""


def long_range(case: RollingCase) -> None:
    """A range of six days, the oldest of which have few rows."""
    case.back = 6
    for number in (-5, -4, -3):
        case.write(case.file(number), (1, 1), (2, 2))


def test_state_of_a_day_that_clean_up_has_closed_is_not_inherited(case: RollingCase):
    """Also where the day before is there, and has inherited that."""
    case.pass_day(0)
    case.pass_day(1)
    close_through(case.store, "totals", FIRST.isoformat(), 1)
    assert case.inherited(2).day == ""


def test_an_older_day_is_gone_on_from_where_the_newest_is_not_over(case: RollingCase):
    long_range(case)
    case.pass_day(0)
    case.inherited(1)  # its final run is still to come
    assert case.inherited(2).day == FIRST.isoformat()


def test_of_a_table_that_changed_nothing_is_inherited(case: RollingCase):
    case.pass_day(0)
    case.write(case.names / "more.parquet", (30, 1))
    inherited = case.inherited(1)
    assert all("name" not in family.sources for family in inherited.families)
    assert "name" not in {one.name for one in inherited.sources}


def test_rows_that_cannot_be_taken_back_end_the_row(case: RollingCase):
    long_range(case)
    case.pass_day(0)
    case.write(case.file(-1), *((k, 7) for k in range(9)))  # of a day that stays in the range
    inherited = case.inherited(1)
    assert all("orders" not in family.sources for family in inherited.families)


def test_a_late_file_of_an_earlier_day_is_a_part_of_what_came(case: RollingCase):
    case.pass_day(0)
    case.write(case.file(0).with_name("late.parquet"), (1, 1))
    assert case.inherited(1).day == FIRST.isoformat()
    handle = case.handle(1)
    assert len(handle_source(case, handle, 1).withdrawn) == 1


def test_clean_up_leaves_what_is_inherited(case: RollingCase, monkeypatch: pytest.MonkeyPatch):
    for number in range(3):
        case.pass_day(number)
    later(monkeypatch, days=9)
    expire(case.store, "totals", Retention(days=1))
    there = [day for day in case.store.folders("reports/totals") if _has_state(case, day)]
    assert there == ["2026-03-03", "2026-03-04", "2026-03-05"]
    case.inherit = 0
    case.pass_day(3)
    later(monkeypatch, days=9)
    expire(case.store, "totals", Retention(days=1))
    there = [day for day in case.store.folders("reports/totals") if _has_state(case, day)]
    assert there == ["2026-03-06"]


def _has_state(case: RollingCase, day: str) -> bool:
    return bool(case.store.list(Generation("totals", day, "1").artifacts))


def test_a_day_that_has_inherited_is_repaired_anew(case: RollingCase):
    case.pass_day(0)
    handle = case.pass_day(1)
    case.write(case.file(1).with_name("late.parquet"), (1, 1))
    now = dt.datetime(2026, 3, 5, tzinfo=dt.UTC)
    repair = find_repair(case.store, case.spec, handle.date, now=now, settings=EARLY)
    assert not repair.best.is_delta
    assert [one.why for one in repair.unusable] == ["it goes on from the state of 2026-03-03"]


@pytest.mark.parametrize(
    ("policy", "over", "said"),
    [
        ({"inherit_days": -1}, Trailing(days_back=3), "has -1 days in a row"),
        ({"inherit_days": 500}, Trailing(days_back=3), "has 500 days in a row"),
        (
            {"inherit_days": 2, "expected_repairs": 0.1},
            Trailing(days_back=3),
            "and expects repairs",
        ),
        ({"inherit_days": 2}, None, "no source has a rolling range"),
        ({"inherit_days": 2}, Trailing(days_back=1), "no source has a rolling range"),
    ],
)
def test_what_has_no_meaning_is_refused(case: RollingCase, policy, over, said: str):
    spec = case.spec
    sources = (replace(spec.sources[0], over=over), spec.sources[1])
    with pytest.raises(SpecError, match=said):
        replace(spec, sources=sources, policy=RunPolicy(runs=(RunTime(at="12:00"),), **policy))


def test_how_far_a_range_moves(case: RollingCase):
    spec = case.spec
    orders, names = spec.sources

    def moves(over, period=None):
        made = replace(spec, policy=RunPolicy(runs=(RunTime(at="12:00"),)), period=period)
        return made.moves_by(replace(orders, over=over))

    assert moves(Trailing(days_back=28)) == pytest.approx(1 / 28)
    assert moves(Trailing(days_back=28), Weekly()) == pytest.approx(7 / 28)
    assert moves(Trailing(days_back=7), Weekly()) == 0
    assert moves(Weekly(), Weekly()) == 0
    assert moves(Monthly()) == pytest.approx(4 / 59)
    assert spec.moves_by(names) == 0
    assert spec.takes_back(orders)
    assert not spec.takes_back(replace(orders, over=Monthly()))
