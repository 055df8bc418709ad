"""Chooses when the runs of a day are, and again as the day goes on, from what the store knows.

The times of a report of a cluster are part of a decision about the whole night
(:mod:`forerun.include.times.night`). It says which hours the report has; within these the report
compares plans of its own runs, which know better what an early run is worth. A group whose final
runs meet has the times of the night as they are.

Three things have to be known: when the rows of past days came
(:mod:`forerun.include.times.past_arrivals`), how long runs take
(:mod:`forerun.include.times.wall_forecast`), and what the day will look like to the planner. Of a
day that has not begun that is the newest day that was published; of one that has, its own files. If
one of them is not known, nothing is chosen, and the report's own times hold.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from statistics import mean, median

from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history
from forerun.include.days.run_times import RunTimes, own_times, read_times, store_times
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.values.clock import parse_time
from forerun.include.runs.inheriting import as_by_itself
from forerun.include.runs.prepare import AskedRun, ask_for_run, imagine_generation
from forerun.include.sources.statistics import time_points
from forerun.include.state.cluster_report import DayForecast, WantedDay, WantedRun
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.run_schedule import RunSchedule, ScheduledRun
from forerun.include.times.cluster_reports import put_wanted
from forerun.include.times.handing import hand_over
from forerun.include.times.night import Choice, DecidedNight, decide_night
from forerun.include.times.outlook import curves_today, prices_until, rows_now
from forerun.include.times.past_arrivals import published_days
from forerun.include.times.safe_start import AROUND_S, needed_for
from forerun.include.times.so_far import read_so_far
from forerun.include.times.wall_forecast import NEWEST, WallForecast, final_runs, usual_batch_s
from forerun.planner.errors import ForerunError
from forerun.planner.request import PlanRequest, TimePoint
from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.candidate_times import RestOfDay
from forerun.planner.schedule.choose import MOST_CANDIDATES, ChosenTimes, Timing, choose_times
from forerun.planner.schedule.night import WHOLE
from forerun.planner.schedule.run_time_search import thin
from forerun.planner.schedule.today import curve_complete

_LOG = logging.getLogger(__name__)

_MOST_KNOTS = 48
"""So many knots of a curve of arrivals are told to who decides about the night."""

_PARTS = (0.0, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5)
"""What runs take is told for these parts of the day's work."""


class NothingToChooseError(ForerunError):
    """The times of a day cannot be chosen: its report has no history that says enough."""

    code = "no-history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a decision goes by: slot ``before`` is the next one, it is ``now``, ``complete`` says
    that all sources are known to be complete. ``retries`` are those of the final run's task;
    ``cluster`` is what the report's runs share, None for nothing, and ``group`` the report group
    that it runs in, empty for none."""

    before: int
    now: datetime
    retries: Retries
    complete: bool = False
    cluster: Cluster | None = None
    group: str = ""


def choose_day(day: Day, asked: Decision) -> RunTimes:
    """Choose the times of all runs from slot ``before`` on, and store them as the newest schedule.

    Raises :class:`NothingToChooseError` without a history, and what reading and planning raise:
    then nothing is stored, and what held before holds on.
    """
    choosing = _Choosing(day, asked)
    night = choosing.decide()
    is_alone = night is None or len(night.beside) == 1
    if is_alone:
        chosen = choosing.choose(night)
        times = store_times(day, choosing.schedule(chosen))
        choosing.say(choosing.wanted(chosen))
    if night is not None:
        for member, plan in night.to_tell(but_own=is_alone):
            hand_over(day.store, member, plan, night, asked.now)
    return times if is_alone else read_times(day)


class _Choosing:
    """One decision about one day."""

    def __init__(self, day: Day, asked: Decision) -> None:
        self._day, self._asked = day, asked
        self._now = asked.now.timestamp()
        self._before = read_times(day)
        self._history = self._known_history()
        usual_s = self._batch_cost()
        wall = WallForecast(self._history, day.spec.policy)

        @functools.cache
        def seconds(cost_s: float, batches: int = 1) -> float:
            found, _ = wall.of(cost_s, batches)
            return found or 0.0

        self._seconds = seconds
        self._rows = rows_now(day, asked.now)
        self._curves = self._curves_today()
        self._batch_s = usual_s * self._size()
        self._night: DecidedNight | None = None
        self._rest = self._rest_of_day()

    def decide(self) -> DecidedNight | None:
        """Say what is known of the day, and decide the night of its cluster by what all have said;
        None where that cannot be decided: then the report chooses as if it were alone, and its
        runs wait for cores as they come."""
        if self._asked.cluster is None:
            return None
        wanted = self._wanted(())
        self.say(wanted)
        choice = Choice(
            day=self._day, now=self._now, wanted=wanted,
            application=self._asked.group or self._day.spec.name,
        )  # fmt: skip
        try:
            return decide_night(choice, self._asked.cluster)
        except ForerunError as error:
            _LOG.warning("chosen as if the report were alone on its cluster: %s", error.message)
            return None

    def say(self, wanted: WantedDay) -> None:
        """Say to the others of the cluster what the day wants."""
        if self._asked.cluster is not None:
            try:
                put_wanted(self._day, self._asked.cluster.name, wanted, self._asked.group)
            except ForerunError as error:
                _LOG.warning("others on the cluster do not know of it: %s", error.message)

    def choose(self, night: DecidedNight | None) -> ChosenTimes:
        """Choose by the plans of the report's own runs, in the hours that the night leaves it."""
        self._night = night
        if night is not None:
            given = tuple(run.start for run in night.own.runs[:-1])
            self._rest = replace(self._rest, cores=night.others, given=given)
        slots = self._day.spec.runs
        early = self._rest.early(MOST_CANDIDATES)
        starts = (*self._done_starts(), *early, self._rest.final)
        points = (*self._done_points(), *map(self._point, early), self._final_point())
        asked = self._ask(points)
        timing = Timing(
            starts=(*starts[:-1], self._rest.expected),
            due=self._rest.due,
            work=self._batch_s,
            seconds=self._seconds,
            cores=self._rest.cores,
        )
        self._starts, self._points = starts, points
        return choose_times(asked, slots - self._asked.before, timing)

    def wanted(self, chosen: ChosenTimes) -> WantedDay:
        """What the day wants of its cluster from now on, for others to plan around."""
        runs = [
            WantedRun(
                run=self._asked.before + place,
                at=self._starts[point - 1],
                seconds=self._seconds(cost_s),
            )
            for place, (point, cost_s) in enumerate(
                zip(chosen.opened[:-1], chosen.work, strict=False)
            )
        ]
        batches = self._asked.before - 1 + len(chosen.opened)
        seconds = self._seconds(chosen.work[-1], batches)
        at = self._rest.cores.final_begins(self._rest.expected, seconds)
        final = WantedRun(run=self._day.spec.runs, at=at, seconds=seconds)
        return self._wanted((*runs, final))

    def _wanted(self, runs: tuple[WantedRun, ...]) -> WantedDay:
        return WantedDay(
            day=self._day.at.day,
            generation=self._day.at.generation,
            latest_start=self._rest.latest,
            runs=runs,
            forecast=self._forecast(),
        )

    def _forecast(self) -> DayForecast:
        """The forecast of this day by which the night is decided."""
        rest, own = self._rest, self._day.points
        arrivals = rest.arrivals_until(max(rest.ready, rest.complete, self._now + 1))
        times = thin(list(arrivals.rows.xs), _MOST_KNOTS)
        takes = [rest.seconds(part, 1) for part in _PARTS]
        merges = [max(0.0, rest.seconds(0.0, n) - takes[0]) for n in (2, 3)]
        done = read_so_far(self._day.store, self._day.spec, self._day.date)
        parts = [min(1.0, done.rows_of(n) / one.total) for n, one in self._curves.items()]
        slots = range(self._asked.before, self._day.spec.runs)
        return DayForecast(
            arrived=tuple((at, arrivals.rows.at(at) / WHOLE) for at in times),
            done=mean(parts) if parts else 1.0,
            batches=done.runs,
            seconds=tuple(zip(_PARTS, accumulate(takes, max), strict=True)),
            merging=tuple(zip((2.0, 3.0), accumulate(merges, max), strict=True)),
            ready=rest.ready,
            due=rest.due,
            reserve=max(0.0, rest.due - rest.latest - rest.seconds(1.0, 1)),
            slots=tuple((run, own[run - 1].timestamp()) for run in slots),
        )

    def schedule(self, chosen: ChosenTimes) -> RunSchedule:
        """The record of what was chosen: early runs take the next slots, in order."""
        slots, before = self._day.spec.runs, self._asked.before
        done = self._before.schedule.runs if self._before.schedule else ()
        runs = [one for one in done if one.run < before]
        for place, point in enumerate(chosen.opened):
            final = point == len(self._points)
            runs.append(self._scheduled(slots if final else before + place, point))
        return RunSchedule(
            number=0,  # given when it is stored
            decided_at=self._asked.now.astimezone(UTC).isoformat(),
            before=before,
            runs=tuple(runs),
            forced=chosen.forced,
            missing_s=chosen.missing,
            complete=self._asked.complete,
            why=f"{chosen.why}{self._beside()}",
        )

    def _beside(self) -> str:
        """What others had to do with it, for people."""
        if self._night is None or self._asked.cluster is None:
            return ""
        final, seconds = self._rest.expected, self._rest.seconds(1.0, 1)
        waits = self._night.others.final_begins(final, seconds) - final
        name, first = self._asked.cluster.name, self._night.others.planned
        said = f"; on cluster {name} {first} runs of others go first"
        return f"{said}, and one batch would wait {waits:,.0f} s for cores" if waits >= 1 else said

    def _scheduled(self, run: int, point: int) -> ScheduledRun:
        known = self._points[point - 1]
        at = datetime.fromtimestamp(self._starts[point - 1], UTC)
        return ScheduledRun(
            run=run, at=at.isoformat(), weight=known.weight, arrived=known.by_source
        )

    # -- what is known ---------------------------------------------------------------------------

    def _known_history(self) -> tuple[LedgerEntry, ...]:
        spec = self._day.spec
        found = read_history(self._day.store, spec.name, NEWEST * spec.runs)
        if not found:
            raise _nothing(self._day, "no run of it is in the ledger")
        return found

    def _batch_cost(self) -> float:
        found = usual_batch_s(self._history, self._day.spec.runs)
        if found is None:
            raise _nothing(self._day, "the ledger does not say what batch would have cost")
        return found

    def _curves_today(self) -> Mapping[str, ArrivalCurve]:
        if self._asked.complete:
            return {name: curve_complete(self._now, rows) for name, rows in self._rows.items()}
        curves = curves_today(self._day, self._asked.now, self._rows)
        if lacking := sorted(set(self._rows) - set(curves)):
            raise _nothing(self._day, f"no past day tells when rows of {lacking[0]} come")
        return curves

    def _size(self) -> float:
        """Return how large the day is expected to be, as a part of usual ones: the mean over the
        sources of which the ledger says what usual is."""
        entries = final_runs(self._history, self._day.spec.runs)
        parts = []
        for name, curve in self._curves.items():
            usual = [rows for entry in entries if (rows := dict(entry.arrived).get(name, 0))]
            if usual:
                parts.append(curve.total / median(usual))
        return mean(parts) if parts else 1.0

    def _rest_of_day(self) -> RestOfDay:
        spec, date_ = self._day.spec, self._day.date
        own = own_times(self._day).starts[-1]
        ready = own.timestamp() if own else self._now
        deadline = spec.deadline_on(date_)
        reserve = parse_time(spec.policy.reserve, "the reserve").seconds
        needed = needed_for(self._seconds(self._batch_s), self._asked.retries)
        latest = deadline.timestamp() - max(float(reserve), needed)
        due = deadline.timestamp() - AROUND_S
        prices = prices_until(spec, date_, max(ready, due, self._now))
        return RestOfDay(
            now=self._now,
            ready=ready,
            latest=latest,
            due=due,
            curves=self._curves,
            prices=prices,
            seconds=self._part_seconds,
        )

    def _part_seconds(self, part: float, batches: int) -> float:
        return self._seconds(part * self._batch_s, batches)

    # -- what is asked of the planner ------------------------------------------------------------

    def _point(self, at: float) -> TimePoint:
        return time_points((self._rest.prices.at(at),), (self._rest.arrived(at),))[0]

    def _final_point(self) -> TimePoint:
        whole = dict.fromkeys(self._curves, 1.0)
        return time_points((self._rest.prices.at(self._rest.final),), (whole,))[0]

    def _done_starts(self) -> tuple[float, ...]:
        instants = self._before.instants[: self._asked.before - 1]
        return tuple(at.timestamp() for at in instants)

    def _done_points(self) -> tuple[TimePoint, ...]:
        """Slots that have gone by: with what is there now at most."""
        now = self._point(self._now)
        count = self._asked.before - 1
        if self._before.schedule is None:
            return (now,) * count
        then = self._before.points[:count]
        return tuple(p if _no_more(p, now) else replace(now, weight=p.weight) for p in then)

    def _ask(self, points: tuple[TimePoint, ...]) -> PlanRequest:
        """The request with the candidates as time points: over today's files if each source has
        some, else over those of the newest day that was published."""
        now = self._point(self._now)
        if (self._day.chain() or all(self._rows.values())) and now.arrived > 0:
            day, holds = self._day.imagined(), now
        else:
            day, holds = self._like(), self._final_point()
        before, at = self._asked.before, self._asked.now
        asked = ask_for_run(day, before, now=at, points=points, holds=holds, by_itself=True)
        if not isinstance(asked, AskedRun):
            raise _nothing(self._day, f"run {self._asked.before} is committed already")
        return as_by_itself(asked.request)

    def _like(self) -> Day:
        """The newest published day, as a day that is imagined to begin anew."""
        store, spec = self._day.store, self._day.spec
        known = published_days(store, spec, self._day.date)
        if not known:
            raise _nothing(self._day, "no day of it is published")
        return imagine_generation(store.root, spec, known[-1], now=self._asked.now)


def _no_more(one: TimePoint, other: TimePoint) -> bool:
    return one.arrived <= other.arrived


def _nothing(day: Day, why: str) -> NothingToChooseError:
    return NothingToChooseError(
        f"the times of {day.at.report}, {day.at.day}, are the report's own: {why}",
        hint="Nothing has to be done: they are chosen once days of it have been published.",
    )
