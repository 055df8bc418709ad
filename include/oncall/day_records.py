"""All that the store holds of one report's day, read once and as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from include.days.generations import generations
from include.days.ledger import read_history
from include.days.safe_start import SafeStart, remaining_cost, safe_start
from include.oncall.catalogue import read_spec
from include.reports.run_policy import Retries
from include.reports.spec import ReportSpec
from include.state.commits import read_chain
from include.state.layout import Generation, day_folder, pointer_key
from include.state.ledger_entry import LedgerEntry
from include.state.pointers import Pointer, read_published
from include.state.records import GenerationRecord, RunCommit
from include.state.store import StoreReader
from planner.contract import Plan, decode_plan

_PLAN = re.compile(r"/run-(\d+)-([^/]+)\.json\Z", re.ASCII)
_NEWEST = 14
"""So many final runs of the ledger are read: those that forecasts rest on."""
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
    first; ``plan`` is the newest one. ``history``: the newest final runs of the ledger before this
    day. ``older``: how many generations came before."""

    at: Generation
    record: GenerationRecord
    spec: ReportSpec
    chain: tuple[RunCommit, ...]
    plans: tuple[PlanFile, ...]
    plan: Plan | None
    published: Pointer | None
    history: tuple[LedgerEntry, ...]
    older: int

    @property
    def date(self) -> date:
        return date.fromisoformat(self.at.day)

    @property
    def points(self) -> tuple[datetime, ...]:
        return self.spec.points(self.date)

    @property
    def deadline(self) -> datetime:
        return self.spec.deadline_on(self.date)

    @property
    def started_at(self) -> datetime:
        return datetime.fromisoformat(self.record.started_at)

    @property
    def final(self) -> RunCommit | None:
        """The commit of the final run, None before there is one."""
        return next((one for one in self.chain if one.run == self.spec.runs), None)

    @property
    def safe(self) -> SafeStart:
        """The latest safe start, as the tasks of the day work it out."""
        opened_by = self.record.opened_by
        retries = opened_by.retries if opened_by else _NO_RETRIES
        done = self.chain[-1].run if self.chain else 0
        if self.final is not None:  # what it was before the final run
            done = self.final.base
        cost = None if self.plan is None else remaining_cost(self.plan, done)
        return safe_start(self.spec, self.date, cost, self.history, retries)


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
    listed = (*store.list(at.plans), *store.list(at.commits))
    return (names, tag, tuple((file.key, file.identity) for file in listed))


def read_day_records(store: StoreReader, report: str, day: str) -> DayRecords | None:
    """Read the newest generation of a day; None if there is none that clean-up has left.

    Raises :class:`include.state.store.StoreError` and :class:`planner.errors.ContractError`.
    """
    known = generations(store, report, date.fromisoformat(day))
    if not known:
        return None
    at, record = known[0]
    spec = read_spec(store, report, record.spec)
    plans = _plans(store, at)
    history = read_history(store, report, _NEWEST + 1, run=spec.runs)
    return DayRecords(
        at=at,
        record=record,
        spec=spec,
        chain=tuple(read_chain(store, at)),
        plans=plans,
        plan=decode_plan(store.get(plans[-1].key)) if plans else None,
        published=read_published(store, report, day).pointer,
        history=tuple(entry for entry in history if entry.day < day),
        older=len(known) - 1,
    )


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
