"""Plan each way in which a day can be repaired: the price is the planner's own estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history
from forerun.include.days.manifests import pins_of
from forerun.include.past.repair_bases import Base, Pins
from forerun.include.reports.spec import SourceSpec
from forerun.include.runs.day_request import (
    committed_run,
    first_sources,
    forecast_points,
    settings_of,
    sources_at,
    sql_of,
)
from forerun.include.runs.observed import observed
from forerun.include.sources.changelog import taken_back
from forerun.include.sources.corrections import came, went
from forerun.include.sources.delivery import read_pin
from forerun.include.state.records import Pin, PinnedFile
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import FamilyInput, SourceInput
from forerun.planner.cost.constants import MICRO
from forerun.planner.cost.prices import Prices
from forerun.planner.request import Committed, PlanRequest, Settings, Source, TimePoint

_NEARLY_ALL = 1 - 1e-6
"""The largest part of a source that the planner is told was there before the repair: sizes of what
changed since are worked out from the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """One way to repair a day, planned. ``base``: the run whose state it goes on from, None for
    computing the report anew."""

    base: Base | None
    result: PlanResult

    @property
    def cost(self) -> int:
        """The estimate of its run, in millionths of a CPU second."""
        return self.result.plan.run.estimated_cost

    @property
    def is_delta(self) -> bool:
        """Return whether the plan really goes on from state, and does not compute all rows
        again."""
        return self.base is not None and self.result.plan.method == "incremental"

    @property
    def cpu_s(self) -> float:
        """The estimate in CPU seconds."""
        return self.cost / MICRO

    @property
    def how(self) -> str:
        """Return a phrase for people that says what the plan does."""
        if self.base is None:
            return "computing the report anew"
        return f"a delta over the state of {self.base.name}"


def plan_anew(day: Day, pins: Pins, settings: Settings) -> RepairPlan:
    """Plan the report over what is there now, with nothing to go on from."""
    points = tuple(TimePoint(weight=weight) for weight in (*day.spec.weights, 1.0))
    sources = sources_at(day, {name: pin for name, (_, pin) in pins.items()}, points[-1])
    return RepairPlan(base=None, result=plan(_request(day, sources, points, settings)))


def plan_delta(day: Day, pins: Pins, base: Base, settings: Settings) -> RepairPlan:
    """Plan a run that goes on from ``base``: what changed since then is its delivery."""
    now = {name: pin for name, (_, pin) in pins.items()}
    shares = {
        source.name: _share_before(base.before[source.name], now[source.name], source)
        for source in day.spec.sources
        if source.arrival == "growing" or base.changes[source.name]
    }
    points = _points(day, base, now, shares)
    sources = tuple(
        _as_corrected(found, source, base, shares)
        for found, source in zip(sources_at(day, now, points[-1]), day.spec.sources, strict=True)
    )
    then = replace(day, at=base.at)
    history = [
        entry
        for entry in read_history(day.store, day.spec.name)
        if (entry.day, entry.generation) != (base.at.day, base.at.generation)
    ]
    request = replace(
        _request(day, sources, points, settings),
        first_sources=first_sources(then, base.chain, forecast_points(day, history), now),
        committed=_committed(day, base, settings.prices),
        observed=observed(read_history(day.store, day.spec.name)),
    )
    return RepairPlan(base=base, result=plan(request))


def _request(
    day: Day, sources: tuple[Source, ...], points: tuple[TimePoint, ...], settings: Settings
) -> PlanRequest:
    return PlanRequest(
        report=day.spec.name,
        sql=sql_of(day.spec),
        sources=sources,
        points=points,
        current=len(points),
        settings=settings_of(day, settings),
        parameters=day.parameters,
        repairable=day.spec.policy.is_repairable,
    )


def _committed(day: Day, base: Base, prices: Prices) -> tuple[Committed, ...]:
    """The chain with the families that can be gone on from: none that is made of a source which did
    not change and does now, nor one of which a partition lies there without the buckets that an
    engine needs. Whether its columns are still those that the plan would keep is for the planner
    to see."""
    static = (s.name for s in day.spec.sources if s.arrival == "static")
    changed = {name for name in static if base.changes[name]}
    found = []
    for commit in base.chain:
        buckets = {part.family: part.buckets for part in commit.artifacts}
        run = committed_run(day.store, base.at, commit)
        kept = tuple(
            family
            for family in run.families
            if (not changed or (family.sources and not changed & set(family.sources)))
            and (not prices.buckets or buckets[family.id] == family.buckets)
        )
        found.append(replace(run, families=kept))
    return tuple(found)


def _as_corrected(
    found: Source, source: SourceSpec, base: Base, shares: Mapping[str, float]
) -> Source:
    """A source as the planner is to see it: what the repair takes back is retracted."""
    if source.name not in shares:
        return found
    changes = base.changes[source.name]
    gone = float(sum(file.rows for file in went(changes)))
    if source.change == "changelog":
        gone += taken_back(came(changes))
    signed = source.change == "changelog" or bool(went(changes))
    step = max(1.0, float(found.rows)) * (1.0 - shares[source.name])
    return replace(
        found,
        changing=True,
        change="changelog" if signed else "append_only",
        retracted=gone / step if signed else 0.0,
        proven=source.change == "append_only",
        ordered_by="",  # what comes after the day has no place in the order of the day
    )


def _points(
    day: Day, base: Base, now: Mapping[str, Pin], shares: Mapping[str, float]
) -> tuple[TimePoint, ...]:
    """The runs of the day, as much as had arrived by the runs of the chain, and the repair."""
    by_run: dict[int, dict[str, float]] = {}
    for commit in base.chain:
        read = pins_of(day.store, base.at, commit.run)
        pins = {name: read_pin(day.store, read[name]) for name in shares}
        by_run[commit.run] = {
            name: min(shares[name], _share_before(pin, now[name], day.spec.source(name)))
            for name, pin in pins.items()
        }
    known = dict.fromkeys(shares, 0.0)
    points = []
    for run, weight in enumerate(day.spec.weights, 1):
        found = by_run.get(run, known)
        known = {name: max(known[name], share) for name, share in found.items()}
        arrived = sum(known.values()) / len(known) if known else 1.0
        by_source = tuple(sorted(known.items()))
        points.append(TimePoint(weight=weight, arrived=arrived, by_source=by_source))
    return (*points, TimePoint(weight=1.0))


def _share_before(before: Pin, now: Pin, source: SourceSpec) -> float:
    """Return how many rows there were, as a share of those that there are."""
    rows = max(1.0, _rows(now.files, source))
    return min(_NEARLY_ALL, _rows(before.files, source) / rows)


def _rows(files: Sequence[PinnedFile], source: SourceSpec) -> float:
    rows = float(sum(file.rows for file in files))
    return max(0.0, rows - 2 * taken_back(files)) if source.change == "changelog" else rows


def bytes_read(planned: RepairPlan, pins: Pins) -> int:
    """The bytes of files that the run of a repair reads, of sources and of what is kept."""
    inputs = {item for stage in planned.result.plan.run.stages for item in stage.inputs}
    return sum(_bytes_of(item, planned.base, pins) for item in inputs)


def _bytes_of(item: SourceInput | FamilyInput, base: Base | None, pins: Pins) -> int:
    if isinstance(item, FamilyInput):
        chain = base.chain if base is not None else ()
        kept = (one for commit in chain for one in commit.artifacts)
        return sum(one.bytes for one in kept if one.family == item.family)
    if item.version == "snapshot" or base is None:
        return pins[item.source][1].bytes
    changes = base.changes[item.source]
    return sum(file.size for file in (*came(changes), *went(changes)))
