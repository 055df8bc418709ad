"""A report group as a value: reports whose runs meet at common time points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime

from forerun.include.reports.clock import parse_time
from forerun.include.reports.fields import SpecError, label, take_fields
from forerun.include.reports.keywords import names_its_fields
from forerun.include.reports.lengths import Length
from forerun.include.reports.names import check_name, check_unique
from forerun.include.reports.run_policy import RunTime
from forerun.include.reports.spec import ReportSpec


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
        ):
            if len(values) > 1:
                raise SpecError(
                    f"report group {self.name} has reports of more than one {what}: "
                    f"{', '.join(sorted(map(repr, values)))}",
                    hint=f"Reports that run together have one {what}: make a group of each.",
                )
        for one in self.reports:
            if one.policy.choose is not None:
                raise SpecError(
                    f"report group {self.name}: {one.name} chooses its own times",
                    hint="Reports that run together have one set of times: leave out choose, or "
                    "take the report out of the group.",
                )
            if one.policy.times_move:
                raise SpecError(
                    f"report group {self.name}: {one.name} has runs with triggers",
                    hint="Reports that run together have one set of times: leave out when, or take "
                    "the report out of the group.",
                )
        if not parse_time(self.patience, "the patience").elapsed:
            raise SpecError(
                f"report group {self.name}: the patience {self.patience!r} is a clock time",
                hint="It is a length of time: write +00:10 for ten minutes.",
            )

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
        own = [parse_time(run.at, "a run").seconds for run in spec.policy.runs]
        at = [parse_time(run.at, "a run").seconds for run in self.times]
        points = tuple(number for number, when in enumerate(at, 1) if when <= own[-1])
        runs = tuple(
            spec.policy.runs[own.index(at[number - 1])]
            if at[number - 1] in own
            else self.times[number - 1]
            for number in points
        )
        results = tuple(at.index(own[run - 1]) + 1 for run in spec.policy.results_at)
        policy = replace(spec.policy, runs=runs, results_at=results)
        return GroupMember(spec=replace(spec, policy=policy), points=points)
