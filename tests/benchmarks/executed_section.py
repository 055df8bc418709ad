"""The page's section of an executed suite: what its days cost, the sums, and the estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.figures import (
    Day,
    Estimates,
    Measure,
    Sums,
    days_of,
    estimated,
    executor,
    process,
    state_share,
)
from tests.benchmarks.results import WITHOUT_FIGURES, Conditions, Row

_COLUMNS = (
    "query", "by", "runs", "batch", "own batch", "weighted", "final", "own batch / batch",
    "processes", "batch", "own batch", "weighted", "kept",
)  # fmt: skip
MEASURES: tuple[tuple[str, Measure], ...] = (("executors", executor), ("processes", process))


def section(
    name: str,
    conditions: Conditions,
    rows: Sequence[Row],
    queries: Sequence[str],
    machine: str,
    prices: Sequence[str] = (),
) -> list[str]:
    """The figures of these rows as lines of the page. ``name`` is that of the plot and of the rows
    beside it; ``queries``: all that the suite has; ``prices``: what is said of how they fit."""
    days = days_of(rows)
    out = [_head(conditions, rows, machine), ""]
    if len(days) < len(queries):
        out += [f"**Unfinished: {len(days)} of {len(queries)} queries have figures.**", ""]
    if not days:
        return [*out, *_trouble(rows, days)]
    out += [f"![weighted CPU of days over batch, by query]({name}.svg)", ""]
    out += [*_sums(days), "", *_estimates(days), ""]
    out += [*prices, ""] if prices else []
    out += _trouble(rows, days)
    out += [
        "CPU seconds of executors, then of whole processes; runs that were not opened are 0.",
        "*Own batch* is batch in stages of our own. All rows are in",
        f"[{name}.csv]({name}.csv).",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        "| --- " * len(_COLUMNS) + "|",
    ]
    return [*out, *map(_line, days)]


def _head(conditions: Conditions, rows: Sequence[Row], machine: str) -> str:
    dates = sorted({row.at[:10] for row in rows})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "never"
    return (
        f"{machine}, {when}, scale {conditions.scale}, {conditions.master}, memory "
        f"{conditions.memory}; arrived@weight {conditions.points}; code {conditions.code}."
    )


def _sums(days: Sequence[Day]) -> Iterator[str]:
    early = [day for day in days if any(process(run) for run in day.runs[:-1])]
    yield f"Sums over {len(days)} queries, as ratios to batch; {len(early)} of them work early:"
    yield ""
    yield (
        "| CPU of | weighted | weighted, of those that work early | final runs | own batch "
        "| weighted over own batch | above 1.0 | of these work early | final above 1.0 |"
    )
    yield "| --- " * 9 + "|"
    names = {day.query for day in early}
    for name, measure in MEASURES:
        sums = Sums.of(days, measure)
        some = f"{Sums.of(early, measure).weighted:.3f}" if early else ""
        yield (
            f"| {name} | {sums.weighted:.3f} | {some} | {sums.final:.3f} | {sums.own:.3f} | "
            f"{sums.weighted / sums.own:.3f} | {_listed(sums.above)} | "
            f"{_listed([query for query in sums.above if query in names])} | "
            f"{_listed(sums.final_above)} |"
        )


def _listed(queries: Sequence[str]) -> str:
    return f"{len(queries)}: {', '.join(queries)}" if queries else "0"


def _estimates(days: Sequence[Day]) -> Iterator[str]:
    yield "Estimated cost of applications against what they took, after one fitted factor:"
    yield ""
    yield "| CPU of | applications | rank correlation | factor | median error |"
    yield "| --- " * 5 + "|"
    for name, measure in MEASURES:
        found = Estimates.of(list(estimated(days, measure)))
        yield (
            f"| {name} | {found.runs} | {found.rank_correlation:.2f} | {found.factor:.2f} | "
            f"{found.median_error:.0%} |"
        )
    share = state_share(days)
    if share is not None:
        yield ""
        yield f"What a day keeps over what batch reads: {share:.1%} of the bytes (median)."


def _trouble(rows: Sequence[Row], days: Sequence[Day]) -> list[str]:
    """Days that ended otherwise than they should."""
    out = [f"- {row.query} {row.run}: {row.error}" for row in rows if row.run in WITHOUT_FIGURES]
    for day in days:
        if not day.batch.equal:
            gaps = day.batch.not_covered
            why = f", where the engine's own text is wrong ({gaps})" if gaps else ""
            out.append(f"- {day.query} is not equal{why}: {day.batch.error}")
    return [*out, ""] if out else []


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 1 or not value else f"{value:.2f}"


def _line(day: Day) -> str:
    kept = f"{day.kept / 1e6:,.0f} MB" if day.kept else ""
    cells = [day.query, day.decided]
    for _, measure in MEASURES:
        cells.append(", ".join(_seconds(measure(row)) for row in day.runs))
        cells += [_seconds(measure(day.batch)), _seconds(measure(day.own))]
        cells.append(f"{day.ratio(measure):.3f}")
        if measure is executor:
            cells += [f"{day.final_ratio(measure):.3f}", f"{day.own_ratio(measure):.3f}"]
    return f"| {' | '.join([*cells, kept])} |"
