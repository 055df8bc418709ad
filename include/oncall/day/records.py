"""All that the store holds of one report's day, read once and as values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from forerun.include.days.generations import generations, read_spec
from forerun.include.days.handle import Day
from forerun.include.days.instructions import Told, read_told
from forerun.include.days.ledger import read_history
from forerun.include.days.publishing import broken_promises
from forerun.include.days.run_times import read_times
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import AssetEvent, ReportSpec
from forerun.include.state.commits import read_chain
from forerun.include.state.failure import Failure, read_failures
from forerun.include.state.inherited import Inherited, read_inherited
from forerun.include.state.layout import Generation, day_folder, pointer_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.pointers import Pointer, read_published
from forerun.include.state.records import GenerationRecord, RunCommit
from forerun.include.state.verdicts import ReadingVerdict, newest_verdict
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import StoreReader
from forerun.include.times.safe_start import SafeStart, remaining_cost, safe_start
from forerun.include.times.wall_forecast import NEWEST, WallForecast
from forerun.planner.contract import Plan, decode_plan
from forerun.planner.cost.constants import MICRO

_PLAN = re.compile(r"/run-(\d+)-([^/]+)\.json\Z", re.ASCII)
_NO_RETRIES = Retries(count=0, pauses_s=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """A stored plan: where it lies, the run that it was made for, and when, by the store."""

    key: str
    run: int
    attempt: str
    stored_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRecords:
    """The newest generation of a day. ``chain`` has its commits, ``plans`` all plans, both oldest
    first; ``plan`` is the newest one. ``points`` are the instants of its runs and ``weights`` their
    prices, as they are written or were chosen last. ``safe`` is the latest safe start as the tasks
    of the day work it out; once the final run is committed, as it was before. ``batch_wall_s``: the
    seconds that one run of batch over the day is forecast to take, None where nothing forecasts it.
    ``older``: how many generations came before. ``told`` has what people told this one to do.
    ``failures``: the errors of its tasks that have failed for good and not been started again,
    oldest first. ``broken``: a line for each critical expectation that did not hold.
    ``verdict``: what Spark has said of the plan's reading of the text, None if it was
    not asked."""

    at: Generation
    record: GenerationRecord
    spec: ReportSpec
    chain: tuple[RunCommit, ...]
    plans: tuple[PlanFile, ...]
    plan: Plan | None
    published: Pointer | None
    points: tuple[datetime, ...]
    weights: tuple[float, ...]
    deadline: datetime
    safe: SafeStart
    batch_wall_s: float | None
    older: int
    told: Told
    failures: tuple[Failure, ...] = ()
    broken: tuple[str, ...] = ()
    verdict: ReadingVerdict | None = None
    inherited: Inherited = Inherited()  # noqa: RUF009 - a frozen value

    @property
    def date(self) -> date:
        return date.fromisoformat(self.at.day)

    @property
    def started_at(self) -> datetime:
        return datetime.fromisoformat(self.record.started_at)

    @property
    def plans_of_final(self) -> tuple[PlanFile, ...]:
        """The plans that were made for the final run, oldest first."""
        return tuple(one for one in self.plans if one.run == self.spec.runs)

    @property
    def is_published(self) -> bool:
        """Return whether readers have the whole day, of this generation or a later one."""
        published = self.published
        whole = published is not None and not published.early
        return published is not None and whole and published.generation >= self.at.number

    @property
    def waits_for_assets(self) -> bool:
        """Return whether a source is complete by an event of Airflow, of which the store knows
        nothing."""
        return any(isinstance(one.complete_when, AssetEvent) for one in self.spec.sources)

    @property
    def is_blocked(self) -> bool:
        """Return whether a critical expectation did not hold, and nobody has said to publish the
        day all the same."""
        critical = any(check.critical for commit in self.chain for check in commit.checks)
        return critical and self.told.publish_anyway is None

    @property
    def fatal(self) -> Failure | None:
        """The newest failure that keeps the day from being published, None if there is none. What
        an early run was to do is done by a later one, and a plan that was made for the final run
        since says that it was begun again, as does who has overruled a check that failed."""
        last = [one for one in self.failures if one.run == self.spec.runs]
        if not last:
            return None
        planned = [plan.stored_at for plan in self.plans_of_final]
        if overruled := self.told.publish_anyway:
            planned.append(datetime.fromisoformat(overruled.at))
        # A failure is kept to the second.
        since = max(planned, default=self.started_at).replace(microsecond=0)
        return last[-1] if last[-1].failed_at >= since else None

    @property
    def final(self) -> RunCommit | None:
        """The commit of the final run, None before there is one."""
        return final_of(self.spec, self.chain)


def final_of(spec: ReportSpec, chain: Sequence[RunCommit]) -> RunCommit | None:
    """The commit of a report's final run, None before there is one."""
    return next((one for one in chain if one.run == spec.runs), None)


def day_mark(store: StoreReader, report: str, day: str) -> tuple[object, ...]:
    """A value that changes whenever anything of the day does: what was read under one mark need not
    be read again under it. A handful of listings."""
    names = store.folders(day_folder(report, day))
    newest = max((name for name in names if name.isdigit()), key=int, default="")
    pointer = store.find(pointer_key(report, day))
    tag = pointer.tag if pointer else ""
    if not newest:
        return (names, tag)
    at = Generation(report, day, newest)
    folders = [at.plans, at.commits, at.failures]
    # The newest may be a repair, of which the page of the day shows what was published before.
    folders += [Generation(report, day, name).instructions for name in names if name.isdigit()]
    listed = [file for folder in folders for file in store.list(folder)]
    return (names, tag, tuple((file.key, file.identity) for file in listed))


def read_day_records(store: StoreReader, report: str, day: str) -> DayRecords | None:
    """Read the newest generation of a day that a DAG run has opened, repairs left out; None if
    there is none that clean-up has left.

    Raises :class:`forerun.include.stores.store.StoreError` and
    :class:`forerun.planner.errors.ContractError`.
    """
    at_day = date.fromisoformat(day)
    found = generations(store, report, at_day)
    known = [one for one in found if one[1].opened_by and not one[1].repairs]
    if not known:
        return None
    at, record = known[0]
    spec = read_spec(store, report, record.spec)
    plans = _plans(store, at)
    plan = decode_plan(store.get(plans[-1].key)) if plans else None
    chain = tuple(read_chain(store, at))
    history = read_history(store, report, NEWEST * spec.runs)
    before = [entry for entry in history if entry.day < day]
    batch_s = plan.batch_run_cost / MICRO if plan else None
    times = read_times(Day(ScratchStore(store), spec, at))
    return DayRecords(
        at=at,
        record=record,
        spec=spec,
        chain=chain,
        plans=plans,
        plan=plan,
        published=read_published(store, report, day).pointer,
        points=times.instants,
        weights=tuple(point.weight for point in times.points) or spec.weights,
        deadline=spec.deadline_on(at_day),
        safe=_safe_start(spec, at_day, record, plan, chain, before),
        batch_wall_s=WallForecast(before, spec.policy).of(batch_s)[0],
        older=len(known) - 1,
        told=read_told(store, at),
        failures=read_failures(store, at),
        broken=broken_promises(store, chain),
        inherited=read_inherited(store, at),
        verdict=newest_verdict(store, plan.question.id) if plan and plan.question else None,
    )


def _safe_start(
    spec: ReportSpec,
    day: date,
    record: GenerationRecord,
    plan: Plan | None,
    chain: Sequence[RunCommit],
    history: Sequence[LedgerEntry],
) -> SafeStart:
    final, opened_by = final_of(spec, chain), record.opened_by
    done = final.base if final else chain[-1].run if chain else 0
    cost = None if plan is None else remaining_cost(plan, done)
    retries = opened_by.retries if opened_by else _NO_RETRIES
    batches = len(chain) if final else len(chain) + 1
    return safe_start(spec, day, cost, history, retries, batches)


def _plans(store: StoreReader, at: Generation) -> tuple[PlanFile, ...]:
    """The plans of a generation, by the run that they were made for, then by time."""
    found = [
        PlanFile(
            key=file.key,
            run=int(match[1]),
            attempt=match[2],
            stored_at=datetime.fromtimestamp(file.modified, UTC),
        )
        for file in store.list(at.plans)
        if (match := _PLAN.search(file.key))
    ]
    return tuple(sorted(found, key=lambda plan: (plan.run, plan.stored_at, plan.key)))
