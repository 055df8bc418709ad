"""``forerun demo``: the night of three reports through Airflow and Spark, beside batch."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from forerun import console
from forerun.demo.page import PageReport, Tiles, page
from forerun.demo.place import MASTER, DemoError, Place, open_place, run_airflow, stage_day
from forerun.demo.reports import DAY, POLICY, demo_sources, demo_sql
from forerun.demo.verdict import lead, verdict
from forerun.include.days.manifests import read_manifest
from forerun.include.machine.jvm import home_folder
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.prepare import latest_generation
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.sql.frontend import read_query
from forerun.simulation import accounts
from forerun.simulation.day import make_account
from forerun.simulation.group_account import GroupAccount, in_sum
from forerun.simulation.plain import PlainQuery, run_together
from forerun.simulation.planning import sources as planner_sources
from forerun.simulation.running import Runner, SparkRunner, Used
from forerun.simulation.shown_day import show_group
from forerun.simulation.tables import Table

NIGHT = "night"
"""The group: its DAG is ``dags/demo_night.py``."""
REPORTS = ("consolidated_revenue", "delivery_notes", "customer_distribution")
"""Its reports; the SQL of each is ``include/sql/<name>.sql``."""


_BEGINS = re.compile(r"\] (run \d+ of \w+): ")
"""The line of a run's log with which it begins."""
_HEAP = "1g"
"""What a driver has whom nobody gives more, as those that Airflow submits in the demo."""


class _LikeAirflow(SparkRunner):
    """Runs applications as Airflow does in the demo. What an application took is what its runs say
    that they used: nobody measures those of Airflow from outside."""

    def __init__(self, logs: Path) -> None:
        super().__init__(logs, MASTER, memory=_HEAP)

    def run(self, plan_uris: Sequence[str], name: str, **how: Any) -> Used:
        super().run(plan_uris, name, **how)
        return Used()


def run(store: str, scale: float, mode: str, *, as_json: bool) -> int:
    """The whole demo; 0 if every result equals batch, else 1. ``mode`` is that of the DAG run."""
    started = time.monotonic()
    said = _Progress(started)
    with open_place(store) as place:
        said.doing(f"data of a day at scale {scale:g}")
        tables = stage_day(place.data, scale)
        said.doing("Airflow's database")
        run_airflow(place, "migrate", "db", "migrate")
        said.doing("the night of three reports through Airflow")
        night = ("dags", "test", f"demo_{NIGHT}", DAY.isoformat(), "-c", json.dumps({"mode": mode}))
        run_airflow(place, NIGHT, *night, on_line=said.in_airflow)
        group = _account(place, tables, _LikeAirflow(place.home / "logs"), said)
        seconds = time.monotonic() - started
        target = home_folder() / "demo" / "day.html"
        footer = f"forerun demo, scale {scale:g}, {store} store, {seconds:.0f} s in all."
        answer = verdict(group, mode)
        pages = [_page_of(group, number) for number in range(len(group.reports))]
        target.write_text(
            page(_title(), lead(group), _tiles(group), answer, pages, footer), encoding="utf-8"
        )
    _show(group, answer, target, as_json=as_json)
    console.notes().print(f"{seconds:.0f} s in all")
    return 0 if group.equal else 1


class _Progress:
    """Says what is going on, with the seconds since the demo began."""

    def __init__(self, started: float) -> None:
        self._started = started

    def doing(self, what: str) -> None:
        seconds = time.monotonic() - self._started
        console.notes().print(f"{seconds:4.0f} s  {what}")

    def in_airflow(self, line: str) -> None:
        """Tell of a line of Airflow's log, if a run of a report begins in it."""
        if found := _BEGINS.search(line):
            self.doing(f"  {found.group(1)}")


def _title() -> str:
    return f"The night of {DAY.day} {DAY:%B %Y}"


def _account(
    place: Place, tables: dict[str, Table], runner: Runner, said: _Progress
) -> GroupAccount:
    """Return the account of what the DAG's runs committed, beside the plain queries over the same
    files: each in an application of its own, and all in one."""
    days, plains = [], []
    for name in REPORTS:
        said.doing(f"batch of {name}, to compare with")
        store = open_store(place.store)
        at = latest_generation(store, name, DAY)
        if at is None or store.find(at.commit(len(POLICY.runs))) is None:
            raise DemoError(
                f"the final run of {name} was not committed",
                hint=f"The log: {place.home / 'logs' / f'airflow-{NIGHT}.log'}",
            )
        plain = _plain(place, at, tables, runner)
        plains.append(plain)
        plain_at, batch = plain.run()
        arrivals = accounts.read_arrivals(store, at, len(POLICY.runs))
        day = make_account(
            store,
            at,
            engine=runner.engine.name,
            sql=plain.spec.sql,
            verdict=plain.compare(at, plain_at),
            runs=accounts.read_runs(store, at, _points(arrivals)),
            batch=batch,
            arrivals=arrivals,
        )
        days.append(day)
    said.doing("batch of all three in one application")
    return GroupAccount(
        group=NIGHT,
        reports=tuple(days),
        runs=tuple(in_sum([day.runs[index] for day in days]) for index in range(len(POLICY.runs))),
        batch=in_sum([day.batch for day in days]),
        batch_together=run_together(plains, NIGHT),
    )


def _points(arrivals: tuple[tuple[str, tuple[int, ...]], ...]) -> tuple[tuple[float, float], ...]:
    """Return for each run its price of compute and the part of all rows that has arrived."""
    whole = max(sum(rows[-1] for _, rows in arrivals), 1)
    parts = [sum(rows[i] for _, rows in arrivals) / whole for i in range(len(POLICY.runs))]
    return tuple((run.weight, part) for run, part in zip(POLICY.runs, parts, strict=True))


def _plain(place: Place, at: Generation, tables: dict[str, Table], runner: Runner) -> PlainQuery:
    """The plain query of a report. It is checked as the report is: batch would have to be, too."""
    name, store = at.report, open_store(place.store)
    sql = Path(demo_sql(name)).read_text(encoding="utf-8")
    sources = planner_sources(tables.values(), frozenset(tables))
    spec = ReportSpec(
        name=name,
        sql=sql,
        sources=demo_sources(*sorted(sources_of(read_query(sql, sources).relation))),
        policy=POLICY,
        deadline="26:00",
        store=place.store,
        expectations=read_manifest(store, at, len(POLICY.runs)).expectations,
    )
    return PlainQuery(spec, sources, DAY, runner)


def _tiles(group: GroupAccount) -> Tiles:
    """Return tiles that say what the night cost, by whole processes."""
    count = len(group.reports)
    shares = (
        (group.process_ratio, f"of {count} batch applications, by whole processes"),
        (group.process_ratio_to_together, f"of one application with all {count} queries"),
    )
    runs = [run for run in group.runs if not run.skipped]
    return (
        *((f"{share:.0%}", what) for share, what in shares if share is not None),
        (str(len(runs)), f"application{'s' * (len(runs) != 1)} for {count} reports"),
        (f"{sum(day.equal for day in group.reports)} of {count}", "results equal to batch"),
    )


def _page_of(group: GroupAccount, number: int) -> PageReport:
    day = group.reports[number]
    return PageReport(
        title=day.report.replace("_", " ").capitalize(),
        about=_about(day.sql),
        times=tuple(run.at for run in POLICY.runs),
        day=day,
    )


def _about(sql: str) -> str:
    """The comment at the top of a report's SQL."""
    lines = takewhile(lambda line: line.startswith("--"), sql.splitlines())
    return " ".join(line.removeprefix("--").strip() for line in lines)


def _show(group: GroupAccount, said: tuple[str, ...], target: Path, *, as_json: bool) -> None:
    if as_json:
        console.say_json({"page": str(target), "verdict": said, **group.as_json()})
        return
    show_group(group)
    console.say("")
    for text in said:
        console.say(text)
    console.say(f"\nthe night as a page: {target}")
