"""No-regret, measured: after days on which early work, or own batch, cost more than the user's text
would have, a report is batch until it is worth trying again.

What a day took is measured. What batch would have taken there is not, since it did not run: it is
the estimate of batch, brought to this report and machine by what runs took for what they were
estimated at. Batch runs in the ledger tell that best; without any, the runs of the judged days do,
which is a suspicion only. The first day that is batch for it measures batch, and from the next day
on the same days are judged by that.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median_low

from forerun.include.days.handle import Day
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import Pin
from forerun.planner.cost.constants import MICRO
from forerun.planner.request import PlanRequest, TimePoint

_TRY_AGAIN = timedelta(days=14)
"""Early work is tried again so long after its last day: one losing day in a fortnight costs little,
and what nobody counts (another machine, another version) has a chance to be noticed."""

_MOVED = 2.0
"""Days differ if a source has more than so many times the rows. Weekdays, and forecasts from a part
of a day, differ by less; and since early work and batch both grow with the rows, their order only
changes with much of them."""

_LITTLE = 0.01
"""A source with no more than this share of a day's rows is not what the day costs."""

_BATCH_RUNS = 7
"""Batch is judged by so many of its newest runs: an odd one does not decide."""

_LEAST_WORK_S = 1.0
"""Below so many estimated CPU seconds a run does not tell how cost grows with the estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDay:
    """A day that worked early or was own batch: what it took and what the user's text would have
    taken, in CPU seconds of whole processes times weights. ``rows`` of each source are those of its
    final run."""

    day: str
    measured_s: float
    batch_s: float
    rows: Mapping[str, int]

    @property
    def lost(self) -> bool:
        """Return whether batch would have been cheaper."""
        return self.measured_s > self.batch_s

    def is_like(self, rows: Mapping[str, float]) -> bool:
        """Return whether a day of so many rows of each source is about as large."""
        little = 1 + _LITTLE * sum(self.rows.values())
        return all(
            1 / _MOVED <= (count + little) / (self.rows.get(name, 0) + little) <= _MOVED
            for name, count in rows.items()
        )


@dataclass(frozen=True, slots=True)
class _Prices:
    """The prices of a run, fitted to past ones: ``start_s`` whatever it does, and ``rate`` seconds
    of executors for each estimated second of its work. ``opening_s`` is what the estimates have for
    the start, of a run of one stage; what more of them cost counts as work."""

    start_s: float
    rate: float
    opening_s: float

    def expected_s(self, estimated_s: float) -> float:
        return self.start_s + self.rate * max(0.0, estimated_s - self.opening_s)


def why_batch(
    day: date,
    history: Sequence[LedgerEntry],
    rows: Mapping[str, float],
    *,
    runs: int,
    losses: int,
    opening_s: float,
) -> str:
    """Say why a day should be the user's own text; empty if it need not.

    ``history`` is the ledger, oldest first; what it has of ``day`` and later ones does not count.
    ``rows`` of each source are those that the whole day is expected to have, ``runs`` is how many
    there are in a day, and after ``losses`` losing days the report is batch (0: never).
    ``opening_s`` is what estimates have for opening a run of one stage.
    """
    before = [entry for entry in history if entry.day < day.isoformat()]
    worked, measured = _days(before, runs)
    newest = worked[-losses:]
    if not losses or len(newest) < losses:
        return ""
    prices = _prices(measured or _like_final(newest), opening_s)
    if prices is None:
        return ""
    judged = [_judged(found, prices) for found in newest]
    again = judged[-1].day <= (day - _TRY_AGAIN).isoformat()
    moved = not any(one.is_like(rows) for one in judged)
    if again or moved or not all(one.lost for one in judged):
        return ""
    return _sentence(judged, len(measured))


def why_measured(day: date, history: Sequence[LedgerEntry], *, runs: int, after: int) -> str:
    """Say why a day should be the user's own text only to measure it; empty if it need not. That is
    so when ``after`` whole days (0: never) were something else since it ran last: what they save is
    said by an estimate that grows old. Each report waits for up to as many more, by its name, so
    that reports which began together do not all measure on one night. ``history`` and ``runs`` are
    those of :func:`why_batch`."""
    worked, measured = _days([entry for entry in history if entry.day < day.isoformat()], runs)
    last = measured[-1].day if measured else ""
    since = sum(found[-1].day > last for found in worked)
    if not after or not since or since < after + zlib.crc32(history[-1].report.encode()) % after:
        return ""
    when = f"since {last}, when it was measured" if last else "and it was never measured"
    return (
        f"batch is measured on this day: {since} days were in stages of our own {when}, so what "
        "they save is an estimate"
    )


def why_by_the_ledger(
    day: Day,
    request: PlanRequest,
    history: Sequence[LedgerEntry],
    pins: Mapping[str, Pin],
    holds: TimePoint,
) -> str:
    """Return why the ledger rules out early work, or "". Applies to ``auto`` days that have not
    started early work; never to days with early results, because batch recomputes each of those and
    the ledger's final runs do not show that."""
    policy, settings = day.spec.policy, request.settings
    if request.method != "auto" or settings.temporal == "early":
        return ""
    if request.committed or policy.early_results:
        return ""
    shares = {s.name: holds.fraction(s.name) if s.changing else 1.0 for s in request.sources}
    lost = why_batch(
        day.date,
        history,
        {name: pins[name].rows / share for name, share in shares.items() if share},
        runs=day.spec.runs,
        losses=policy.batch_after_losses,
        opening_s=(settings.prices.run_start + settings.prices.stage_start) / MICRO,
    )
    after = policy.measure_batch_after
    return lost or why_measured(day.date, history, runs=day.spec.runs, after=after)


def judge_days(
    history: Sequence[LedgerEntry], *, runs: int, opening_s: float
) -> tuple[tuple[JudgedDay, ...], int]:
    """Judge every day of a ledger that worked early or was own batch, oldest first; none if no run
    did enough to tell. Also says in how many of its newest runs batch was measured for that: 0
    where it is only estimated. ``runs`` and ``opening_s`` are those of :func:`why_batch`."""
    worked, measured = _days(history, runs)
    prices = _prices(measured or _like_final(worked), opening_s)
    judged = () if prices is None else tuple(_judged(found, prices) for found in worked)
    return judged, len(measured)


def _days(
    history: Iterable[LedgerEntry], runs: int
) -> tuple[list[tuple[LedgerEntry, ...]], list[LedgerEntry]]:
    """The whole days that worked early or were own batch, and the newest batch runs, each oldest
    first. Of several generations of a day the last one of its kind counts."""
    generations = list(_whole_generations(history, runs))
    worked = {
        found[-1].day: found
        for found in generations
        if len(found) > 1 or found[-1].method == "own-batch"
    }
    batch = {found[-1].day: found[-1] for found in generations if found[-1].method == "batch"}
    measured = [batch[name] for name in sorted(batch)][-_BATCH_RUNS:]
    return [worked[name] for name in sorted(worked)], measured


def _whole_generations(
    history: Iterable[LedgerEntry], runs: int
) -> Iterable[tuple[LedgerEntry, ...]]:
    """The runs of each generation that has its final run, where all have been measured; in the
    order of the ledger."""
    found: dict[tuple[str, str], dict[int, LedgerEntry]] = {}
    for entry in history:
        found.setdefault((entry.day, entry.generation), {})[entry.run] = entry
    for by_run in found.values():
        entries = tuple(by_run[run] for run in sorted(by_run))
        if entries[-1].run == runs and all(run.process_cpu_s and run.weight for run in entries):
            yield entries


def _judged(entries: Sequence[LedgerEntry], prices: _Prices) -> JudgedDay:
    final = entries[-1]
    estimated_s = final.batch_cost / final.weight / MICRO
    return JudgedDay(
        day=final.day,
        measured_s=sum(run.weight * _took(run) for run in entries),
        batch_s=final.weight * prices.expected_s(estimated_s),
        rows=dict(final.arrived),
    )


def _like_final(days: Iterable[Sequence[LedgerEntry]]) -> list[LedgerEntry]:
    """Return the runs of days that the engine of their final run has done, which is batch's."""
    return [run for found in days for run in found if run.engine == found[-1].engine]


def _prices(entries: Sequence[LedgerEntry], opening_s: float) -> _Prices | None:
    """The medians of what runs took; None if none of them did enough to tell."""
    estimated = [(run, run.estimated_cost / MICRO - opening_s) for run in entries]
    rates = [_work(run) / work_s for run, work_s in estimated if work_s >= _LEAST_WORK_S]
    if not rates:
        return None
    start_s = median_low(_took(run) - _work(run) for run in entries)
    return _Prices(start_s, median_low(rates), opening_s)


def _took(run: LedgerEntry) -> float:
    """CPU seconds of a run: of its process tree, or of executors on other machines where those
    took more."""
    return max(run.process_cpu_s, run.executor_cpu_s)


def _work(run: LedgerEntry) -> float:
    """Return the CPU seconds that grow with the data: executors' if the engine reports them, else
    the whole process."""
    return run.executor_cpu_s or run.process_cpu_s


def _sentence(judged: Sequence[JudgedDay], batch_runs: int) -> str:
    days = ", ".join(f"{one.day} {one.measured_s:.1f} for {one.batch_s:.1f} s" for one in judged)
    source = (
        f"measured in {batch_runs} of its runs"
        if batch_runs
        else "estimated, at what its runs took for their estimates"
    )
    count = "day" if len(judged) == 1 else f"{len(judged)} days"
    return (
        f"the last {count} in stages of our own cost more than batch: {days} (weighted CPU "
        f"seconds of whole processes; batch {source}). It is tried again {_TRY_AGAIN.days} days "
        "after the last of them, and when a source has over twice or under half the rows"
    )
