"""The day of several reports as a group: one application per time point, and the plain queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from forerun.include.state.layout import Generation
from forerun.simulation.accounts import RunAccount
from forerun.simulation.course import DayCourse, SimulatedReport, run_day
from forerun.simulation.day import account_of, plain_query, read_simulated
from forerun.simulation.deliveries import check_correlations
from forerun.simulation.group_account import GroupAccount, in_sum
from forerun.simulation.plain import PlainQuery, run_together
from forerun.simulation.planning import Report
from forerun.simulation.running import Runner
from forerun.simulation.simulated_day import Advance, Say, Simulation, write_deliveries


@dataclass(frozen=True, slots=True)
class GroupDay:
    """A group's day that is over. ``rows`` are those of each table that were there at each run."""

    what: Simulation
    course: DayCourse
    rows: Mapping[str, tuple[int, ...]]

    @property
    def plain(self) -> tuple[PlainQuery, ...]:
        """The plain query of each report."""
        return tuple(report.plain for report in self.course.reports)

    def account(
        self, plain: Sequence[tuple[Generation, RunAccount]], together: RunAccount
    ) -> GroupAccount:
        """The day compared with each report's plain query, as :meth:`PlainQuery.run` gives it, and
        with all of them in one application."""
        course = self.course
        days = tuple(
            account_of(report, plain_at, runs=course.runs_of(report), batch=batch, rows=self.rows)
            for report, (plain_at, batch) in zip(course.reports, plain, strict=True)
        )
        return GroupAccount(
            group=self.what.name,
            reports=days,
            runs=tuple(
                in_sum([day.runs[run - 1] for day in days], course.took.get(run))
                for run in range(1, len(self.what.points) + 1)
            ),
            batch=in_sum([batch for _, batch in plain]),
            batch_together=together,
            plan_ms=max(course.plan_ms.values()),
        )


def simulate_group(
    what: Simulation, reports: Sequence[Report], runner: Runner, say: Say, advance: Advance
) -> GroupAccount:
    """Run the day of all reports as a group and every plain query, alone and all in one
    application, and compare. ``what`` describes the day; its name is the group's, and its query
    is not read. Raises a ``ForerunError`` for everything that a person can put right.
    """
    day = run_group_day(what, reports, runner, say, advance)
    batches = []
    for plain, report in zip(day.plain, reports, strict=True):
        say(f"the plain query of {report.name}")
        batches.append(plain.run())
    say("the plain queries in one application")
    return day.account(batches, run_together(day.plain, what.name))


def run_group_day(
    what: Simulation, reports: Sequence[Report], runner: Runner, say: Say, advance: Advance
) -> GroupDay:
    """Run the day of all reports as a group, as :func:`simulate_group`, and nothing beside it."""
    check_correlations(what.correlations, what.tables, what.changing)
    of_each = [replace(what, name=report.name, sql=report.sql) for report in reports]
    queries = [read_simulated(one) for one in of_each]
    say("deliveries")
    used = [tuple(sorted(query.named)) for query in queries]
    rows = write_deliveries(what, sorted({table for one in used for table in one}), advance)
    begun = [
        SimulatedReport.begin(one, query.relation, plain_query(one, tables, runner))
        for one, query, tables in zip(of_each, queries, used, strict=True)
    ]
    return GroupDay(what, run_day(what, begun, say, together=True), rows)
