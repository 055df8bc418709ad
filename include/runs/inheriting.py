"""Decide what a day inherits of an earlier one, and plan its runs to go on from that.

Which day it is, is decided once, when the first run of a generation is prepared: the newest
earlier day of which the final run is committed, and of which some state is whole and made of rows
that are still the report's. Corrections in days of the range count as what they are: files of
yesterday's pins that are not in today's are taken back. To the planner the earlier days are one
time point before those of the day, at which all of that was committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import islice

from forerun.include.days.generations import generations
from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.reports.spec import SourceSpec
from forerun.include.runs.day_request import committed_run, sources_at
from forerun.include.sources.corrections import find_corrections, still_lie_there, went
from forerun.include.sources.delivery import read_pin
from forerun.include.sources.pins import pin_source
from forerun.include.state.commits import first_lost, read_chain
from forerun.include.state.fence import is_closed
from forerun.include.state.inherited import (
    FirstRun,
    Inherited,
    InheritedSource,
    read_inherited,
)
from forerun.include.state.layout import Generation, report_folder
from forerun.include.state.records import (
    ArtifactPartition,
    Pin,
    RunCommit,
    decode,
    encode,
)
from forerun.include.stores.store import MissingKeyError, put_or_get
from forerun.planner.contract import Family, decode_plan
from forerun.planner.materialize.artifacts import unbroken
from forerun.planner.request import Committed, PlanRequest, Problem, Source, TimePoint

_LOOK_BACK = 3
"""So many earlier days are looked at: what came since an older one is more than what goes on."""
_NEARLY_ALL = 1 - 1e-6


def inherit(day: Day, now: datetime) -> Inherited:
    """Return what a generation inherits; at the first time decide it, for all its runs.

    Raises what pinning raises.
    """
    if not day.spec.policy.inherit_days:
        return Inherited()
    found = day.store.find(day.at.inherited)
    if found is not None:
        return decode(Inherited, found.data, day.at.inherited)
    pins = {one.name: pin_source(day.store, one, day.date, now)[1] for one in day.spec.sources}
    decided = next(_candidates(day, pins), Inherited())
    data, _ = put_or_get(day.store, day.at.inherited, encode(decided))
    return decode(Inherited, data, day.at.inherited)


def _candidates(day: Day, pins: Mapping[str, Pin]) -> Iterator[Inherited]:
    """Yield what might be inherited, of the newest day first."""
    names = day.store.folders(report_folder(day.at.report))
    for name in islice(sorted((n for n in names if n < day.at.day), reverse=True), _LOOK_BACK):
        for at, record in generations(day.store, day.at.report, date.fromisoformat(name)):
            if record.repairs or record.spec != day.spec.digest:
                continue
            with suppress(MissingKeyError):  # clean-up has begun to take it apart
                found = _of(day, at, pins)
                if found.families:
                    yield found


def _of(day: Day, at: Generation, pins: Mapping[str, Pin]) -> Inherited:
    """Return what can be inherited of a generation of an earlier day; nothing where its final run
    is not committed, too many days in a row have inherited, or files are gone."""
    store, runs = day.store, day.spec.runs
    chain = read_chain(store, at)
    before = read_inherited(store, at)
    if not chain or chain[-1].run != runs or before.days >= day.spec.policy.inherit_days:
        return Inherited()
    last = read_manifest(store, at, runs)
    sources = tuple(
        InheritedSource(name=source.name, pin=last.source(source.name).pin)
        for source in day.spec.sources
        if _stays(day, source, read_pin(store, last.source(source.name).pin), pins[source.name])
    )
    families = _whole(day, at, before, chain, frozenset(one.name for one in sources))
    partitions = tuple(_partitions(before, chain, {family.id for family in families}))
    found = Inherited(
        day=at.day,
        generation=at.generation,
        days=before.days + 1,
        runs_before=before.runs_before + runs,
        first=before.first or _first_run(day, at, chain[0]),
        families=families,
        partitions=partitions,
        generations=(*before.generations, (at.day, at.generation)),
        sources=sources,
    )
    read = tuple(found.of_days(day.at.report))
    found = replace(found, generations=tuple((one.day, one.generation) for one in read))
    closed = any(is_closed(store, one) for one in read)
    return Inherited() if closed or first_lost(store, partitions) else found


def _stays(day: Day, source: SourceSpec, before: Pin, now: Pin) -> bool:
    """Return whether most rows of a source that an earlier day has read are read by this one, and
    the others can be taken back: all of them, if nothing can be taken back of it."""
    changes = find_corrections(before, now)
    if before.table != now.table:
        return False  # dropped and created again
    if not changes:
        return True
    gone = went(changes)
    if not day.spec.takes_back(source):
        return source.arrival == "growing" and not gone
    return 2 * sum(file.rows for file in gone) < before.rows and still_lie_there(gone)


def _whole(
    day: Day, at: Generation, before: Inherited, chain: list[RunCommit], stays: frozenset[str]
) -> tuple[Family, ...]:
    """The families that hold all that the final run of a day has read, of sources that stay."""
    own = [committed_run(day.store, at, commit) for commit in chain]
    inherited = [Committed(index=0, families=before.families)] if before.families else []
    growing = frozenset(one.name for one in day.spec.sources if one.arrival == "growing")
    whole = unbroken((*inherited, *own), growing)
    return tuple(family for family in whole if family.sources and stays >= set(family.sources))


def _partitions(
    before: Inherited, chain: list[RunCommit], families: set[str]
) -> Iterator[ArtifactPartition]:
    """Yield the partitions of families, their runs counted over the days."""
    yield from (one for one in before.partitions if one.family in families)
    for artifact in (one for commit in chain for one in commit.artifacts):
        if artifact.family in families:
            yield replace(artifact, run=artifact.run + before.runs_before)


def _first_run(day: Day, at: Generation, commit: RunCommit) -> FirstRun:
    arrived = decode_plan(day.store.get(commit.plan)).runs[commit.run - 1].arrived
    return FirstRun(day=at.day, generation=at.generation, run=commit.run, arrived=arrived)


def going_on(
    request: PlanRequest,
    inherited: Inherited,
    day: Day,
    pinned: Mapping[str, tuple[int, int]],
    lost: Collection[str] = (),
    *,
    buckets: bool,
) -> PlanRequest:
    """Return the request of a run with what its day has inherited: the earlier days are a time
    point before the others, at which all of it was committed. ``pinned``: how many rows the pin of
    each source has, and how many the run takes back. Families that are ``lost`` are left out, and
    those that an engine with ``buckets`` cannot read, where the day's has them; the day's first
    delivery stays what has come since."""
    if inherited.first is None:
        return request
    now, earliest = request.points[request.current - 1], request.points[0]
    before = {one.name: read_pin(day.store, one.pin).rows for one in inherited.sources}
    parts = {name: now.fraction(name) / max(1, rows) for name, (rows, _) in pinned.items()}
    shares = {
        name: min(before.get(name, 0) * parts[name], _NEARLY_ALL)
        for name in (source.name for source in request.sources if source.changing)
    }
    by_source = tuple((n, min(share, earliest.fraction(n))) for n, share in sorted(shares.items()))
    arrived = min(earliest.arrived, sum(share for _, share in by_source) / max(1, len(by_source)))
    families = readable(inherited, buckets=buckets, lost=lost)
    starts = {family.id: inherited.start(family.id) for family in families}
    kept = Committed(
        index=1,
        families=families,
        bytes=sum(partition.bytes for partition in inherited.partitions),
        starts=tuple(sorted(set(starts.values()))),
    )
    later = (replace(one, index=one.index + 1) for one in request.committed)
    open_at = request.may_open
    gone = {name: pinned[name][1] * parts[name] for name in shares}
    sources = tuple(
        replace(one, retracted=one.retracted + gone[one.name] / (1.0 - shares[one.name]))
        if one.name in shares
        else one
        for one in request.sources
    )
    return replace(
        request,
        sources=sources,
        points=(
            TimePoint(weight=earliest.weight, arrived=arrived, by_source=by_source),
            *request.points,
        ),
        current=request.current + 1,
        committed=(kept, *later),
        first_sources=_first_sources(day, inherited.first),
        problem=_counted_on(request.problem, 1),
        may_open=None if open_at is None else tuple(run + 1 for run in open_at),
        runs_before=inherited.runs_before,
    )


def readable(
    inherited: Inherited, *, buckets: bool, lost: Collection[str] = ()
) -> tuple[Family, ...]:
    """Return the families that a run can read: none that is lost, nor, on an engine with buckets,
    one of which a partition was written by an engine without them."""
    without = {one.family for one in inherited.partitions if not one.buckets}
    return tuple(
        one
        for one in inherited.families
        if one.id not in lost and not (buckets and one.buckets and one.id in without)
    )


def as_by_itself(request: PlanRequest) -> PlanRequest:
    """Return the request of a run without what its day has inherited, for who plans with time
    points of his own and executes nothing."""
    if not request.runs_before:
        return request
    open_at = request.may_open
    own = tuple(replace(one, index=one.index - 1) for one in request.committed[1:])
    return replace(
        request,
        points=request.points[1:],
        current=request.current - 1,
        committed=own,
        first_sources=request.first_sources if own else (),
        problem=_counted_on(request.problem, -1),
        may_open=None if open_at is None else tuple(run - 1 for run in open_at),
        runs_before=0,
    )


def _counted_on(problem: Problem, by: int) -> Problem:
    return replace(problem, results_at=tuple(run + by for run in problem.results_at))


def _first_sources(day: Day, first: FirstRun) -> tuple[Source, ...]:
    """Return the sources as the first run of all of these days has read them; none if clean-up has
    deleted what says so: then joins have today's order, and what is kept in another is of no
    use."""
    at = Generation(day.at.report, first.day, first.generation)
    try:
        manifest = read_manifest(day.store, at, first.run)
        pins = {one.name: read_pin(day.store, one.pin) for one in manifest.sources}
    except MissingKeyError:
        return ()
    then = TimePoint(weight=1.0, arrived=first.arrived)
    return sources_at(replace(day, at=at), pins, then)
