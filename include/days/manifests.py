"""Manifests: which pins a run reads, decided once. A retry gets what the first try decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from forerun.include.days.handle import Day
from forerun.include.days.panes import panes_of
from forerun.include.days.sinks.day_rows import ReportDay
from forerun.include.days.sinks.tables import check_sink
from forerun.include.reports.spec import ReportSpec, SourceSpec, WhenPublished
from forerun.include.sources.completeness import missing_of_results
from forerun.include.sources.corrections import find_corrections, rewritten, went
from forerun.include.sources.delivery import delivery, read_pin, same_table, verify_pin
from forerun.include.sources.pins import pin_source
from forerun.include.sources.unread import SourceChangedError
from forerun.include.state.inherited import Inherited, read_inherited
from forerun.include.state.layout import Generation
from forerun.include.state.records import Manifest, ManifestSource, Pin, PinnedFile, decode, encode
from forerun.include.stores.store import StoreReader, put_or_get
from forerun.planner.errors import ForerunError, RequestError


class DayClosedError(ForerunError):
    """A run is asked for after a later one, such as the final run, has been committed."""

    code = "day-closed"


def manifest_of(
    day: Day, run: int, now: datetime, *, incomplete: Sequence[tuple[str, str]] = ()
) -> tuple[Manifest, dict[str, Pin]]:
    """The manifest of the run and its pins by source; a retry gets those of the first try.

    ``incomplete`` says which sources were known not to be complete just before they are pinned
    here. It stays with the pins: what is published from them lacks that, whatever comes later.
    """
    store, spec, at = day.store, day.spec, day.at
    key = at.manifest(run)
    found = store.find(key)
    if found is not None:
        manifest = decode(Manifest, found.data, key)
        pins = {s.name: read_pin(store, s.pin) for s in manifest.sources}
        _check_sources(spec, manifest)
        for pin in pins.values():
            verify_pin(pin)
        return manifest, pins
    chain = day.chain()
    base = chain[-1].run if chain else 0
    if base > run:  # committed since the caller looked
        raise day_closed(at, run, base)
    of = ReportDay(report=at.report, day=day.date, store=store.root)
    check_sink(spec.published_to, of, final=day.is_final(run))
    before = pins_of(store, at, base)
    inherited = read_inherited(store, at) if spec.policy.inherit_days else Inherited()
    sources = tuple(_pinned(day, source, now, before, inherited) for source in spec.sources)
    if day.is_final(run):
        _refuse_less_than_whole(day, {name for name, _ in incomplete})
    manifest = Manifest(
        report=at.report,
        day=at.day,
        generation=at.generation,
        run=run,
        base=base,
        final=day.is_final(run),
        created_at=now.astimezone(UTC).isoformat(),
        sources=sources,
        expectations=spec.expectations,
        incomplete=tuple(incomplete),
        inherits=bool(inherited.day),
    )
    data, _ = put_or_get(store, key, encode(manifest))
    manifest = decode(Manifest, data, key)
    return manifest, {s.name: read_pin(store, s.pin) for s in manifest.sources}


def day_closed(at: Generation, run: int, last: int) -> DayClosedError:
    """The error for a run that is asked for after run ``last`` was committed without it."""
    return DayClosedError(
        f"run {run} of {at.report}, {at.day}, comes after run {last} was committed",
        hint="Nothing is lost: the later run has read what this one would have. To compute the "
        "day again, clear it: a new generation starts.",
    )


def _refuse_less_than_whole(day: Day, known: Collection[str]) -> None:
    """Raise :class:`SourceChangedError` if a result that is read was published again since it was
    found to be whole, and is less now; ``known`` are the sources of which that is known."""
    for source in day.spec.sources:
        rule = source.complete_when
        if not isinstance(rule, WhenPublished) or source.name in known:
            continue
        if missing := missing_of_results(source, rule, day.date):
            raise SourceChangedError(
                f"{missing.text}; it was whole just before",
                hint="Nothing is lost: retry the task when the whole of it is published again.",
            )


def _check_sources(spec: ReportSpec, manifest: Manifest) -> None:
    declared = {source.name: (source.columns, source.change) for source in spec.sources}
    if declared != {s.name: (s.columns, s.change) for s in manifest.sources}:
        raise RequestError(
            f"the sources of {spec.name} were edited after run {manifest.run} was pinned",
            hint="Clear the day: a new generation starts with the report as it is now.",
        )


def read_manifest(store: StoreReader, at: Generation, run: int) -> Manifest:
    """The manifest of a run that was prepared."""
    key = at.manifest(run)
    return decode(Manifest, store.get(key), key)


def pins_of(store: StoreReader, at: Generation, run: int) -> dict[str, str]:
    """The keys of the pins that a committed run has read; none for run 0, before all of them."""
    if not run:
        return {}
    return {source.name: source.pin for source in read_manifest(store, at, run).sources}


def _pinned(
    day: Day, source: SourceSpec, now: datetime, before: dict[str, str], inherited: Inherited
) -> ManifestSource:
    key, pin = pin_source(day.store, source, day.date, now)
    growing = source.arrival == "growing"
    takes_back = day.spec.takes_back(source)
    from_before = "" if before else inherited.pin(source.name)
    base_pin = before.get(source.name, from_before)
    withdrawn: tuple[PinnedFile, ...] = ()
    base = None
    if base_pin:
        base = read_pin(day.store, base_pin)
        same_table(pin, base)
        # An earlier day's files may have been written again with what they held.
        changes = find_corrections(base, pin) if from_before else ()
        if from_before and takes_back:
            withdrawn = went(changes)
        elif growing:
            withdrawn = rewritten(source, base, pin)
        as_before = from_before and (takes_back or not (went(changes) if growing else changes))
        if not withdrawn and not as_before:
            delivery(pin, base, growing=growing)
    return ManifestSource(
        name=source.name,
        pin=key,
        base_pin=base_pin,
        columns=source.columns,
        changing=growing,
        change=source.change,
        format=source.format,
        key=source.key,
        expectations=source.expectations,
        withdrawn=withdrawn,
        takes_back=takes_back,
        # The rows of a changelog go one by one.
        panes=panes_of(pin, base, withdrawn) if takes_back and source.change != "changelog" else (),
    )
