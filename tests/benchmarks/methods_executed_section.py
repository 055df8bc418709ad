"""The page's section of executed methods: what auto and each method cost over the arrival patterns,
what they keep, and the day of three runs as the paper looks at it."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from forerun.planner.request import Method
from tests.benchmarks.days import Arrivals
from tests.benchmarks.executed_section import MEASURES
from tests.benchmarks.figures import Day, Measure, Sums, days_of, executor, process
from tests.benchmarks.line_plot import Line
from tests.benchmarks.plot import Bars
from tests.benchmarks.results import BATCH, FAILED, Row

DAY = "day"
"""The arrivals at 14:00, 19:00 and 24:00."""
LEVEL = 0.03
"""So far from one another two executions of the same are still level, as a share."""
WORKLOADS: Mapping[str, tuple[int, int, int]] = {"W-A": (107, 84, 83), "W-B": (197, 213, 144)}
"""Queries without a join, with one, and with more: table 1 of the paper."""

Found = Mapping[Arrivals, Sequence[Row]]


def label(arrivals: Arrivals) -> str:
    """A pattern with the price of its early run; the day of three runs by its name."""
    return DAY if arrivals.name == DAY else f"{arrivals.name} {arrivals.points[0].weight:g}"


def by_method(rows: Sequence[Row], method: Method) -> dict[str, Day]:
    """The days by one method that ended, by query."""
    return {day.query: day for day in days_of(row for row in rows if row.method == method)}


def best_single(
    rows: Sequence[Row], methods: Sequence[Method], query: str
) -> tuple[Method, Day] | None:
    """The method that was cheapest alone, by executors, and its day."""
    alone = [(m, day) for m in methods if m != "auto" for day in [by_method(rows, m).get(query)]]
    there = [(method, day) for method, day in alone if day is not None]
    return min(there, key=lambda one: one[1].weighted(executor), default=None)


def section(
    found: Found,
    queries: Sequence[str],
    methods: Sequence[Method],
    joins: Mapping[str, int],
    machine: str,
) -> list[str]:
    """The figures as lines of the page. ``queries``: all that there are; ``joins``: how many joins
    each of them has."""
    rows = [row for some in found.values() for row in some]
    if not rows:
        return ["Not run yet."]
    patterns = {a: some for a, some in found.items() if a.name != DAY}
    out = [_head(rows, machine), "", *_unfinished(found, queries, methods)]
    out += ["![Days by auto over batch, by pattern and price](methods-executed.svg)", ""]
    out += [*_by_scenario(patterns, methods), "", *_by_query(patterns, queries, methods)]
    out += ["", *_trouble(rows)]
    for arrivals, some in found.items():
        if arrivals.name == DAY and by_method(some, "auto"):
            out += _day_of_three(arrivals, list(by_method(some, "auto").values()), joins)
    return [*out, "All rows are in [methods-executed.csv](methods-executed.csv)."]


def _head(rows: Sequence[Row], machine: str) -> str:
    dates = sorted({row.at[:10] for row in rows})
    when, one = " to ".join(dict.fromkeys((dates[0], dates[-1]))), rows[0]
    return (
        f"{machine}, {when}, {one.suite} at scale {one.scale}, Spark {one.master} with "
        f"{one.memory}, one session for all days of a query; code {one.code}. CPU seconds of "
        "executors, and of the session's processes while its runs go on: no application is "
        "started, and planning is not counted."
    )


def _unfinished(found: Found, queries: Sequence[str], methods: Sequence[Method]) -> Iterator[str]:
    wanted = sum(len(queries) * (1 if a.name == DAY else len(methods)) for a in found)
    there = {(a, row.query, row.method) for a, rows in found.items() for row in rows}
    if len(there) < wanted:
        yield f"**Unfinished: {len(there)} of {wanted} days were run. Queries by arrivals:**"
        yield ""
        for arrivals in found:
            ran = sorted({query for a, query, _ in there if a == arrivals})
            yield f"- {label(arrivals)}: {', '.join(ran) or 'not run'}"
        yield ""


def _by_scenario(patterns: Found, methods: Sequence[Method]) -> Iterator[str]:
    yield "Sums over the queries that a method applies to, as ratios to batch (the user's own text"
    yield "over the same deliveries). *Auto there*: `auto` over the same queries. *Cheapest*: of"
    yield f"how many queries the method is, within {LEVEL:.0%}, no dearer than any other."
    yield ""
    columns = (
        "arrivals, price", "method", "queries", "weighted, executors", "processes",
        "auto there, executors", "final runs, executors", "own batch, executors", "kept",
        "cheapest",
    )  # fmt: skip
    yield f"| {' | '.join(columns)} |"
    yield "| --- " * len(columns) + "|"
    for arrivals, rows in patterns.items():
        of = {method: by_method(rows, method) for method in methods}
        for method, days in of.items():
            if days:
                yield _scenario_line(label(arrivals), method, days, of)


def _scenario_line(
    name: str, method: Method, days: Mapping[str, Day], of: Mapping[Method, Mapping[str, Day]]
) -> str:
    some = list(days.values())
    by_executors, by_processes = Sums.of(some, executor), Sums.of(some, process)
    auto = [of["auto"][query] for query in days if query in of["auto"]]
    cheapest = sum(
        day.weighted(executor)
        <= (1 + LEVEL) * min(d[query].weighted(executor) for d in of.values() if query in d)
        for query, day in days.items()
    )
    cells = (
        name, method, f"{len(some)}", f"{by_executors.weighted:.3f}",
        f"{by_processes.weighted:.3f}", f"{Sums.of(auto, executor).weighted:.3f}" if auto else "",
        f"{by_executors.final:.3f}", f"{by_executors.own:.3f}",
        f"{sum(day.kept for day in some) / 1e6:,.1f} MB", f"{cheapest}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _by_query(patterns: Found, queries: Sequence[str], methods: Sequence[Method]) -> Iterator[str]:
    yield "Each query: `auto` over batch by executors, then the cheapest method alone over batch;"
    yield "in brackets what each keeps. Above 1 is a loss."
    yield ""
    yield f"| query | {' | '.join(map(label, patterns))} |"
    yield "| --- " * (1 + len(patterns)) + "|"
    for query in queries:
        cells = [_cell(rows, query, methods) for rows in patterns.values()]
        if any(cells):
            yield f"| {query} | {' | '.join(cells)} |"


def _cell(rows: Sequence[Row], query: str, methods: Sequence[Method]) -> str:
    auto, best = by_method(rows, "auto").get(query), best_single(rows, methods, query)
    told = [("auto", auto)] if auto else []
    told += [best] if best else []
    return ", ".join(
        f"{name} {day.ratio(executor):.2f} ({day.kept / 1e6:.1f} MB)" for name, day in told
    )


def _trouble(rows: Sequence[Row]) -> list[str]:
    """Days that ended otherwise than they should."""
    out = [
        f"- {row.query}, {row.points}, {row.method} failed: {row.error}"
        for row in rows
        if row.run == FAILED
    ]
    unequal = (row for row in rows if row.run == BATCH and not row.equal)
    out += [
        f"- {row.query}, {row.points}, {row.method} is not equal: {row.error}" for row in unequal
    ]
    return [*(out or ["Every day that was run gave the rows of batch."]), ""]


# -- the day of three runs -------------------------------------------------------------------------


def _day_of_three(
    arrivals: Arrivals, days: Sequence[Day], joins: Mapping[str, int]
) -> Iterator[str]:
    yield f"The day of Tempura 8.3, at 14:00, 19:00 and 24:00, by `auto`: {len(days)} queries."
    yield ""
    yield "![Queries by their CPU over batch](methods-executed-day.svg)"
    yield ""
    runs = " | ".join(f"at {point.arrived:.0%}" for point in arrivals.points)
    yield f"| CPU seconds of | {runs} | weighted | batch | saved | overhead unweighted |"
    yield "| --- " * (5 + len(arrivals.points)) + "|"
    for name, measure in MEASURES:
        parts = [sum(measure(day.runs[i]) for day in days) for i in range(len(arrivals.points))]
        batch = sum(day.batch_cost(measure) for day in days)
        weighted = sum(day.weighted(measure) for day in days)
        taken = " | ".join(f"{part:.1f}" for part in parts)
        yield (
            f"| {name} | {taken} | {weighted:.1f} | {batch:.1f} | {1 - weighted / batch:.1%} | "
            f"{sum(parts) / batch - 1:.1%} |"
        )
    yield ""
    yield from _as_the_paper_counts(days)
    yield from _as_in_workloads(days, joins)


def _as_the_paper_counts(days: Sequence[Day]) -> Iterator[str]:
    ratios = [day.ratio(executor) for day in days]
    finals = [day.final_ratio(executor) for day in days]
    yield "| by executors | below batch | by more than 25% | by more than 35% | above by over 50% |"
    yield "| --- | --- | --- | --- | --- |"
    for name, some in (("weighted", ratios), ("at 24:00 alone", finals)):
        shares = [sum(r < b for r in some) / len(some) for b in (1.0, 0.75, 0.65)]
        shares.append(sum(r > 1.5 for r in some) / len(some))
        yield f"| {name} | {' | '.join(f'{share:.0%}' for share in shares)} |"
    yield ""


def _as_in_workloads(days: Sequence[Day], joins: Mapping[str, int]) -> Iterator[str]:
    """The mean ratios of queries without a join, with one and with more, each counted as often as
    the paper's workloads have such queries."""
    kinds = [[day for day in days if min(joins[day.query], 2) == many] for many in range(3)]
    if not all(kinds):
        yield "The mixes of W-A and W-B need queries without a join, with one, and with more."
        yield ""
        return
    yield "W-A and W-B are not public; these are TPC-H's queries, counted by their joins as often"
    yield "as there (table 1 of the paper), each query alike whatever it costs:"
    yield ""
    yield "| mix | no join, one, more | weighted over batch, executors | at 24:00 over batch |"
    yield "| --- | --- | --- | --- |"
    for name, counts in WORKLOADS.items():
        weighted = _mixed(kinds, counts, _weighted_ratio)
        final = _mixed(kinds, counts, _final_ratio)
        share = ", ".join(f"{count / sum(counts):.0%}" for count in counts)
        yield f"| {name} | {share} | {weighted:.3f} | {final:.3f} |"
    yield ""


def _mixed(
    kinds: Sequence[Sequence[Day]], counts: Sequence[int], ratio: Callable[[Day], float]
) -> float:
    """The mean ratio of each kind of query, weighted with how many of them there are."""
    means = (statistics.fmean(map(ratio, kind)) for kind in kinds)
    return sum(map(operator.mul, means, counts)) / sum(counts)


def _weighted_ratio(day: Day) -> float:
    return day.ratio(executor)


def _final_ratio(day: Day) -> float:
    return day.final_ratio(executor)


# -- plots -----------------------------------------------------------------------------------------


def scenario_bars(found: Found, methods: Sequence[Method]) -> Iterator[Bars]:
    """For each pattern and price, days by auto in sum; the mark is what the best single method of
    each of these queries takes."""
    for arrivals, rows in found.items():
        auto = by_method(rows, "auto")
        best = {query: best_single(rows, methods, query) for query in auto}
        both = [(auto[query], one[1]) for query, one in best.items() if one is not None]
        if both and arrivals.name != DAY:
            days = [day for day, _ in both]
            yield Bars(
                label(arrivals), _sum(days, executor), _sum(days, process),
                _sum([day for _, day in both], executor),
            )  # fmt: skip


def _sum(days: Sequence[Day], measure: Measure) -> float:
    return Sums.of(days, measure).weighted


def curves(found: Found) -> Iterator[Line]:
    """Of the day of three runs, the share of queries up to each ratio to batch."""
    for arrivals, rows in found.items():
        days = list(by_method(rows, "auto").values())
        if arrivals.name == DAY and days:
            for name, ratio in (("weighted", _weighted_ratio), ("at 24:00", _final_ratio)):
                at = sorted(map(ratio, days))
                yield Line(name, [(r, (i + 1) / len(at)) for i, r in enumerate(at)])
