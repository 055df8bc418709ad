"""The repair of a published day as its page shows it: what changed, its price, which rows differ.

Looking at it changes nothing. A repair that a DAG run has computed lies in a generation of its own
until somebody publishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.generations import generations
from forerun.include.days.handle import Day
from forerun.include.days.instructions import Told, read_told
from forerun.include.days.manifests import pins_of
from forerun.include.days.publishing import FailedCheck, read_findings
from forerun.include.oncall.catalogue import readers_of, spec_of_day
from forerun.include.oncall.day.actions import BUSY, OVER, Action, DagRunState, held_up
from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.overlapping import OverlappingDays, overlapping_days
from forerun.include.past.repair import Repair, find_repair
from forerun.include.reports.spec import ReportSpec
from forerun.include.state.commits import read_commit
from forerun.include.state.layout import Generation
from forerun.include.state.records import GenerationRecord, OpenedBy, RunCommit
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import MissingKeyError, StoreDownError, StoreReader
from forerun.planner.errors import ForerunError


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedRepair:
    """A repair that somebody has begun and nobody has published: its generation, and once its run
    is committed the rows that differ from what is published (``diff``, with weights; None while
    they are being compared) and the expectations that do not hold. ``is_current``: the sources are
    still as it has read them."""

    at: Generation
    record: GenerationRecord
    commit: RunCommit | None
    diff: pa.Table | None
    failed: tuple[FailedCheck, ...]
    told: Told
    is_current: bool

    @property
    def opened_by(self) -> OpenedBy | None:
        return self.record.opened_by

    @property
    def publish_task(self) -> str:
        """The task of the DAG run that publishes it."""
        return f"{self.opened_by.prefix if self.opened_by else ''}publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairView:
    """The repair of a day that could be made, None where ``refused`` says why nothing can be; the
    repair that is computed already, if there is one; and the names of the ``readers``, reports that
    read what this one publishes, as far as whoever asks may know of them. ``others``: the days in
    whose range lies what was corrected."""

    records: DayRecords
    repair: Repair | None
    refused: str
    computed: ComputedRepair | None
    readers: tuple[str, ...]
    others: OverlappingDays = OverlappingDays()  # noqa: RUF009 - a frozen value

    @property
    def about(self) -> str:
        """Return the version that a form to prepare a repair is about: another version that is
        published meanwhile makes it void."""
        published = self.records.published
        return published.version if published else ""


def read_repair(
    store: StoreReader, records: DayRecords, now: datetime, may_read: Callable[[str], bool]
) -> RepairView:
    """Look what changed in the sources of a day since it was published, plan its repair, and read
    what is computed of it. ``may_read``: whether whoever asks may read a DAG. Raises
    :class:`forerun.include.stores.store.StoreError`."""
    repair, refused = None, ""
    try:
        spec = spec_of_day(store, records.at.report, records.date)
        repair = find_repair(ScratchStore(store), spec, records.date, now=now)
        if not repair.is_needed:
            refused = "Nothing has changed in its sources since: there is nothing to repair."
    except StoreDownError:
        raise
    except ForerunError as error:
        spec, refused = records.spec, str(error)
    computed = _computed(store, records, spec, repair)
    readers = readers_of(store, records.at.report)
    return RepairView(
        records=records,
        repair=repair,
        refused=refused,
        computed=computed,
        readers=tuple(one.name for one in readers if may_read(one.dag_id)),
        others=overlapping_days(store, repair) if repair else OverlappingDays(),
    )


def _computed(
    store: StoreReader, records: DayRecords, spec: ReportSpec, repair: Repair | None
) -> ComputedRepair | None:
    published = records.published.generation if records.published else 0
    newer = [
        (at, record)
        for at, record in generations(store, records.at.report, records.date)
        if record.repairs and at.number > published
    ]
    if not newer:
        return None
    (at, record), run = newer[0], spec.runs + 1
    commit = read_commit(store, at, run)
    found = store.find(at.diff(run, commit.attempt)) if commit else None
    day = Day(ScratchStore(store), spec, at)
    return ComputedRepair(
        at=at,
        record=record,
        commit=commit,
        diff=pq.read_table(pa.BufferReader(found.data)) if found else None,
        failed=read_findings(day, run) if commit else (),
        told=read_told(store, at),
        is_current=repair is not None and _is_current(store, at, run, repair),
    )


def _is_current(store: StoreReader, at: Generation, run: int, repair: Repair) -> bool:
    try:
        read = pins_of(store, at, run)
    except MissingKeyError:  # killed before it was written: that is done again
        return False
    return set(read.values()) == {key for key, _ in repair.pins.values()}


def prepare_action(view: RepairView, run: DagRunState | None) -> Action:
    """Return what preparing a repair would bring. ``run``: the DAG run that was triggered for it
    last."""
    refused = view.refused or _not_by_tasks(view) or _under_way(view, run)
    if refused or view.repair is None:
        return Action(kind="repair", refused=refused)
    best, anew = view.repair.best, view.repair.anew
    beside = "" if best is anew else f", where computing it anew takes {anew.cpu_s:,.1f}"
    triggered = (
        "A DAG run of this report is triggered in your name, in mode repair. The tasks of its "
        f"final run do it: {best.how}, by estimate {best.cpu_s:,.1f} CPU s{beside}."
    )
    unseen = (
        "Nothing that readers see is changed. Which rows differ is shown here, before anybody "
        "publishes them."
    )
    return Action(kind="repair", does=(triggered, unseen, *held_up(run)))


def _not_by_tasks(view: RepairView) -> str:
    """Return why no DAG run of the report can do it, empty if one can."""
    opened_by = view.records.record.opened_by
    if opened_by and opened_by.prefix and not opened_by.group:
        return "Its tasks belong to a larger DAG: repair it from the command line, as below."
    return ""


def _under_way(view: RepairView, run: DagRunState | None) -> str:
    computed = view.computed
    if computed is not None and computed.is_current and computed.diff is not None:
        return "It is prepared: read which rows differ, and publish it."
    if run is not None and run.state not in OVER:
        return "It is under way."
    return ""


def publish_action(view: RepairView, run: DagRunState | None) -> Action | None:
    """Return what publishing the repair that is computed would bring, or None if none is. ``run``
    is the DAG run that has opened it, None if Airflow does not know one."""
    computed = view.computed
    if computed is None:
        return None
    if refused := _unpublishable(computed, run):
        return Action(kind="publish", refused=refused)
    published = view.records.published
    version = published.version if published else ""
    does = [f"It takes the place of version {version}, for all readers."]
    does.append("DAGs that are scheduled on the report's asset hear of it.")
    if not computed.is_current:
        does.append(
            "Its sources have changed again since it was prepared: what came after that needs "
            "another repair."
        )
    return Action(kind="publish", does=(*does, *held_up(run)), clears=(computed.publish_task,))


def _unpublishable(computed: ComputedRepair, run: DagRunState | None) -> str:
    if critical := [one.text for one in computed.failed if one.severity == "critical"]:
        return f"A critical expectation does not hold: {'; '.join(critical)}"
    if computed.commit is None or computed.diff is None:
        return "It is not computed yet, or its rows are still being compared."
    if run is None or computed.publish_task not in run.tasks:
        return "Airflow knows no DAG run of it: publish it from the command line, as below."
    if run.any_in((computed.publish_task,), BUSY) or (
        computed.told.publish and run.state not in OVER
    ):
        return "It is being published."
    return ""
