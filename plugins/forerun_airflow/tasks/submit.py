"""Submitting the units of a step in one application, and what becomes of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)

from forerun.airflow.day import explained, store_uri, utc_now
from forerun.airflow.retries import retries_of
from forerun.airflow.tasks.application import SubmitApplication
from forerun.airflow.tasks.cores import WantedCores, joined, wanted_for
from forerun.airflow.tasks.plan import prepare, wanted
from forerun.airflow.tasks.units import Step, Unit, next_due, units_of
from forerun.airflow.watching.notify import Notify
from forerun.airflow.watching.telling import telling_how_runs_end
from forerun.include.reports.cluster import Cluster
from forerun.include.state.layout import generation_of
from forerun.include.stores.opening import split_uri
from forerun.planner.errors import ContractError, ForerunError


class SubmitUnits(SubmitApplication):
    """Submits one application with the units of a step, as they were planned; skips when that gives
    them nothing to do. It fails if one of them does: the others are committed, and are not done
    again when it is retried.

    If a plan cannot be followed (it is damaged, of another version of Forerun, or reads a table
    that was kept and is lost), its unit is planned once more, without that table, and submitted
    again. So is one of an engine of early runs at a second try, which is the DAG's own engine's.
    ``notify``: the dotted path of a function that is called with tickets.
    """

    def __init__(self, *, step: Step, plan_task: str, notify: Notify = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.notify = notify
        self.plan_task = plan_task

    def execute(self, context: Any) -> None:
        planned = context["ti"].xcom_pull(task_ids=self.plan_task)
        if not planned:
            raise AirflowFailException(f"{self.step.label} was not planned: see {self.plan_task}")
        if not planned["submit"]:
            raise AirflowSkipException(planned["why"])
        with explained():
            units = units_of(self.step, context)
            plans = plans_of(units, planned)
            units = wanted([unit for unit in units if unit.key in plans])
            due = self._refuse_late_try(context, units)
            store = store_uri(self.step.seats[0].spec)
            apart = _engines_of_try(context, planned)
            own = [unit for unit in units if unit.key not in apart]
            if self.cluster is not None and own:
                self.take_cores(store, self._wanted(context, own, due, self.cluster))
        try:
            self._run(context, units, plans, planned, store)
        finally:
            self.give_back_cores()

    def _refuse_late_try(self, context: Any, units: list[Unit]) -> datetime | None:
        """Return when the next run is due. Early runs that have failed are not tried again into
        that time: it would hold the next run up, which reads the same data anyway."""
        if any(unit.is_final for unit in units):
            return None
        due = next_due(self.step, context, units)
        if due is not None and context["ti"].try_number > 1 and utc_now() >= due:
            raise AirflowFailException(
                f"{self.step.label} is not tried again: the time of the next run has come, and "
                "that one reads what this one would have read"
            )
        return due

    def _wanted(
        self, context: Any, units: Sequence[Unit], due: datetime | None, cluster: Cluster
    ) -> WantedCores:
        """The cores that the application asks for."""
        asked = [
            wanted_for(unit, context, retries_of(self, unit.seat.final_task), cluster)
            for unit in units
        ]
        if len(asked) == 1 and not self.step.is_shared:
            return replace(asked[0], until=due)
        together = joined(self.step.name, [one.request for one in asked])
        return replace(asked[0], request=together, until=due)

    def _run(
        self,
        context: Any,
        units: Sequence[Unit],
        plans: Mapping[str, str],
        planned: Mapping[str, Any],
        store: str,
    ) -> None:
        plans = self._on_own_engine(context, units, plans, planned)
        units = [unit for unit in units if unit.key in plans]
        if not units:
            raise AirflowSkipException(f"the plans for {self.engine} give it nothing to do")
        followed = {unit.key: self._as_batch(context, unit) or plans[unit.key] for unit in units}
        self.name = f"forerun-{context['ti'].dag_id}-{self.step.label}"
        ends = [(one.day, one.run, one.part) for one in units]
        with telling_how_runs_end(lambda: ends, self.notify):
            self._submit_each(context, units, followed, planned, store)
        early = [unit for unit in units if not unit.is_final]
        if early:
            with explained():
                _look_at_early(early, complete=len(early) == len(units))

    def _submit_each(
        self,
        context: Any,
        units: Sequence[Unit],
        plans: Mapping[str, str],
        planned: Mapping[str, Any],
        store: str,
    ) -> None:
        """Submit the units of each engine, whatever becomes of those of another one."""
        apart, ends = _engines_of_try(context, planned), list[AirflowException]()
        by_engine: dict[str, list[Unit]] = {}
        for unit in sorted(units, key=lambda unit: unit.key not in apart):
            by_engine.setdefault(apart.get(unit.key, ""), []).append(unit)
        for engine, those in by_engine.items():
            self.make_ready(store, tiny=bool(planned["tiny"]), early_engine=engine)
            try:
                self._submit(context, those, plans, [] if engine else queries_of(planned))
            except AirflowException as error:
                ends.append(error)
        failed = [error for error in ends if not isinstance(error, AirflowSkipException)]
        if failed or len(ends) == len(by_engine):
            raise (failed or ends)[0]

    def _submit(
        self,
        context: Any,
        units: Sequence[Unit],
        plans: Mapping[str, str],
        queries: Sequence[str],
    ) -> None:
        """Submit what is not committed. Where the last try fails, days that are over and committed
        go on: what publishes them names the others."""
        several = units[0].duty.several
        done = [commit for one in units if (commit := one.day.commit(one.run)) is not None]
        todo = [one for one in units if one.day.commit(one.run) is None]
        if not todo and several:
            self.log.info("every day that has a plan is computed already")
            return
        if not todo:
            said = ", ".join(f"run {one.run} by attempt {one.attempt}" for one in done)
            raise AirflowSkipException(f"nothing is submitted: committed already is {said}")
        lifted = [part for query in queries for part in ("--lifted", query)]
        try:
            self.submit(context, [plans[one.key] for one in todo], *lifted)
        except AirflowException as error:
            again = self._planned_again(todo, plans)
            if again:
                self.submit(context, list(again.values()))
                todo = [one for one in todo if one.key not in again]
                if all(map(_is_done, todo)):
                    return
            ti = context["ti"]
            some = several and any(one.day.commit(one.run) is not None for one in units)
            if not some or ti.try_number <= ti.max_tries:
                raise
            self.log.error("not all days are computed: %s", error)

    def _on_own_engine(
        self,
        context: Any,
        units: Sequence[Unit],
        plans: Mapping[str, str],
        planned: Mapping[str, Any],
    ) -> dict[str, str]:
        """Return the plans with others, for this DAG's engine, of units that were planned for an
        early engine and have failed there; none of those that then have nothing to do."""
        found, apart = dict(plans), _engines_of_try(context, planned)
        with explained():
            for unit in units:
                if unit.key not in planned.get("engines", {}) or unit.key in apart:
                    continue
                if _is_done(unit):
                    continue
                self.log.warning("%s is planned again for %s", unit.key, self.engine)
                prepared = prepare(unit, self.engine, one_engine=True)
                found[unit.key] = prepared.plan_uri
                if prepared.skip_reason:
                    self.log.info("%s: %s", unit.key, prepared.skip_reason)
                    del found[unit.key]
        return found

    def _as_batch(self, context: Any, unit: Unit) -> str:
        """The plan of batch, where a final run has failed and only that can still be in time; else
        nothing."""
        from forerun.include.times.way_out import read_way_out

        ti = context["ti"]
        if not unit.is_final or unit.duty.is_over or ti.try_number < 2:
            return ""
        with explained():
            last = ti.try_number > ti.max_tries
            why = read_way_out(unit.day, utc_now(), failed=True, last=last)
            if not why or unit.day.commit(unit.run) is not None:
                return ""
            self.log.warning("%s is planned again as batch: %s", unit.key, why)
            return prepare(unit, self.engine, batch=True).plan_uri

    def _planned_again(self, units: Sequence[Unit], plans: Mapping[str, str]) -> dict[str, str]:
        """Return other plans of what is not done, if that is why it failed that a plan cannot be
        followed."""
        again: dict[str, str] = {}
        for unit in units:
            if unit.duty.is_over or self.is_early_engine:
                continue  # what is over is planned where it is opened, the other at a second try
            why, lost = self._why_not_followed(unit, plans[unit.key])
            if not why:
                continue
            with explained():
                if _is_done(unit):
                    continue
                self.log.warning("planning %s again: %s", unit.key, why)
                prepared = prepare(unit, self.engine, lost=lost, one_engine=True)
            if not prepared.skip_reason:
                again[unit.key] = prepared.plan_uri
            elif len(units) == 1:
                raise AirflowSkipException(prepared.skip_reason)
        return again

    def _why_not_followed(self, unit: Unit, plan_uri: str) -> tuple[str, Collection[str]]:
        """Return why a plan cannot be followed, nothing for one that can, and the families that are
        lost. Where that cannot be found out, the failure of the run is what counts: it may be tried
        again."""
        from forerun.include.runs.stored_plan import StoredPlan
        from forerun.include.state.commits import lost_families
        from forerun.include.state.inherited import read_inherited

        try:
            plan = StoredPlan.read(plan_uri)
            chain = unit.day.chain(tip=plan.plan.run.base)
            own = (artifact for commit in chain for artifact in commit.artifacts)
            inherited = read_inherited(plan.store, unit.day.at).partitions
            lost = lost_families(plan.store, (*inherited, *own))
        except ContractError as error:
            return str(error), ()
        except ForerunError as error:
            self.log.warning("why the run failed cannot be looked up: %s", error.message)
            return "", ()
        read = [why for family, why in lost.items() if family in plan.families]
        return "; ".join(read), lost


def _engines_of_try(context: Any, planned: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the early engines of units in this try. The DAG's own engine does what another one has
    failed to do."""
    engines: Mapping[str, str] = planned.get("engines") or {}
    return engines if context["ti"].try_number == 1 else {}


def _is_done(unit: Unit) -> bool:
    """Return whether a unit is committed, or has given up."""
    from forerun.include.state.given_up import read_given_up

    day = unit.day
    return bool(day.commit(unit.run) or read_given_up(day.store, day.at, unit.run))


def plans_of(units: Sequence[Unit], planned: Mapping[str, Any]) -> dict[str, str]:
    """Return the plans by unit; those of a plan task of an older version, too."""
    plans = planned.get("plans", planned.get("plan"))
    if isinstance(plans, Mapping):
        return {f"{units[0].report} {key}" if " " not in key else key: plans[key] for key in plans}
    if isinstance(plans, str):
        return {units[0].key: plans}
    by_report = {generation_of(split_uri(plan)[1]).report: plan for plan in plans}
    return {unit.key: by_report[unit.report] for unit in units if unit.report in by_report}


def queries_of(planned: Mapping[str, Any]) -> list[str]:
    """Return the queries that do several units; that of a plan task of an older version, too."""
    return planned.get("queries") or [query for query in [planned.get("query")] if query]


def _look_at_early(units: Sequence[Unit], *, complete: bool) -> None:
    """Fail early runs whose deliveries break a critical expectation: that is hours before the
    deadline. The runs stay committed, and the next ones go on from them. Skip where all have given
    up; ``complete`` says that the units are all that the application has done."""
    from forerun.include.state.given_up import read_given_up

    broken: list[str] = []
    given_up: list[str] = []
    for unit in units:
        day = unit.day
        commit = day.commit(unit.run)
        if commit is None and (found := read_given_up(day.store, day.at, unit.run)) is not None:
            given_up.append(found.why)
        checks = commit.checks if commit else ()
        broken += [
            f"{check.target} (see {day.store.root}/{check.key})"
            for check in checks
            if check.critical
        ]
    if broken:
        raise AirflowFailException(
            "critical expectations do not hold; unless that is put right, the report will not "
            f"be published: {', '.join(broken)}"
        )
    if complete and len(given_up) == len(units):
        raise AirflowSkipException("; ".join(given_up))
