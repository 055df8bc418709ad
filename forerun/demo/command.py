"""``forerun demo``: three reports of a day through Airflow and Spark, beside their batch runs."""

from __future__ import annotations

import time
from itertools import takewhile
from pathlib import Path

from forerun import accounts, console
from forerun.accounts import DayAccount
from forerun.demo.data import ARRIVED
from forerun.demo.page import PageReport, page
from forerun.demo.place import MASTER, ROOT, DemoError, Place, open_place, run_airflow, stage_day
from forerun.demo.reports import DAY, POLICY, demo_sources
from forerun.demo.verdict import left_to_itself, verdict
from forerun.plain import PlainQuery
from forerun.planning import sources as planner_sources
from forerun.running import Runner, SparkRunner
from forerun.shown_day import show_day
from forerun.simulate import make_account
from forerun.tables import Table
from include.days.prepare import latest_generation
from include.machine.jvm import home_folder
from include.reports.spec import ReportSpec
from include.state.opening import open_store
from planner.algebra.relational import sources as sources_of
from planner.request import TimePoint
from planner.sql.frontend import read_query

_LEAD = (
    "Three reports, computed early, while the data came in and compute was cheap, and finished at "
    "midnight with what was left. Every figure is from what ran."
)


REPORTS = ("consolidated_revenue", "top_orders", "customer_distribution")
"""The DAG of each is ``dags/demo_<name>.py``, its SQL ``include/sql/<name>.sql``."""


def run(store: str, scale: float, *, as_json: bool) -> int:
    """The whole demo; 0 if every result equals batch, else 1."""
    started = time.monotonic()
    notes = console.notes()
    with open_place(store) as place:
        notes.print(f"data of a day at scale {scale:g}")
        tables = stage_day(place.data, scale)
        notes.print("Airflow's database")
        run_airflow(place, "migrate", "db", "migrate")
        runner = SparkRunner(place.home / "logs", MASTER)
        pages = []
        for name in REPORTS:
            notes.print(f"{name}: three runs through Airflow, then batch")
            run_airflow(place, name, "dags", "test", f"demo_{name}", DAY.isoformat())
            pages.append(_account(place, name, tables, runner))
        seconds = time.monotonic() - started
        target = home_folder() / "demo" / "day.html"
        footer = f"forerun demo, scale {scale:g}, {store} store, {seconds:.0f} s in all."
        said = verdict(
            {one.title: one.day for one in pages}, {one.title: one.alone for one in pages}
        )
        target.write_text(page(_title(), _LEAD, said, pages, footer), encoding="utf-8")
    _show(pages, said, target, as_json=as_json)
    notes.print(f"{seconds:.0f} s in all")
    return 0 if all(one.day.equal for one in pages) else 1


def _title() -> str:
    return f"The day of {DAY.day} {DAY:%B %Y}"


def _account(place: Place, name: str, tables: dict[str, Table], runner: Runner) -> PageReport:
    """What the DAG's runs committed, beside the plain query over the same files."""
    store = open_store(place.store)
    at = latest_generation(store, name, DAY)
    if at is None or store.find(at.commit(len(POLICY.runs))) is None:
        raise DemoError(
            f"the final run of {name} was not committed",
            hint=f"The log: {place.home / 'logs' / f'airflow-{name}.log'}",
        )
    report = ROOT / "include" / "sql" / f"{name}.sql"
    sql = report.read_text(encoding="utf-8")
    sources = planner_sources(tables.values(), frozenset(tables))
    spec = ReportSpec(
        name=name,
        sql=sql,
        sources=demo_sources(name, *sorted(sources_of(read_query(sql, sources).relation))),
        policy=POLICY,
        deadline="26:00",
        store=place.store,
    )
    plain = PlainQuery(spec, sources, DAY, runner)
    plain_at, batch = plain.run()
    arrivals = accounts.read_arrivals(store, at, spec.runs)
    whole = max(sum(rows[-1] for _, rows in arrivals), 1)
    parts = [sum(rows[i] for _, rows in arrivals) / whole for i in range(spec.runs)]
    points = tuple(zip(spec.weights, parts, strict=True))
    day = make_account(
        store,
        at,
        engine=runner.engine.name,
        sql=sql,
        verdict=plain.compare(at, plain_at),
        runs=accounts.read_runs(store, at, points),
        batch=batch,
        arrivals=arrivals,
    )
    times = tuple(run.at for run in POLICY.runs)
    return PageReport(
        title=name.replace("_", " ").capitalize(),
        about=_about(sql),
        times=times,
        day=day,
        alone=left_to_itself(report, tables, _points()),
    )


def _points() -> tuple[TimePoint, ...]:
    return tuple(
        TimePoint(weight=run.weight, arrived=arrived)
        for run, arrived in zip(POLICY.runs, ARRIVED, strict=True)
    )


def _about(sql: str) -> str:
    """The comment at the top of a report's SQL."""
    lines = takewhile(lambda line: line.startswith("--"), sql.splitlines())
    return " ".join(line.removeprefix("--").strip() for line in lines)


def _show(pages: list[PageReport], said: tuple[str, ...], target: Path, *, as_json: bool) -> None:
    if as_json:
        days: list[DayAccount] = [one.day for one in pages]
        shown = {"page": str(target), "verdict": said, "reports": [day.as_json() for day in days]}
        console.say_json(shown)
        return
    for one in pages:
        show_day(one.day)
        console.say("")
    for text in said:
        console.say(text)
    console.say(f"\nthe day as a page: {target}")
