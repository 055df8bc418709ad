"""The reasons for which the runs of a day wait: a trigger, or cores of a cluster, by the store's
records.

Who reads of a day may not know of all reports that share its cluster: those are not named.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from forerun.include.oncall.day.records import DayRecords
from forerun.include.reports.sources.start_when import start_text
from forerun.include.state.layout import CLUSTERS_FOLDER
from forerun.include.state.slots import Look, SlotRequest, why_not
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import StoreReader
from forerun.include.times.leases import Leases, read_cluster
from forerun.planner.errors import ContractError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """A run that waits: ``what`` it is and ``why``, as the two parts of a sentence, and ``until``
    when at the latest, None where that is open."""

    what: str
    why: str
    until: datetime | None = None


def waiting_runs(
    store: StoreReader, records: DayRecords, now: datetime, may_name: Callable[[str], bool]
) -> tuple[WaitingRun, ...]:
    """The runs of a day that wait now. ``may_name``: whether whoever asks may know of a report."""
    if records.final is not None:
        return ()
    return (*_for_triggers(records, now), *_for_cores(store, records, now, may_name))


def _for_triggers(records: DayRecords, now: datetime) -> Iterator[WaitingRun]:
    opened_by = records.record.opened_by
    ahead = next((run for run, at in enumerate(records.points, 1) if at > now), None)
    if ahead is None or opened_by is None or opened_by.mode != "auto" or records.told.skips_early:
        return
    if (when := records.spec.policy.runs[ahead - 1].when) is not None:
        until = records.points[ahead - 1]
        yield WaitingRun(what=f"run {ahead}", why=f"for {start_text(when)}", until=until)


def _for_cores(
    store: StoreReader, records: DayRecords, now: datetime, may_name: Callable[[str], bool]
) -> Iterator[WaitingRun]:
    opened_by, scratch = records.record.opened_by, ScratchStore(store)
    own = {records.at.report, opened_by.group if opened_by else ""}
    for name in store.folders(CLUSTERS_FOLDER):
        try:
            found = Leases(scratch, read_cluster(scratch, name)).overview(now.timestamp())
        except ContractError as error:
            _LOG.warning("who waits for cores of %s is not shown: %s", name, error.message)
            continue
        mine = [one for one in found.waiting if one.report in own and one.day == records.at.day]
        if not mine:
            continue
        look = _without_names(found, lambda report: report in own or may_name(report))
        for one in mine:
            cores = "1 core" if one.cores == 1 else f"{one.cores} cores"
            why = why_not(one, look) or "its turn has come"
            yield WaitingRun(what=_what(one, records), why=f"for {cores} of {name}: {why}")


def _what(one: SlotRequest, records: DayRecords) -> str:
    if one.report != records.at.report:
        return f"the application of group {one.report}"
    return "the final run" if one.final else f"run {one.run}"


def _without_names(look: Look, may_name: Callable[[str], bool]) -> Look:
    """A look at a cluster without the names of reports that may not be known."""
    held = (
        one if may_name(one.name.partition(" ")[0]) else replace(one, name="another report")
        for one in look.slots.leases
    )
    waiting = (
        one if may_name(one.report) else replace(one, report="another report")
        for one in look.waiting
    )
    return replace(look, slots=replace(look.slots, leases=tuple(held)), waiting=tuple(waiting))
