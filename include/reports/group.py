"""A report group as a value: reports whose runs meet at common time points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime

from forerun.include.reports.reports_of_reports import refuse_late
from forerun.include.reports.run_policy import RunTime
from forerun.include.reports.sources.start_when import WithGroup
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.clock import parse_time
from forerun.include.reports.values.fields import SpecError, label, take_fields
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.lengths import Length
from forerun.include.reports.values.names import check_name, check_unique


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """A report of a group. Its ``spec`` has a run at every time point of the group up to its own
    final run; ``points`` are the time points of its runs, numbered from 1."""

    spec: ReportSpec
    points: tuple[int, ...]

    @property
    def last(self) -> int:
        """The time point of its final run."""
        return self.points[-1]

    def run_at(self, point: int) -> int | None:
        """Its run at a time point, None if it has none there."""
        return self.points.index(point) + 1 if point in self.points else None

    def run_after(self, point: int) -> int | None:
        """Its first run after a time point, None if it has none."""
        return next((run for run, at in enumerate(self.points, 1) if at > point), None)


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportGroup:
    """Reports that are planned and run together: at each time point there is one application for
    all that have work then. Each keeps its own deadline, expectations, results and asset.

    The time points are the union of the reports' run times; a report takes part in all of them up
    to its final run. ``patience``: so long after a time point the final runs that are due then wait
    for each other's sources. Who is not complete by then is left to itself, and the others go on.
    """

    name: str
    """The name of the group, and of its DAG."""
    reports: tuple[ReportSpec, ...]
    """The reports, each with its own deadline, expectations, results and asset."""
    patience: Length = "+00:10"
    """How long after a time point final runs that are due wait for each other's sources, as elapsed
    time. A report that is not complete by then is left to itself."""

    def __post_init__(self) -> None:
        take_fields(self, label("report group", self.name))
        check_name(self.name, "the report group")
        if not self.reports:
            raise SpecError(f"report group {self.name} has no report", hint="List its reports.")
        check_unique([one.name for one in self.reports], f"report group {self.name}: report")
        for what, values in (
            ("time zone", {one.timezone for one in self.reports}),
            ("store", {one.store for one in self.reports}),
            ("period", {str(one.period or "a day") for one in self.reports}),
        ):
            if len(values) > 1:
                raise SpecError(
                    f"report group {self.name} has reports of more than one {what}: "
                    f"{', '.join(sorted(map(repr, values)))}",
                    hint=f"Reports that run together have one {what}: make a group of each.",
                )
        for one in self.reports:
            self._check_reading(one)
            self._check_slots(one)
            self._check_results(one)
        if not parse_time(self.patience, "the patience").elapsed:
            raise SpecError(
                f"report group {self.name}: the patience {self.patience!r} is a clock time",
                hint="It is a length of time: write +00:10 for ten minutes.",
            )

    def _check_reading(self, one: ReportSpec) -> None:
        """Refuse a report that reads another one of the group, which is published only when the
        application is over that both would share."""
        by_name = {other.name: other for other in self.reports}
        if read := sorted(by_name.keys() & {source.reads for source in one.sources}):
            raise SpecError(
                f"report group {self.name}: {one.name} reads what {read[0]} publishes, which runs "
                "in the same application",
                hint="Take one of them out of the group: a report of its own, or a later group.",
            )
        refuse_late(one, by_name)

    def _check_slots(self, one: ReportSpec) -> None:
        """Refuse a report that chooses its times at other slots than the group has time points:
        with a run at each of these it would have more than it allows."""
        own = [_seconds(run) for run in one.policy.runs]
        times = [_seconds(run) for run in self.times if _seconds(run) <= own[-1]]
        if one.policy.choose is not None and own != times:
            raise SpecError(
                f"report group {self.name}: {one.name} chooses at most {len(own)} runs, at other "
                f"slots than the {len(times)} time points of the group up to its final run",
                hint="Name the same times in all of them (RunPolicy(runs=..., choose=...)), or "
                "take it out of the group.",
            )

    def _check_results(self, one: ReportSpec) -> None:
        """Refuse an early result at a time point that others move: who waits for it wants it at a
        known time."""
        for number in one.policy.early_results:
            run = one.policy.runs[number - 1]
            if run.when is None and _seconds(run) in self._moving:
                raise SpecError(
                    f"report group {self.name}: {one.name} has an early result at {run.at}, when "
                    "another report has a trigger or chooses its time",
                    hint="Who waits for an early result wants it at a known time: leave out when "
                    "or choose, or take one of them out of the group.",
                )

    @property
    def _moving(self) -> set[int]:
        """The time points that may start before their time."""
        return {
            _seconds(run)
            for one in self.reports
            for run in one.policy.runs[:-1]
            if run.when is not None or one.policy.choose is not None
        }

    @property
    def times(self) -> tuple[RunTime, ...]:
        """The time points in order of time, each at the highest price that a report gives it."""
        found: dict[int, RunTime] = {}
        for spec in self.reports:
            for run in spec.policy.runs:
                at = parse_time(run.at, "a run").seconds
                if at not in found or found[at].weight < run.weight:
                    found[at] = run
        return tuple(found[at] for at in sorted(found))

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """The reports with the runs that they have in the group."""
        return tuple(map(self._member, self.reports))

    def moments(self, day: date) -> tuple[datetime, ...]:
        """The instants of the time points of ``day``, in UTC."""
        zone = self.reports[0].zone
        return tuple(parse_time(run.at, "a run").on(day, zone) for run in self.times)

    @property
    def patience_s(self) -> float:
        """The seconds after a time point for which final runs that are due wait for each other."""
        return float(parse_time(self.patience, "the patience").seconds)

    def _member(self, spec: ReportSpec) -> GroupMember:
        own = [_seconds(run) for run in spec.policy.runs]
        at = [_seconds(run) for run in self.times]
        points = tuple(number for number, when in enumerate(at, 1) if when <= own[-1])
        runs = tuple(self._run_of(spec, at[number - 1]) for number in points)
        results = tuple(at.index(own[run - 1]) + 1 for run in spec.policy.results_at)
        policy = replace(spec.policy, runs=runs, results_at=results)
        return GroupMember(spec=replace(spec, policy=policy), points=points)

    def _run_of(self, spec: ReportSpec, at: int) -> RunTime:
        """The run of a report at a time point: its own, or one at the price that others give it. It
        starts with theirs where these may start before their time."""
        own = next((run for run in spec.policy.runs if _seconds(run) == at), None)
        found = own or next(replace(run, when=None) for run in self.times if _seconds(run) == at)
        fixed = own is not None and own == spec.policy.runs[-1]
        if fixed or found.when is not None or spec.policy.choose is not None:
            return found
        return replace(found, when=WithGroup()) if at in self._moving else found


def _seconds(run: RunTime) -> int:
    return parse_time(run.at, "a run").seconds
