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
import time
from collections.abc import Iterator
from functools import partial

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
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.page import SAMPLES_PAGE
from tests.benchmarks.suites import TPCH_GROWING as SUITE

TRUE = 100_000
"""Rows of a source whose share counts as the true one."""


def guessed_filters(sql: str, tables: dict[str, Table]) -> Figures:
    """By what factor the guess and the sample of each filter that would be guessed are wrong, and
    how many seconds it took to draw all samples of the query."""
    sources = with_statistics(tables, SUITE.changing)
    filtered = filtered_sources(sql, sources)

    def sampled(rows: int | None) -> tuple[Source, ...]:
        drawable = {name: Drawable(table.footers, rows) for name, table in tables.items()}
        return with_samples(sources, drawable, filtered)

    if not any(one.guessed for one in filtered.values()):
        return {"filters": []}
    started = time.perf_counter()
    by_default = sampled(None)
    drawing_s = time.perf_counter() - started
    estimators = [Estimator(given) for given in (sources, by_default, sampled(TRUE))]
    read = read_query(sql, sources)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for node in walk(normalize(read.relation, sources, ColumnIds(read.last_id))):
        if isinstance(node, Filter) and isinstance(node.input, Scan) and is_guessed(node.predicate):
            guess, sample, true = (one.rows(node) / one.rows(node.input) for one in estimators)
            what = (node.input.source, str(node.predicate))
            found.setdefault(what, (_wrong(guess, true), _wrong(sample, true)))
    return {"filters": list(found.values()), "drawing_s": drawing_s}


def _wrong(estimate: float, true: float) -> float:
    return max(estimate / true, true / estimate)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query."""

    def measure(sql: str, _found: Found) -> Figures:
        return guessed_filters(sql, find_tables(SUITE.generate(given.scale)))

    for query, sql in SUITE.texts().items():
        under = f"{SUITE.title} at scale {given.scale:g}"
        yield Cell(name=(query,), under=under, measure=partial(measure, sql))


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield by what factor guesses and samples are wrong."""
    drawing = [one["drawing_s"] for one in found.values() if one["filters"]]
    pairs = [pair for one in found.values() for pair in one["filters"]]
    median = statistics.median
    yield f"{len(pairs)} filters of {len(drawing)} queries would be guessed. Against the shares in"
    yield f"{TRUE:,} rows, wrong by a factor of:"
    yield ""
    names = ("fixed guesses", f"samples of {BY_DEFAULT:,} rows")
    wrong = [(name, [pair[i] for pair in pairs]) for i, name in enumerate(names)]
    rows = ((by, f"{median(one):.2f}", f"{max(one):.1f}") for by, one in wrong if one)
    yield from table(("", "median", "worst"), rows)
    if drawing:
        yield ""
        yield f"Drawing the samples of a query took {median(drawing):.2f} s in the median and"
        yield f"{max(drawing):.2f} s at most."


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-samples", page=SAMPLES_PAGE
)
