"""The page's section of throughput: by how many deliveries a day comes in, and by workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.figures import Day, days_of
from tests.benchmarks.line_plot import Line
from tests.benchmarks.results import BATCH, FAILED, Row


@dataclass(frozen=True, slots=True)
class Worker:
    """A master with so many cores, and how many times the data it is given."""

    master: str
    cores: int
    times: int

    def __str__(self) -> str:
        return self.master if self.times == 1 else f"{self.master} with {self.times} times the rows"


@dataclass(frozen=True, slots=True)
class Measured:
    """A day that was executed; ``day`` is None if it failed."""

    worker: Worker
    deliveries: int
    query: str
    rows: tuple[Row, ...]
    day: Day | None

    @staticmethod
    def of(worker: Worker, deliveries: int, query: str, rows: Sequence[Row]) -> Measured:
        """The rows of one query under the same conditions as a day."""
        return Measured(worker, deliveries, query, tuple(rows), next(iter(days_of(rows)), None))

    @property
    def executors_s(self) -> float:
        """CPU seconds of executors over all runs of the day."""
        return sum(row.executor_s for row in self.day.runs) if self.day else 0.0

    @property
    def wall_s(self) -> float:
        """Seconds that its runs took, without planning them."""
        return sum(row.wall_s for row in self.day.runs) if self.day else 0.0

    @property
    def planning_s(self) -> float:
        """Seconds that planning a run took, the mean."""
        runs = self.day.runs if self.day else ()
        return sum(row.plan_ms for row in runs) / 1000 / max(1, len(runs))


Found = Sequence[Measured]


def by_deliveries(found: Found) -> dict[str, dict[int, Measured]]:
    """The days on two local cores, by query and deliveries."""
    by_query: dict[str, dict[int, Measured]] = {}
    for one in found:
        if one.day and (one.worker.master, one.worker.times) == ("local[2]", 1):
            by_query.setdefault(one.query, {})[one.deliveries] = one
    return by_query


def by_worker(found: Found, deliveries: int) -> dict[str, dict[Worker, Measured]]:
    """The days of so many deliveries, by query and master."""
    by_query: dict[str, dict[Worker, Measured]] = {}
    for one in found:
        if one.day and one.deliveries == deliveries:
            by_query.setdefault(one.query, {})[one.worker] = one
    return by_query


def lines_of(found: Found) -> Iterator[Line]:
    """For each query, how many rows a CPU second takes in by the number of deliveries, over that of
    one delivery."""
    for query, days in by_deliveries(found).items():
        if 1 in days:
            one = days[1].executors_s
            yield Line(query, [(n, one / days[n].executors_s) for n in sorted(days)])


def section(found: Found, wanted: int, rows: Mapping[str, int], machine: str) -> list[str]:
    """The figures as lines of the page. ``wanted``: how many days there should be; ``rows``: that
    come during a day, by query."""
    if not found:
        return ["Not run yet."]
    out = [_head(found, machine), ""]
    if len(found) < wanted:
        out += [f"**Unfinished: {len(found)} of {wanted} days were run; where a figure, a query or"]
        out += ["a number of deliveries is missing, the day was not run.**", ""]
    out += ["### Deliveries a day", "", *_deliveries(by_deliveries(found), rows), ""]
    out += ["### Workers", "", *_workers(found), "", *_trouble(found)]
    return [*out, "All rows are in [scale.csv](scale.csv)."]


def _head(found: Found, machine: str) -> str:
    every = [row for one in found for row in one.rows]
    dates = sorted({row.at[:10] for row in every})
    scale = min(float(row.scale) for row in every)
    return (
        f"{machine}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {every[0].suite} at "
        f"scale {scale:g}, {every[0].points.partition(', ')[2]} for shuffles and buckets, code "
        f"{every[0].code}. A result after every delivery, all at one price, by `auto`, in a Spark "
        "session that is there already."
    )


def _deliveries(
    by_query: Mapping[str, Mapping[int, Measured]], rows: Mapping[str, int]
) -> Iterator[str]:
    counts = sorted({count for days in by_query.values() for count in days})
    if not counts:
        yield "Not run."
        return
    yield "![Throughput by deliveries a day](scale.svg)"
    yield ""
    yield "Thousands of rows that came for each CPU second of executors, by deliveries a day; in"
    yield "the last columns how many times that is for the fewest deliveries as for the most,"
    yield "seconds of planning for each of the most, and thousands of rows for each second of the"
    yield "clock then."
    yield ""
    head = ["query", "rows a day", *map(str, counts), "fewest / most", "planning", "by the clock"]
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    for query, days in by_query.items():
        arrived = rows[query] / 1000
        cells = [f"{arrived / days[n].executors_s:,.0f}" if n in days else "" for n in counts]
        few, many = days[min(days)], days[max(days)]
        cells += [f"{many.executors_s / few.executors_s:.1f}", f"{many.planning_s:.2f} s"]
        cells.append(f"{arrived / many.wall_s:,.0f}")
        yield f"| {query} | {rows[query]:,} | {' | '.join(cells)} |"


def _workers(found: Found) -> Iterator[str]:
    shared = {one.deliveries for one in found if one.worker.master != "local[2]"}
    if not shared:
        yield "Not run."
        return
    by_query = by_worker(found, max(shared))
    workers = list(dict.fromkeys(w for days in by_query.values() for w in days))
    yield f"Days of {max(shared)} deliveries: seconds of the clock of all runs / of batch, in"
    yield "brackets CPU seconds of executors. *Strong*: one core over two, same rows, 2 at best."
    yield "*Weak*: one core over two with twice the rows, 1 at best."
    yield ""
    head = ["query", *map(str, workers), "strong, local", "weak, local", "strong, standalone"]
    head.append("weak, standalone")
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    for query, days in by_query.items():
        cells = [_clock(days.get(worker)) for worker in workers]
        for kind in ("local", "standalone"):
            one = days.get(Worker(f"{kind}[1]", 1, 1))
            cells += [_over(one, days.get(Worker(f"{kind}[2]", 2, times))) for times in (1, 2)]
        yield f"| {query} | {' | '.join(cells)} |"


def _clock(one: Measured | None) -> str:
    if one is None or one.day is None:
        return ""
    return f"{one.wall_s:.1f} / {one.day.batch.wall_s:.1f} ({one.executors_s:.1f})"


def _over(one: Measured | None, other: Measured | None) -> str:
    return f"{one.wall_s / other.wall_s:.2f}" if one and other else ""


def _trouble(found: Found) -> list[str]:
    """Days that ended otherwise than they should."""
    rows = [(one, row) for one in found for row in one.rows]
    out = [
        f"- {one.query}, {one.deliveries} deliveries on {one.worker} {how}: {row.error}"
        for one, row in rows
        for how in [_wrong(row)]
        if how
    ]
    return [*(out or ["Every day that was run gave the rows of batch."]), ""]


def _wrong(row: Row) -> str:
    if row.run == FAILED:
        return "failed"
    return "is not equal" if row.run == BATCH and not row.equal else ""
