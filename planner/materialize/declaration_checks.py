"""The cost of checking the declarations that a plan depends on.

Where a rewrite of the query depends on a declared NOT NULL, each run counts the NULLs of these
columns in what has come since its base run, before it computes anything. Batch is the user's own
text and depends on no such declaration.

Whatever the plan, where a delivery of a changelog takes rows back, the run looks them up in all
that has come of the source, by a hash, and adds up those that are alike; unless they are those of
whole files that were read before.
"""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.request import PlanRequest, Source
from forerun.planner.temporal.as_of import Span


class DeclarationChecks:
    """Estimates the checks of a plan that relies on these (source, column) pairs."""

    def __init__(self, request: PlanRequest, relied: frozenset[tuple[str, str]]) -> None:
        self._points = request.points
        self._prices_of = request.prices_of
        self._changelogs = tuple(
            source
            for source in request.sources
            if source.change == "changelog" and source.retracted and not source.proven
        )
        self._checked = tuple(
            (source, width) for source in request.sources if (width := _width(source, relied))
        )

    def cost(self, span: Span, *, batch: bool) -> int:
        """Return what the run that ends a step checks, in millionths of a CPU second."""
        cost = sum(self._looked_up(source, span) for source in self._changelogs)
        if not batch:
            read = (Size(self._came(source, span), width) for source, width in self._checked)
            cost += sum(operators.read(size, self._prices_of(span.run)) for size in read)
        return round(cost)

    def _looked_up(self, source: Source, span: Span) -> float:
        """Return what looking up the rows that are taken back costs; nothing if nothing has come.
        Each of them is alike to one that came before."""
        whole, prices = self._whole(source, span), self._prices_of(span.run)
        alike = replace(whole, rows=min(whole.rows, 2 * source.retracted * source.rows))
        hashed = whole.rows * len(source.columns) * prices.expression_row
        moved = operators.exchange(alike, prices) + operators.group(alike.rows, alike.rows, prices)
        return operators.read(whole, prices) + hashed + moved

    def _whole(self, source: Source, span: Span) -> Size:
        """Return what a lookup reads of a changelog; nothing if nothing has come."""
        rows = source.rows * self._arrived(source, span.run) if self._came(source, span) else 0.0
        return Size(rows, source.bytes / max(1, source.rows))

    def _came(self, source: Source, span: Span) -> float:
        return source.rows * (self._arrived(source, span.run) - self._arrived(source, span.base))

    def _arrived(self, source: Source, run: int) -> float:
        if not run:
            return 0.0
        return self._points[run - 1].fraction(source.name) if source.changing else 1.0


def _width(source: Source, relied: frozenset[tuple[str, str]]) -> float:
    """Return the mean bytes of the columns that are checked in a row."""
    known = dict(source.stats)
    return sum(
        (known[column.name].width if column.name in known else 0.0) or float(column.type.width)
        for column in source.columns
        if (source.name, column.name) in relied
    )
