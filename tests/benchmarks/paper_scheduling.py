"""Many queries on one machine: a batch at a time, decided when the machine is free (section 4).

The simulation of the paper's dynamic scheduling: an event loop over a virtual clock. A query may be
added and removed at any instant; a batch that has started ends. The machine is never kept idle for
a batch that is not ready yet.

A batch is *ready* when its minimum of rows has come, or when the time has passed by which they were
expected (section 4.4), with what is there then; what is left at the window's end is ready whatever
its size. A batch is expected as long after the last one as the forecast takes for its rows. (By the
paper's text it is expected when the forecast has the rows so far and a minimum more: with a source
that is late by more than that, each row would be a batch.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.batch_cost import BatchCost
from forerun.planner.schedule.piecewise import TICK
from forerun.planner.schedule.single import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query and what happens to it. ``arrivals``: as they turn out; ``forecast``: as they were
    expected. ``minimum``: rows of a batch, None to take whatever is there (the plain strategies,
    without a minimum). ``total_known``: whether the day's rows are known before it ends; if not,
    they are estimated from the day so far, and every query with rows is ready."""

    name: str
    cost: BatchCost
    deadline: float
    arrivals: ArrivalCurve
    forecast: ArrivalCurve
    minimum: int | None
    total_known: bool = True
    submitted: float = -math.inf
    removed: float = math.inf


@dataclass(slots=True)
class Course:
    """How a query went: its batches in order and the rows that they have ``done``, the seconds of
    its final aggregation, and the instant of its result, ``inf`` if it was removed before."""

    query: Query
    batches: list[Batch] = field(default_factory=list)
    done: int = 0
    aggregation: float = 0.0
    finished: float = math.inf

    @property
    def seconds(self) -> float:
        """What it cost in machine seconds."""
        return sum(batch.seconds for batch in self.batches) + self.aggregation

    @property
    def removed(self) -> bool:
        """Whether it was taken away before it had a result."""
        return self.finished == math.inf

    @property
    def missed(self) -> bool:
        """Whether its result came after its deadline."""
        return not self.removed and self.finished > self.query.deadline + TICK

    def ready_rows(self, now: float) -> int:
        """Rows that a batch would take now, 0 if none is ready."""
        query = self.query
        arrived = query.arrivals.rows_at(now)
        there = arrived - self.done
        if query.minimum is None or arrived == query.arrivals.total or not query.total_known:
            return min(there, query.minimum or there)
        if there >= query.minimum:
            return query.minimum
        return there if self._expected_at() <= now + TICK else 0

    def next_ready(self) -> float:
        """The earliest instant at which the next batch is ready."""
        query = self.query
        wanted = query.minimum if query.minimum and query.total_known else 1
        arrivals = query.arrivals
        enough = arrivals.time_of(min(self.done + wanted, arrivals.total))
        some = arrivals.time_of(min(self.done + 1, arrivals.total))
        return min(enough, max(some, self._expected_at()))

    def remaining(self, now: float) -> float:
        """Seconds of all that is left: the rest in batches of the minimum, and the final
        aggregation."""
        query = self.query
        left = max(self._total(now) - self.done, 1)
        size = min(query.minimum or left, left)
        whole, rest = divmod(left, size)
        batches = len(self.batches) + whole + (rest > 0)
        cost = query.cost
        return whole * cost.cost(size) + cost.cost(rest) + cost.final_aggregation(batches)

    def run(self, rows: int, now: float) -> float:
        """Run a batch of ``rows``, and the final aggregation after the last one; the instant at
        which the machine is free again."""
        batch = Batch(now, rows, self.query.cost.cost(rows))
        self.batches.append(batch)
        self.done += rows
        if self.done < self.query.arrivals.total:
            return batch.end
        self.aggregation = self.query.cost.final_aggregation(len(self.batches))
        self.finished = batch.end + self.aggregation
        return self.finished

    def _expected_at(self) -> float:
        """The instant by which the next minimum is expected: as long after the last batch as the
        forecast says that so many rows take."""
        minimum, forecast = self.query.minimum, self.query.forecast
        if minimum is None:
            return -math.inf
        if not self.batches:
            return forecast.time_of(minimum)
        takes = forecast.time_of(self.done + minimum) - forecast.time_of(self.done)
        return self.batches[-1].start + takes

    def _total(self, now: float) -> int:
        """Rows of the day, as far as they are known at an instant."""
        query = self.query
        arrived = query.arrivals.rows_at(now)
        if query.total_known or arrived == query.arrivals.total:
            return query.arrivals.total
        part = query.forecast.rows_at(now) / query.forecast.total
        return max(arrived, round(arrived / part)) if part > 0 else query.forecast.total


@dataclass(frozen=True, slots=True)
class ReadyBatch:
    """A batch of ``rows`` that may start now. ``remaining``: seconds of all that is left of its
    query, this batch and the final aggregation included."""

    course: Course
    rows: int
    remaining: float

    @property
    def last_served(self) -> float:
        """Return the instant at which a batch of the query was started last, ``-inf`` without
        one."""
        return self.course.batches[-1].start if self.course.batches else -math.inf


class Strategy(StrEnum):
    """Which ready batch goes first (section 4.2), by the names of the paper: least laxity, earliest
    deadline, and two that do not look at deadlines. Nothing is preempted."""

    LLF = "llf"
    EDF = "edf"
    SJF = "sjf"
    RR = "rr"


_URGENCY: dict[Strategy, Callable[[ReadyBatch], float]] = {
    Strategy.LLF: lambda batch: batch.course.query.deadline - batch.remaining,
    Strategy.EDF: lambda batch: batch.course.query.deadline,
    Strategy.SJF: lambda batch: batch.remaining,
    Strategy.RR: lambda batch: batch.last_served,
}
"""What is least for the batch that goes first. (All lose the same laxity as time passes, so the
order by laxity does not depend on the instant.)"""


def run_queries(queries: Sequence[Query], strategy: Strategy) -> tuple[Course, ...]:
    """Run all queries to their end, or to their removal, on one machine."""
    courses = tuple(Course(query) for query in queries)
    now = min((_begin(query) for query in queries), default=0.0)
    while open_ := [c for c in courses if c.removed and now < c.query.removed]:
        ready = list(_ready(open_, now))
        if ready:
            chosen = min(ready, key=lambda one: (_URGENCY[strategy](one), one.course.query.name))
            now = chosen.course.run(chosen.rows, now)
        else:
            now = _next_event(open_)
    return courses


def _ready(courses: Sequence[Course], now: float) -> Iterator[ReadyBatch]:
    for course in courses:
        rows = course.ready_rows(now) if course.query.submitted <= now + TICK else 0
        if rows > 0:
            yield ReadyBatch(course, rows, course.remaining(now))


def _begin(query: Query) -> float:
    """The instant from which on a query needs to be looked at."""
    return max(query.submitted, query.arrivals.time_of(1))


def _next_event(courses: Sequence[Course]) -> float:
    return min(max(c.query.submitted, c.next_ready()) for c in courses)
