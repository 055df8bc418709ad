"""A day outside of Spark: open a generation, plan each run, publish. What Airflow and the CLI call.

Every function may be repeated after a kill at any moment: what was decided is put if absent and
read back, so a retried task goes on with the first decision.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Required, TypedDict, Unpack

from forerun.include.days.generations import claim_name, generations, latest_generation
from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history, record_history
from forerun.include.days.manifests import DayClosedError, day_closed, manifest_of
from forerun.include.days.panes import with_panes
from forerun.include.days.publishing import (
    FailedCheck,
    NotPublishedError,
    OvertakenError,
    publish_result,
    read_findings,
)
from forerun.include.days.results import read_pointer
from forerun.include.days.run_times import read_times
from forerun.include.reports.spec import ReportSpec, encode_report
from forerun.include.runs.day_request import (
    bytes_at_hand,
    committed_run,
    first_sources,
    forecast_points,
    problem_of,
    settings_of,
    sources_at,
    sql_of,
    unchanged_in,
)
from forerun.include.runs.early_engine import (
    DEARER,
    EarlyEngine,
    early_engine_of,
    why_not_as_early,
)
from forerun.include.runs.inheriting import going_on, inherit
from forerun.include.runs.losing_days import why_by_the_ledger
from forerun.include.runs.misread import why_by_the_text
from forerun.include.runs.observed import observed
from forerun.include.runs.state_left import following_of, with_state_left
from forerun.include.state.fence import closed_through
from forerun.include.state.given_up import read_given_up
from forerun.include.state.inherited import read_inherited
from forerun.include.state.layout import Generation, day_folder, spec_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.probe import probe
from forerun.include.state.records import (
    GenerationRecord,
    Manifest,
    OpenedBy,
    Pin,
    RunCommit,
    encode,
)
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.opening import open_store
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import Store
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import Plan, encode_plan
from forerun.planner.errors import RequestError
from forerun.planner.request import (
    Method,
    PlanRequest,
    Settings,
    TimePoint,
)

__all__ = [
    "DayClosedError",
    "FailedCheck",
    "NotPublishedError",
    "OvertakenError",
    "PreparedRun",
    "imagine_generation",
    "latest_generation",
    "open_generation",
    "prepare_run",
    "publish_result",
    "read_findings",
    "read_pointer",
]

TINY_BYTES = 16 << 20
"""Below this the JVM's first compiler alone is cheaper: about 7 CPU seconds of data work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that is planned. ``skip_reason`` is empty if there is something to submit.

    ``tiny``: it reads so little that the fixed cost of its JVM decides. ``result`` is what explain
    shows, None if the run is committed already and was not planned again. ``planning_s``: seconds
    that the planner took, without pinning, statistics and storing. ``engine``: the engine that it
    is planned for, where that is not the day's; ``why_not_early``: why it is not the one that the
    report names for early runs.
    """

    at: Generation
    run: int
    plan_key: str
    plan_uri: str
    skip_reason: str = ""
    tiny: bool = False
    result: PlanResult | None = None
    planning_s: float = 0.0
    engine: str = ""
    why_not_early: str = ""


def open_generation(
    store_uri: str,
    spec: ReportSpec,
    day: date,
    *,
    trigger: str,
    now: datetime,
    opened_by: OpenedBy | None = None,
    repairs: str = "",
) -> Day:
    """Open a generation of a day, or find the one that ``trigger`` has opened.

    ``trigger`` is equal for all tasks and retries of one attempt at the day and new after a clear.
    ``opened_by`` says which DAG run opens it, None for somebody who makes no claim to the report's
    name. ``repairs``: the generation that a repair goes on from. At the first use of a store this
    proves that its conditional puts hold.

    Raises :class:`forerun.include.days.generations.NameTakenError` if another DAG has the report's
    name.
    """
    store = open_store(store_uri)
    probe(store)
    if opened_by:
        claim_name(store, spec.name, opened_by.dag_id, now)
        store.put_if_absent(spec_key(spec.name, spec.digest), encode_report(spec))
    return _open(store, spec, day, trigger=trigger, now=now, opened_by=opened_by, repairs=repairs)


def imagine_generation(store_uri: str, spec: ReportSpec, day: date, *, now: datetime) -> Day:
    """The generation that a day would open now, for a dry run (:meth:`Day.imagined`)."""
    store = ScratchStore(open_store(store_uri))
    return _open(store, spec, day, trigger="dry-run", now=now)


def _open(
    store: Store,
    spec: ReportSpec,
    day: date,
    *,
    trigger: str,
    now: datetime,
    opened_by: OpenedBy | None = None,
    repairs: str = "",
) -> Day:
    backoff = Backoff(day_folder(spec.name, day.isoformat()))
    while True:
        known = generations(store, spec.name, day)
        for at, record in known:
            if record.trigger == trigger:
                return Day(store, spec, at)
        pointer = read_pointer(store, spec.name, day)
        newest = known[0][1].number if known else 0
        # Also above what is published or closed: its state may have been cleaned up.
        closed = closed_through(store, spec.name, day.isoformat())
        number = max(newest, closed, pointer.generation if pointer else 0) + 1
        record = GenerationRecord(
            number=number,
            trigger=trigger,
            started_at=now.astimezone(UTC).isoformat(),
            spec=spec.digest,
            opened_by=opened_by,
            repairs=repairs,
        )
        opened = Day(store, spec, Generation(spec.name, day.isoformat(), str(number)))
        if store.put_if_absent(opened.at.record, encode(record)) and not opened.is_closed():
            return opened
        backoff.wait()


class Asking(TypedDict, total=False):
    """The keywords by which a run is planned. ``method`` is ``auto`` by default. ``points``
    replaces the forecast of what arrives when, and ``holds`` says what is there now, if not what
    the forecast has for this run; ``incomplete`` says which sources were known not to be complete,
    and what is missing; ``lost`` names families that are kept and cannot be read any more;
    ``by_itself``: nothing is inherited that was not before, and nothing kept for the next day;
    ``one_engine``: the day's engine does early runs, too, whatever the report says."""

    now: Required[datetime]
    method: Method
    points: Sequence[TimePoint] | None
    settings: Settings | None
    incomplete: Sequence[tuple[str, str]]
    holds: TimePoint
    lost: Collection[str]
    by_itself: bool
    one_engine: bool


def prepare_run(day: Day, run: int, **asking: Unpack[Asking]) -> PreparedRun:
    """Pin the sources, plan run ``run`` with what is committed, store manifest and plan.

    A retry gets the first manifest, hence the same pins and base. Raises :class:`DayClosedError`
    after a later run was committed, and what pinning and planning raise; and
    :class:`forerun.include.state.fence.GenerationClosedError` for a generation that clean-up has
    closed.
    """
    asked = ask_for_run(day, run, **asking)
    return asked if isinstance(asked, PreparedRun) else planned(asked)


def planned(asked: AskedRun) -> PreparedRun:
    """Plan a run that is pinned, and store the plan."""
    started = time.perf_counter()
    result = plan(asked.request)
    if asked.early.does(asked.request):
        asked, result = _on_cheaper_engine(asked, result)
    return store_plan(asked, result, planning_s=time.perf_counter() - started)


def _on_cheaper_engine(asked: AskedRun, found: PlanResult) -> tuple[AskedRun, PlanResult]:
    """Plan an early run for the day's own engine, too, which keeps rows by a key, and return the
    cheaper one."""
    why = why_not_as_early(asked.early, asked.day, found)
    own = asked.on_one_engine(why or DEARER)
    result = plan(own.request)
    if why or result.plan.estimated_cost < found.plan.estimated_cost:
        return own, result
    return asked, found


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRun:
    """A run that is pinned and still to be planned: its pins by source, and its planning request.
    ``tiny`` is that of :class:`PreparedRun`; ``heirs`` is how many days in a row may still inherit
    what this one keeps. ``early``: the engine of the day's early runs; ``settings`` are those by
    which it is planned on the engine of its final run alone."""

    day: Day
    pins: Mapping[str, Pin]
    request: PlanRequest
    tiny: bool
    heirs: int
    early: EarlyEngine
    settings: Settings

    def on_one_engine(self, why: str) -> AskedRun:
        """Return the same run as it is asked for where the early engine is not to do it."""
        request = replace(self.request, settings=self.settings)
        return replace(self, request=request, early=EarlyEngine(why=why))


def ask_for_run(day: Day, run: int, **asking: Unpack[Asking]) -> AskedRun | PreparedRun:
    """Do all of :func:`prepare_run` that comes before planning; a run that is committed already is
    prepared."""
    store, spec, at = day.store, day.spec, day.at
    if not 1 <= run <= spec.runs:
        hint = f"Its runs are 1 to {spec.runs}."
        raise RequestError(f"report {spec.name} has no run {run}", hint=hint)
    day.refuse_closed()
    if (over := _over_already(day, run)) is not None:
        return over
    incomplete = asking.get("incomplete", ())
    by_itself = asking.get("by_itself", False)
    inherited = read_inherited(store, at) if by_itself else inherit(day, asking["now"])
    manifest, pins = manifest_of(day, run, asking["now"], incomplete=incomplete)
    chain = day.chain(tip=manifest.base)
    record_history(day, chain)
    history = read_history(store, spec.name)
    points, chosen = asking.get("points"), read_times(day)
    times = tuple(points or chosen.points or forecast_points(day, history))
    holds = asking.get("holds") or times[run - 1]
    method, forced = asking.get("method", "auto"), chosen.forced and not points
    settings = settings_of(day, asking.get("settings") or Settings(), history)
    early = EarlyEngine() if asking.get("one_engine") else early_engine_of(day, run, pins)
    request = PlanRequest(
        report=spec.name,
        sql=sql_of(spec),
        sources=sources_at(day, pins, holds),
        first_sources=first_sources(day, chain, times, pins),
        points=times,
        current=run,
        committed=tuple(committed_run(store, at, one, asking.get("lost", ())) for one in chain),
        unchanged=unchanged_in(manifest) if chain or inherited.families else (),
        observed=observed(history),
        method="progressive" if forced and method == "auto" else method,
        may_open=None if points else chosen.may_open,
        settings=early.settings(settings),
        problem=problem_of(spec.policy),
        parameters=day.parameters,
        repairable=spec.policy.is_repairable,
    )
    pinned = _pinned(manifest, pins)
    # The day's own engine, which may do this run after all, has to read what is gone on from.
    own, lost = settings.prices.buckets, asking.get("lost", ())
    request = with_panes(going_on(request, inherited, day, pinned, lost, buckets=own), manifest)
    request = _by_what_is_known(day, request, history, pins, holds)
    tiny = bytes_at_hand(pins, chain) < TINY_BYTES
    heirs = 0 if by_itself else spec.policy.inherit_days - inherited.days
    return AskedRun(
        day=day,
        pins=pins,
        request=request,
        tiny=tiny,
        heirs=heirs,
        early=early,
        settings=settings,
    )


def _over_already(day: Day, run: int) -> PreparedRun | None:
    """Return a run that is committed, or has given up."""
    done, given_up = _committed_before(day, run), read_given_up(day.store, day.at, run)
    if done is not None:
        why = f"run {run} is committed already, by attempt {done.attempt}"
    elif given_up is not None:
        done, why = given_up.done, given_up.why
    else:
        return None
    uri = f"{day.store.root}/{done.plan}"
    return PreparedRun(at=day.at, run=run, plan_key=done.plan, plan_uri=uri, skip_reason=why)


def _pinned(manifest: Manifest, pins: Mapping[str, Pin]) -> dict[str, tuple[int, int]]:
    """Count the rows that the pin of each source has, and those that a run takes back."""
    return {
        one.name: (pins[one.name].rows, sum(file.rows for file in one.withdrawn))
        for one in manifest.sources
    }


def _by_what_is_known(
    day: Day,
    request: PlanRequest,
    history: Sequence[LedgerEntry],
    pins: Mapping[str, Pin],
    holds: TimePoint,
) -> PlanRequest:
    """The request, as batch where Spark reads the text otherwise than the planner, whatever was
    asked for, or where the ledger has something against early work."""
    if misread := why_by_the_text(day.store, request):
        return replace(request, method="auto", batch_because=misread)
    return replace(request, batch_because=why_by_the_ledger(day, request, history, pins, holds))


def store_plan(asked: AskedRun, result: PlanResult, *, planning_s: float) -> PreparedRun:
    """Store a plan under a key of its own: two planners of one run do not meet."""
    following = following_of(asked.request, asked.day.spec, asked.heirs)
    chosen = with_state_left(asked.request, result, following)
    early, is_early = asked.early, asked.request.current < len(asked.request.points)
    return replace(
        stored(asked, chosen),
        result=result,
        planning_s=planning_s,
        engine=early.engine.name if early.engine and early.does(asked.request) else "",
        why_not_early=early.why if is_early else "",
    )


def stored(asked: AskedRun, chosen: Plan) -> PreparedRun:
    """Store a plan that was made for a run."""
    day, run = asked.day, asked.request.own_run(asked.request.current)
    day.refuse_closed()  # a chain that clean-up was taking apart would have looked shorter
    key = day.at.plan(run, uuid.uuid4().hex[:12])
    day.store.put(key, encode_plan(chosen))
    idle = not chosen.run.opened or not chosen.run.stages
    return PreparedRun(
        at=day.at,
        run=run,
        plan_key=key,
        plan_uri=f"{day.store.root}/{key}",
        skip_reason="the plan gives this run nothing to do" if idle else "",
        tiny=asked.tiny,
    )


def _committed_before(day: Day, run: int) -> RunCommit | None:
    """The commit of ``run``, if it has one. Raises if a later run is committed and this is not."""
    done = day.commit(run)
    chain = day.chain()
    if done is None and chain and chain[-1].run > run:
        raise day_closed(day.at, run, chain[-1].run)
    return done
