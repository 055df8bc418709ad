"""The day of several reports as a group: one application per time point, and the plain queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from forerun.include.days.handle import Day
from forerun.include.runs.prepare import AskedRun, PreparedRun, ask_for_run, publish_result
from forerun.include.runs.prepare_units import AskedUnit, prepare_units
from forerun.include.state.layout import Generation
from forerun.planner.algebra.relational import Relation
from forerun.planner.errors import ForerunError
from forerun.simulation import accounts
from forerun.simulation.accounts import EarlyResult, RunAccount
from forerun.simulation.day import (
    account_of,
    early_result,
    plain_query,
    read_simulated,
    weights_and_arrivals,
)
from forerun.simulation.deliveries import check_correlations
from forerun.simulation.group_account import GroupAccount, in_sum
from forerun.simulation.plain import PlainQuery, run_together
from forerun.simulation.planning import Report
from forerun.simulation.running import Runner
from forerun.simulation.simulated_day import (
    Advance,
    Say,
    Simulation,
    arrive,
    open_day,
    write_deliveries,
)


@dataclass(slots=True)
class _Member:
    """A report of the group while its day goes on: what is read back of it at the end."""

    what: Simulation
    query: Relation
    plain: PlainQuery
    day: Day
    early: dict[int, EarlyResult] = field(default_factory=dict)
    decided: dict[int, str] = field(default_factory=dict)

    def runs(self, plan_ms: Mapping[int, float]) -> tuple[RunAccount, ...]:
        """The accounts of its runs."""
        runs = accounts.read_runs(self.day.store, self.day.at, weights_and_arrivals(self.what))
        return tuple(
            replace(
                run,
                plan_ms=plan_ms[run.index],
                early_result=self.early.get(run.index),
                decided=self.decided.get(run.index, ""),
            )
            for run in runs
        )


@dataclass(frozen=True, slots=True)
class GroupDay:
    """A group's day that is over. ``rows`` are those of each table that were there at each run;
    ``plan_ms`` and ``took`` are of each time point: the milliseconds that planning took, and the
    CPU seconds of its application where it had one and that was measured."""

    what: Simulation
    members: tuple[_Member, ...]
    rows: Mapping[str, tuple[int, ...]]
    plan_ms: Mapping[int, float]
    took: Mapping[int, float]

    @property
    def plain(self) -> tuple[PlainQuery, ...]:
        """The plain query of each report."""
        return tuple(member.plain for member in self.members)

    def account(
        self, plain: Sequence[tuple[Generation, RunAccount]], together: RunAccount
    ) -> GroupAccount:
        """The day compared with each report's plain query, as :meth:`PlainQuery.run` gives it, and
        with all of them in one application."""
        days = tuple(
            account_of(
                member.what,
                member.query,
                member.plain,
                member.day.at,
                plain_at,
                runs=member.runs(self.plan_ms),
                batch=batch,
                rows=self.rows,
            )
            for member, (plain_at, batch) in zip(self.members, plain, strict=True)
        )
        return GroupAccount(
            group=self.what.name,
            reports=days,
            runs=tuple(
                in_sum([day.runs[run - 1] for day in days], self.took.get(run))
                for run in range(1, len(self.what.points) + 1)
            ),
            batch=in_sum([batch for _, batch in plain]),
            batch_together=together,
            plan_ms=max(self.plan_ms.values()),
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
    used = [tuple(sorted(query.named)) for query in queries]
    say("deliveries")
    rows = write_deliveries(what, sorted({table for one in used for table in one}), advance)
    members = []
    for one, query, tables in zip(of_each, queries, used, strict=True):
        plain = plain_query(one, tables, runner)
        members.append(_Member(one, query.relation, plain, open_day(one, plain)))
    plan_ms, took = _run_day(what, members, runner, say)
    return GroupDay(what, tuple(members), rows, plan_ms, took)


def _run_day(
    what: Simulation, members: Sequence[_Member], runner: Runner, say: Say
) -> tuple[dict[int, float], dict[int, float]]:
    """Every time point in turn, and the pointer of every report. Returns of each time point the
    milliseconds that planning took, and the CPU seconds of its application where it had one and
    that was measured."""
    settings = replace(what.settings, prices=runner.engine.prices)
    plan_ms, took = {}, {}
    moments = members[0].plain.spec.points(members[0].plain.day)
    for run, moment in enumerate(moments, 1):
        arrive(what, run)
        say(f"time point {run} of {len(moments)}")
        ask = partial(
            ask_for_run,
            run=run,
            now=moment,
            method=what.method,
            points=what.points,
            settings=settings,
        )
        prepared = prepare_units([_asking(member, len(moments), ask) for member in members])
        plan_ms[run] = 1000 * prepared.planning_s
        for one in prepared.runs:
            if isinstance(one, ForerunError):
                raise one
        if prepared.submitted:
            uris = [one.plan_uri for one in prepared.submitted]
            used = runner.run(uris, f"{what.name}-{run}", tiny=prepared.tiny)
            if used.process_cpu_s is not None:
                took[run] = used.process_cpu_s
        for member, one in zip(members, prepared.runs, strict=True):
            if isinstance(one, PreparedRun) and one.result is not None:
                member.decided[run] = one.result.decided
                if one.result.plan.run.early_result:
                    say(f"the plain query of {member.what.name} at run {run}")
                    found = early_result(member.plain, member.day.store, member.day.at, run)
                    member.early[run] = found
    for member in members:
        publish_result(member.day, now=moments[-1])
    return plan_ms, took


def _asking(member: _Member, runs: int, ask: Callable[..., AskedRun | PreparedRun]) -> AskedUnit:
    return AskedUnit(
        points=tuple(range(1, runs + 1)),
        ask=partial(ask, member.day),
    )
