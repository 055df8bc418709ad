"""Repair of a day that is published: what changed in its sources since, priced, and done anew.

A repair is a generation of its own with one run, which comes after all runs of the report: one more
time point of the day (Tempura, section 2.1). The run goes on from the state that a run of an older
generation has left, with what changed since then as its delivery; or it computes the report anew,
where that is cheaper or all that is left. Its pins, plan, commit and publication are those of any
run, so what holds of runs holds of it: killed, it is done again from where it was; of two at once
one wins; a newer generation is never overwritten.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from forerun.include.days.generations import generations
from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.days.results import NoResultError, read_pointer
from forerun.include.past.repair_bases import Base, Pins, Unusable, find_bases
from forerun.include.past.repair_plans import RepairPlan, bytes_read, plan_anew, plan_delta
from forerun.include.reports.sources.complete_when import AssetEvent
from forerun.include.reports.spec import ReportSpec, SourceSpec
from forerun.include.runs.prepare import TINY_BYTES, PreparedRun, open_generation
from forerun.include.sources.completeness import find_missing
from forerun.include.sources.corrections import Correction, find_corrections, went
from forerun.include.sources.delivery import read_pin
from forerun.include.sources.pins import pin_source
from forerun.include.state.layout import Generation
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import Manifest, ManifestSource, OpenedBy, encode
from forerun.include.stores.store import MissingKeyError, Store, StoreReader, put_or_get
from forerun.planner.contract import encode_plan
from forerun.planner.contract.digest import digest_of
from forerun.planner.errors import ForerunError
from forerun.planner.request import Settings


class NotRepairableError(ForerunError):
    """A day is not in a state in which a repair means anything."""

    code = "not-repairable"


class SourcesMovedError(ForerunError):
    """Sources changed between looking at a repair and beginning it."""

    code = "sources-moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A published day that was looked at and for which nothing is planned: what changed, and the
    committed runs that a repair could go on from (``bases``). The rest is as in
    :class:`Repair`."""

    day: Day
    published: Pointer
    pins: Pins
    corrections: tuple[Correction, ...] | None
    bases: tuple[Base, ...]
    unusable: tuple[Unusable, ...]
    incomplete: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The options of repairing a published day, looked at and not begun.

    ``corrections``: what changed since the published version read its sources, by source; None if
    clean-up has deleted what would tell. ``plans``: how it can be repaired, cheapest first;
    ``anew`` is the one that reads everything again. ``unusable`` says which state is not gone on
    from.
    """

    day: Day
    published: Pointer
    pins: Pins
    corrections: tuple[Correction, ...] | None
    plans: tuple[RepairPlan, ...]
    anew: RepairPlan
    unusable: tuple[Unusable, ...]
    incomplete: tuple[tuple[str, str], ...]

    @property
    def best(self) -> RepairPlan:
        return self.plans[0]

    @property
    def is_needed(self) -> bool:
        """Return whether anything that the published version has read is another by now."""
        return self.corrections is None or bool(self.corrections)

    @property
    def run(self) -> int:
        """The number of the repair's run: the first one after those of the report."""
        return self.day.spec.runs + 1

    @property
    def trigger(self) -> str:
        """Return the identity of a repair: the same one is found again after a kill, and by whoever
        does the same at the same time."""
        base, keys = self.best.base, sorted(key for key, _ in self.pins.values())
        at = (base.at.generation, base.run) if base else ("", 0)
        return f"repair-{digest_of(self.published.version, keys, at)[:16]}"


def find_repair(
    store: Store,
    spec: ReportSpec,
    day: date,
    *,
    now: datetime,
    copies: Sequence[str] = (),
    anew: bool = False,
    settings: Settings | None = None,
) -> Repair:
    """Look what changed since a day was published, and plan how it can be repaired.

    It pins the sources, and changes nothing else in the store. ``copies`` are folders in which
    files lie that were taken from a source; ``anew``: no state is gone on from.
    Raises :class:`forerun.include.days.results.NoResultError` if nothing is published,
    :class:`NotRepairableError` for an early result and while the day is computed again, and what
    pinning and planning raise.
    """
    looked = look_at(store, spec, day, now=now, copies=copies, anew=anew)
    return plan_repair(looked, settings or Settings())


def look_at(
    store: Store,
    spec: ReportSpec,
    day: date,
    *,
    now: datetime,
    copies: Sequence[str] = (),
    anew: bool = False,
) -> LookedAt:
    """Do all of :func:`find_repair` that comes before planning."""
    published = read_pointer(store, spec.name, day)
    _refuse_unready(store, spec, day, published)
    if published is None:
        raise NoResultError(
            f"nothing is published of {spec.name} for {day}",
            hint="There is nothing to repair: let the day run.",
        )
    at = Generation(spec.name, day.isoformat(), str(published.generation))
    handle = Day(store, spec, at)
    pins = pin_all(store, spec, day, now)
    bases, unusable = ([], []) if anew else find_bases(store, handle, pins, copies)
    return LookedAt(
        day=handle,
        published=published,
        pins=pins,
        corrections=_corrections(store, at, published, pins),
        bases=tuple(bases),
        unusable=tuple(unusable),
        incomplete=tuple(_incomplete(spec, day, now, published)),
    )


def plan_repair(looked: LookedAt, settings: Settings) -> Repair:
    """Plan in which ways a day that was looked at can be repaired."""
    handle, pins, unusable = looked.day, looked.pins, list(looked.unusable)
    fresh = plan_anew(handle, pins, settings)
    planned = [plan_delta(handle, pins, base, settings) for base in looked.bases]
    plans = sorted([fresh, *(one for one in planned if one.is_delta)], key=lambda one: one.cost)
    for one in planned:
        if one.base is not None and not one.is_delta:
            why = "by the estimates computing anew is cheaper than going on from it"
            unusable.append(Unusable(what=one.base.name, why=why))
    return Repair(
        day=handle,
        published=looked.published,
        pins=pins,
        corrections=looked.corrections,
        plans=tuple(plans),
        anew=fresh,
        unusable=tuple(unusable),
        incomplete=looked.incomplete,
    )


def begin_repair(
    repair: Repair, *, now: datetime, opened_by: OpenedBy | None = None
) -> PreparedRun:
    """Open the generation of a repair and store its manifest and plan: the cheapest one.

    Repeated, also by another process, it goes on with what the first one has decided. ``opened_by``
    is the DAG run that does it, None outside of Airflow. Raises
    :class:`SourcesMovedError` if sources have changed since :func:`find_repair`: what is published
    last should not be what was looked at first.
    """
    found = repair.day
    day = open_generation(
        found.store.root,
        found.spec,
        found.date,
        trigger=repair.trigger,
        now=now,
        opened_by=opened_by,
        repairs=found.at.generation,
    )
    pins = pin_all(day.store, day.spec, day.date, now)
    if {key for key, _ in pins.values()} != {key for key, _ in repair.pins.values()}:
        raise SourcesMovedError(
            f"the sources of {day.spec.name} changed while its repair was planned",
            hint="Nothing is done yet: ask for the repair again.",
        )
    _refuse_unready(day.store, day.spec, day.date, repair.published)
    best, run, store = repair.best, repair.run, day.store
    manifest = _manifest(repair, day, now)
    put_or_get(store, day.at.manifest(run), encode(manifest))
    key = day.at.plan(run, uuid.uuid4().hex[:12])
    done = day.commit(run)
    if done is None:
        day.refuse_closed()
        store.put(key, encode_plan(best.result.plan))
    else:
        key = done.plan
    return PreparedRun(
        at=day.at,
        run=run,
        plan_key=key,
        plan_uri=f"{store.root}/{key}",
        skip_reason="the repair is computed already" if done is not None else "",
        tiny=bytes_read(best, pins) < TINY_BYTES,
        result=best.result,
    )


def pin_all(store: Store, spec: ReportSpec, day: date, now: datetime) -> Pins:
    """Pin every source of a report as it is now."""
    return {source.name: pin_source(store, source, day, now) for source in spec.sources}


def _refuse_unready(
    store: StoreReader, spec: ReportSpec, day: date, published: Pointer | None
) -> None:
    if published is not None and published.early:
        raise NotRepairableError(
            f"of {spec.name}, {day}, an early result is published",
            hint="Nothing has to be repaired: the final run reads all that is there by then.",
        )
    newest = published.generation if published is not None else 0
    for at, record in generations(store, spec.name, day):
        if at.number > newest and not record.repairs:
            raise NotRepairableError(
                f"{day} of {spec.name} has been opened anew (generation {at.generation}), and that "
                "is not published yet: only what is published is repaired",
                hint="It reads the sources as they are now, corrections included: let it finish. "
                "If its DAG run has failed, or an expectation blocks it, its page says what to do.",
            )


def _corrections(
    store: StoreReader, at: Generation, published: Pointer, pins: Pins
) -> tuple[Correction, ...] | None:
    """Return what changed since the published version pinned its sources, or None if nobody knows
    any more what these pins were."""
    try:
        manifest = read_manifest(store, at, published.run)
    except MissingKeyError:
        return None
    found: list[Correction] = []
    for source in manifest.sources:
        if source.name in pins:
            before = read_pin(store, source.pin)
            found += find_corrections(before, pins[source.name][1])
    return tuple(found)


def _incomplete(
    spec: ReportSpec, day: date, now: datetime, published: Pointer
) -> Iterator[tuple[str, str]]:
    """Yield (source, what it lacks now). Only Airflow knows of a source that waits for an asset, so
    for these the word of the published version stays."""
    yield from ((one.source, one.what) for one in find_missing(spec, day, now))
    by_asset = {s.name for s in spec.sources if isinstance(s.complete_when, AssetEvent)}
    yield from (pair for pair in published.incomplete if pair[0] in by_asset)


def _manifest(repair: Repair, day: Day, now: datetime) -> Manifest:
    base = repair.best.base
    return Manifest(
        report=day.at.report,
        day=day.at.day,
        generation=day.at.generation,
        run=repair.run,
        base=base.run if base else 0,
        base_generation=base.at.generation if base else "",
        final=True,
        created_at=now.astimezone(UTC).isoformat(),
        sources=tuple(_source(source, repair, base) for source in day.spec.sources),
        expectations=day.spec.expectations,
        incomplete=repair.incomplete,
    )


def _source(source: SourceSpec, repair: Repair, base: Base | None) -> ManifestSource:
    changes = base.changes[source.name] if base else ()
    withdrawn = base.withdrawn(source.name) if base and went(changes) else ()
    return ManifestSource(
        name=source.name,
        pin=repair.pins[source.name][0],
        base_pin=base.manifest.source(source.name).pin if base else "",
        columns=source.columns,
        changing=source.arrival == "growing" or bool(changes),
        change=source.change,
        format=source.format,
        key=source.key,
        expectations=source.expectations,
        withdrawn=withdrawn,
        takes_back=repair.day.spec.takes_back(source),
    )
