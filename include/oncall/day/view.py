"""One day in full: its runs, deliveries, checks, and how its plan changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forerun.include.days.ledger import read_history
from forerun.include.days.manifests import read_manifest
from forerun.include.days.publishing import failed_checks
from forerun.include.oncall.day.plan_changes import PlanVersion, versions
from forerun.include.oncall.day.records import DayRecords, PlanFile
from forerun.include.runs.day_request import there_before
from forerun.include.sources.delivery import read_pin
from forerun.include.sources.statistics import forecast
from forerun.include.state.layout import numbers
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import Manifest, RunCommit
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import Plan, decode_plan
from forerun.planner.contract.plan_v1 import Run
from forerun.planner.cost.constants import MICRO
from forerun.planner.explain import flow


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTable:
    """A partition of a family that a run has written."""

    title: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A run of the day: as it was planned (``estimated_s``, ``flow``) and, once ``commit`` is
    there, as it was. ``plan`` is the stored plan that it followed or would follow now, None where
    nothing is planned. ``early_result``: the run publishes."""

    index: int
    at: datetime
    weight: float
    final: bool
    early_result: bool
    plan: PlanFile | None
    planned: Run | None
    flow: str
    commit: RunCommit | None
    kept: tuple[KeptTable, ...]

    @property
    def estimated_s(self) -> float | None:
        return self.planned.estimated_cost / MICRO if self.planned and self.planned.opened else None

    @property
    def state(self) -> str:
        """``committed``, ``planned``, ``not opened``, or ``ahead``: nothing is known of it yet."""
        if self.commit is not None:
            return "committed"
        if self.planned is None:
            return "ahead"
        return "planned" if self.planned.opened else "not opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """The rows of a source on the day: ``seen`` when it was pinned (instant, rows so far), and as
    ``expected`` of earlier days at each run; without a whole earlier day that is empty.
    ``growing`` is false for a source that is whole from the start."""

    source: str
    growing: bool
    seen: tuple[tuple[datetime, int], ...]
    expected: tuple[tuple[datetime, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The expectations on a target (a source's delivery, or ``result``) after a run; ``failed`` has
    a line for each that did not hold, with its severity."""

    run: int
    target: str
    critical: int
    warnings: int
    failed: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayView:
    """All that the page of a day shows beside its line of the night."""

    records: DayRecords
    runs: tuple[ShownRun, ...]
    arrivals: tuple[Arrivals, ...]
    checks: tuple[Checked, ...]
    versions: tuple[PlanVersion, ...]

    @property
    def expects(self) -> bool:
        """Return whether the report has expectations, on its result or on a source."""
        spec = self.records.spec
        return bool(spec.expectations) or any(source.expectations for source in spec.sources)


def read_day_view(store: StoreReader, records: DayRecords) -> DayView:
    """Read all that the page of a day shows. Raises
    :class:`forerun.include.stores.store.StoreError` and
    :class:`forerun.planner.errors.ContractError`."""
    plans = {plan.key: decode_plan(store.get(plan.key)) for plan in records.plans}
    manifests = tuple(_manifests(store, records))
    return DayView(
        records=records,
        runs=tuple(_runs(records, plans)),
        arrivals=_arrivals(store, records, manifests),
        checks=tuple(_checks(store, records.chain)),
        versions=versions([(plan, plans[plan.key]) for plan in records.plans], records.chain),
    )


def _runs(records: DayRecords, plans: Mapping[str, Plan]) -> Iterator[ShownRun]:
    commits = {commit.run: commit for commit in records.chain}
    files = {plan.key: plan for plan in records.plans}
    for index, (weight, at) in enumerate(
        zip(records.weights, records.points, strict=True), start=1
    ):
        commit = commits.get(index)
        key = commit.plan if commit else records.plans[-1].key if records.plans else ""
        plan = plans.get(key)
        planned = plan.runs[index - 1] if plan and index <= len(plan.runs) else None
        yield ShownRun(
            index=index,
            at=at,
            weight=weight,
            final=index == records.spec.runs,
            early_result=index in records.spec.policy.early_results,
            plan=files.get(key),
            planned=planned,
            flow=flow.render(plan, planned) if plan and planned else "",
            commit=commit,
            kept=tuple(_kept(plan, commit)) if plan and commit else (),
        )


def _kept(plan: Plan, commit: RunCommit) -> Iterator[KeptTable]:
    for part in commit.artifacts:
        title = plan.family(part.family).title
        yield KeptTable(title=title, rows=part.rows, bytes=part.bytes)


def _manifests(store: StoreReader, records: DayRecords) -> Iterator[Manifest]:
    listed = store.list(f"{records.at.folder}/manifests")
    for run in numbers(tuple(file.key for file in listed)):
        yield read_manifest(store, records.at, run)


def _arrivals(
    store: StoreReader, records: DayRecords, manifests: Sequence[Manifest]
) -> tuple[Arrivals, ...]:
    history = tuple(e for e in read_history(store, records.at.report) if e.day < records.at.day)
    found = []
    for source in records.spec.sources:
        pins = {one.pin for m in manifests for one in m.sources if one.name == source.name}
        read = sorted((read_pin(store, key) for key in pins), key=lambda pin: pin.number)
        found.append(
            Arrivals(
                source=source.name,
                growing=source.arrival == "growing",
                seen=tuple((datetime.fromisoformat(pin.pinned_at), pin.rows) for pin in read),
                expected=_expected(records, source.name, source.arrival == "growing", history),
            )
        )
    return tuple(found)


def _expected(
    records: DayRecords, source: str, growing: bool, history: Sequence[LedgerEntry]
) -> tuple[tuple[datetime, int], ...]:
    """The rows that a source is expected to have at each run, as planning forecasts the fractions
    of a day, of as many rows as the newest whole day had."""
    finals = [dict(e.arrived).get(source) for e in history if e.run == records.spec.runs]
    whole = next((rows for rows in reversed(finals) if rows), None)
    if whole is None:
        return ()
    if not growing:
        return tuple((point, whole) for point in records.points)
    begins = records.spec.begins(records.date)
    before = there_before(records.spec, records.date)
    fractions = forecast(records.points, begins, [source], history, before)
    return tuple(
        (point, round(whole * by_source[source]))
        for point, by_source in zip(records.points, fractions, strict=True)
    )


def _checks(store: StoreReader, chain: Sequence[RunCommit]) -> Iterator[Checked]:
    for commit in chain:
        for check in commit.checks:
            found = (
                failed_checks(store, commit.run, check.target, check.key)
                if check.critical or check.warnings or check.provisional
                else []
            )
            yield Checked(
                run=commit.run,
                target=check.target,
                critical=check.critical,
                warnings=check.warnings,
                failed=tuple((one.severity, one.text) for one in found),
            )
