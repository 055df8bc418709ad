"""Build a planning request: sources as they are pinned, time points, settings, and what committed
runs hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from forerun.include.days.handle import Day
from forerun.include.days.manifests import pins_of, read_manifest
from forerun.include.machine.settings import (
    allowed_functions,
    interruptions_an_hour,
    state_cost,
)
from forerun.include.reports.run_policy import RunPolicy
from forerun.include.reports.spec import ReportSpec, SourceSpec
from forerun.include.runs.fitted_prices import prices_in
from forerun.include.runs.interruptions import interruptions
from forerun.include.sources.delivery import read_pin
from forerun.include.sources.samples import Drawable, with_samples
from forerun.include.sources.statistics import forecast, time_points, to_source, with_overlaps
from forerun.include.state.layout import Generation
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import Manifest, Pin, RunCommit
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import decode_plan
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import RequestError
from forerun.planner.request import Committed, Problem, Settings, Source, TimePoint, ivm
from forerun.planner.sampling import filtered_sources

_GIGABYTE = 10**9


def sources_at(day: Day, pins: Mapping[str, Pin], point: TimePoint) -> tuple[Source, ...]:
    """The sources as they are pinned at a time point, with samples."""
    spec = day.spec
    found = with_overlaps(
        tuple(
            _taking_back(s, spec, to_source(s, pins[s.name], point.fraction(s.name)))
            for s in spec.sources
        ),
        {s.name: pins[s.name].files for s in spec.sources},
    )
    if all(source.sample == 0 for source in spec.sources):
        return found
    filtered = filtered_sources(
        sql_of(spec), found, allowed_functions=allowed_functions(), parameters=day.parameters
    )
    drawable = {
        s.name: Drawable(pins[s.name].files, s.sample, s.change == "changelog", s.format)
        for s in spec.sources
    }
    return with_samples(found, drawable, filtered)


def _taking_back(source: SourceSpec, spec: ReportSpec, found: Source) -> Source:
    """The source as one of which rows are taken back, if that is what a report's days do."""
    if not spec.takes_back(source):
        return found
    return replace(found, change="changelog", proven=source.change == "append_only")


def first_sources(
    day: Day,
    chain: Sequence[RunCommit],
    times: Sequence[TimePoint],
    pins: Mapping[str, Pin],
) -> tuple[Source, ...]:
    """The sources as the first committed run pinned them; none before there is one. A source that
    the report has only since then counts as it is now."""
    if not chain:
        return ()
    first = chain[0].run
    read = pins_of(day.store, day.at, first)
    then = {name: read_pin(day.store, key) for name, key in read.items()}
    return sources_at(day, {**pins, **then}, times[first - 1])


def forecast_points(day: Day, history: Sequence[LedgerEntry]) -> tuple[TimePoint, ...]:
    spec = day.spec
    growing = [source.name for source in spec.sources if source.arrival == "growing"]
    before = there_before(spec, day.date)
    fractions = forecast(day.points, spec.begins(day.date), growing, history, before)
    return time_points(spec.weights, fractions)


def there_before(spec: ReportSpec, day: date) -> dict[str, float]:
    """Return which part of a rolling range is there when the report date begins, by source."""
    days = {one.name: one.days_read(day) for one in spec.sources if spec.moves_by(one)}
    return {name: 1.0 - each.count(day) / len(each) for name, each in days.items()}


def committed_run(
    store: StoreReader, at: Generation, commit: RunCommit, without: Collection[str] = ()
) -> Committed:
    """The families of which a committed run of ``at`` holds a partition, as its plan describes
    them, what the partitions take, and what had not changed by then. Those ``without`` are lost:
    to the planner they are as if the run had left them out, so the same rows are computed of the
    sources, or kept anew in another family."""
    held = {artifact.family for artifact in commit.artifacts}.difference(without)
    manifest = read_manifest(store, at, commit.run)
    planned = decode_plan(store.get(commit.plan))
    return Committed(
        index=commit.run,
        families=tuple(f for f in planned.families if f.id in held),
        bytes=sum(artifact.bytes for artifact in commit.artifacts),
        unchanged=unchanged_in(manifest),
    )


def unchanged_in(manifest: Manifest) -> tuple[str, ...]:
    """The sources of which nothing had come, or gone, since the base run when a run was pinned."""
    pinned = (one for one in manifest.sources if one.base_pin == one.pin and not one.withdrawn)
    return tuple(sorted(one.name for one in pinned))


def settings_of(day: Day, settings: Settings, history: Sequence[LedgerEntry] = ()) -> Settings:
    """The settings with what the report (its budget and session), its store (prices), its
    ``history`` and the deployment (functions, what state costs, how often runs are ended) say."""
    prices = prices_in(day.store, settings.prices)
    if cost := state_cost():
        prices = replace(prices, kept_byte=cost * MICRO / _GIGABYTE)
    settings = replace(
        settings,
        allowed_functions=allowed_functions(),
        prices=prices,
        session=day.spec.session_settings,
        interruptions=interruptions(history, interruptions_an_hour()),
    )
    budget = day.spec.state_bytes
    return settings if budget is None else replace(settings, state_budget=budget)


def problem_of(policy: RunPolicy) -> Problem:
    """Return in which runs the report wants results, and what its plans are compared by."""
    if policy.problem == "ivm":
        return ivm(len(policy.runs))
    return Problem(results_at=policy.early_results)


def bytes_at_hand(pins: dict[str, Pin], chain: Sequence[RunCommit]) -> int:
    """All that a run could read."""
    kept = sum(artifact.bytes for commit in chain for artifact in commit.artifacts)
    return kept + sum(pin.bytes for pin in pins.values())


def sql_of(spec: ReportSpec) -> str:
    """The SQL of a report. Raises :class:`forerun.planner.errors.RequestError` for a file that
    cannot be read."""
    if spec.sql:
        return spec.sql
    path = Path(spec.sql_file).absolute()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"the SQL of report {spec.name} cannot be read: {error}",
            hint=f"Correct sql_file: it is {spec.sql_file}, looked for in {path.parent}.",
        ) from None
