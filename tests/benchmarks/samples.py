"""``make bench-samples``: filters that would be guessed, by the guess and by a sample.

The filters of TPC-H's queries that ``is_guessed`` names, each once per query. What counts as true
is the share in :data:`TRUE` rows of the same source, so a figure near 1 may be the truth's own
error. Wrong by a factor of two is 2, whichever way. Nothing is executed.

    python -m tests.benchmarks samples
    python -m tests.benchmarks samples --scale 1 --no-page
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forerun.include.sources.samples import BY_DEFAULT, Drawable, with_samples
from forerun.planner.algebra.relational import Filter, Scan, walk
from forerun.planner.request import Source
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sampling import filtered_sources
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.estimate import Estimator
from forerun.planner.stats.selectivity import is_guessed
from forerun.planner.tvr.signed import ColumnIds
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.days import generate_tpch, tpch_texts
from tests.benchmarks.page import SAMPLES_PAGE, write_section
from tests.benchmarks.planning import TPCH_CHANGING

TRUE = 100_000
"""Rows of a source whose share counts as the true one."""


@dataclass(frozen=True, slots=True)
class Guessed:
    """A filter that would be guessed: by what factor the guess and the sample are wrong, and how
    many seconds it took to draw all samples of the query."""

    query: str
    source: str
    guess: float
    sample: float
    drawing_s: float


def guessed_filters(query: str, sql: str, tables: dict[str, Table]) -> Iterator[Guessed]:
    """Yield the filters of a query that would be guessed, each once."""
    sources = with_statistics(tables, TPCH_CHANGING)
    filtered = filtered_sources(sql, sources)
    if not any(one.guessed for one in filtered.values()):
        return

    def sampled(rows: int | None) -> tuple[Source, ...]:
        drawable = {name: Drawable(table.footers, rows) for name, table in tables.items()}
        return with_samples(sources, drawable, filtered)

    started = time.perf_counter()
    by_default = sampled(None)
    drawing_s = time.perf_counter() - started
    estimators = [Estimator(given) for given in (sources, by_default, sampled(TRUE))]
    read = read_query(sql, sources)
    seen = set()
    for node in walk(normalize(read.relation, sources, ColumnIds(read.last_id))):
        if not (isinstance(node, Filter) and isinstance(node.input, Scan)):
            continue
        what = (node.input.source, str(node.predicate))
        if not is_guessed(node.predicate) or what in seen:
            continue
        seen.add(what)
        guess, sample, true = (one.rows(node) / one.rows(node.input) for one in estimators)
        yield Guessed(query, what[0], _wrong(guess, true), _wrong(sample, true), drawing_s)


def _wrong(estimate: float, true: float) -> float:
    return max(estimate / true, true / estimate)


def section(found: Sequence[Guessed], scale: float) -> list[str]:
    """The figures for the page."""
    drawing = {one.query: one.drawing_s for one in found}
    wrong = {
        "fixed guesses": [one.guess for one in found],
        f"samples of {BY_DEFAULT:,} rows": [one.sample for one in found],
    }
    median = statistics.median
    return [
        f"TPC-H at scale {scale:g}: {len(found)} filters of {len(drawing)} queries would be",
        f"guessed. Against the shares in {TRUE:,} rows, wrong by a factor of:",
        "",
        "| | median | worst |",
        "| --- | ---: | ---: |",
        *(f"| {by} | {median(one):.2f} | {max(one):.1f} |" for by, one in wrong.items()),
        "",
        f"Drawing the samples of a query took {median(drawing.values()):.2f} s in the median and",
        f"{max(drawing.values()):.2f} s at most.",
    ]


def main(given: argparse.Namespace) -> int:
    tables, found = find_tables(generate_tpch(given.scale)), []
    for query, sql in tpch_texts().items():
        for one in guessed_filters(query, sql, tables):
            found.append(one)
            print(
                f"{one.query} {one.source}: guess {one.guess:.2f}, sample {one.sample:.2f}",
                file=sys.stderr,
            )
    lines = section(found, given.scale)
    print("\n".join(lines))
    if not given.no_page:
        write_section("bench-samples", lines, SAMPLES_PAGE)
    return 0
