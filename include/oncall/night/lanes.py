"""The night on one clock: when each report's runs were, or will be, and the cores they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from forerun.include.oncall.night.rows import NightRow


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRun:
    """A run between two instants: one that was made, by the wall time that its commit has, or one
    that is still to come. Early runs to come have a length of 0: nothing forecasts it."""

    run: int
    start: datetime
    end: datetime
    kind: Literal["early", "final"]
    made: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A report of the night with its runs; each run has ``cores`` for itself."""

    row: NightRow
    runs: tuple[LaneRun, ...]
    safe: datetime
    deadline: datetime
    cores: int


def lanes(rows: Iterable[NightRow], now: datetime) -> tuple[Lane, ...]:
    """The reports of a night, the earliest deadline first; days that cannot be read are left
    out."""
    found = (_lane(row, now) for row in rows)
    there = (lane for lane in found if lane is not None)
    return tuple(sorted(there, key=lambda lane: (lane.deadline, lane.row.report.name)))


def _lane(row: NightRow, now: datetime) -> Lane | None:
    records = row.records
    if records is None:
        return None
    return Lane(
        row=row,
        runs=(*_made(row), *_to_come(row, now)),
        safe=records.safe.at,
        deadline=records.deadline,
        cores=records.spec.policy.cores,
    )


def _made(row: NightRow) -> Iterator[LaneRun]:
    records = row.records
    for commit in records.chain if records else ():
        end = datetime.fromisoformat(commit.committed_at)
        final = records is not None and commit.run == records.spec.runs
        yield LaneRun(
            run=commit.run,
            start=end - timedelta(seconds=commit.metrics.wall_s),
            end=end,
            kind="final" if final else "early",
            made=True,
        )


def _to_come(row: NightRow, now: datetime) -> Iterator[LaneRun]:
    """Runs that the newest plan opens and that are not committed; the final one at any rate."""
    records = row.records
    if records is None or records.final is not None:
        return
    done = records.chain[-1].run if records.chain else 0
    opened = {run.index for run in records.plan.runs if run.opened} if records.plan else set()
    for run, point in enumerate(records.points, start=1):
        final = run == records.spec.runs
        if run <= done or not (final or (run in opened and point > now)):
            continue
        start = max(point, now) if final else point
        wall_s = records.safe.wall_s if final else 0.0
        yield LaneRun(
            run=run,
            start=start,
            end=start + timedelta(seconds=wall_s),
            kind="final" if final else "early",
            made=False,
        )


def cores_in_use(found: Iterable[Lane]) -> tuple[tuple[datetime, int], ...]:
    """Return the cores that the runs of all lanes want, as steps (instant, cores from then on), in
    order of time. Runs of one application follow one another, so they do not add up."""
    changes: dict[datetime, int] = {}
    for lane in found:
        for run in lane.runs:
            if run.end > run.start:
                changes[run.start] = changes.get(run.start, 0) + lane.cores
                changes[run.end] = changes.get(run.end, 0) - lane.cores
    busy, steps = 0, []
    for at in sorted(changes):
        busy += changes[at]
        steps.append((at, busy))
    return tuple(steps)
