"""The prices that an engine charges for work on rows and bytes, in millionths of a CPU second.

The formulas of :mod:`forerun.planner.cost.operators` are over a set of prices, so that other
engines, and other ways to count, need no other formulas. What each price means, and where it comes
from, is in :mod:`forerun.planner.cost.constants`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from forerun.planner.cost import constants as c
from forerun.planner.cost.flaws import Flaw

WORK = (
    "scan_row",
    "scan_byte",
    "expression_row",
    "condition_row",
    "decimal_row",
    "narrow_decimal_row",
    "pattern_row",
    "aggregate_row",
    "group",
    "wide_group",
    "join_row",
    "probe_row",
    "build_row",
    "output_row",
    "exchange_row",
    "exchange_byte",
    "block",
    "write_row",
    "write_byte",
    "sort_row",
    "task",
    "file_write",
    "file_read",
)
"""The prices of rows, bytes and groups, and of the tasks and files of buckets."""

STARTS = ("run_start", "stage_start", "join_start", "member_start")
"""The prices of what is charged whatever the rows. All others are bounds and what an engine can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The defaults are those of Spark. Below ``broadcast_bytes`` a side of a join is broadcast, up
    to ``hash_side_bytes`` it is hashed rather than sorted; below ``counted_bytes`` it is broadcast
    if it was computed and counted before, which is done with ``counts_sides``. ``partial_tasks``:
    by how many tasks rows are grouped where they are, before they are moved; 0 if they never are.
    ``placed_unions``: rows that are in place in every branch are so in their union. In Spark a join
    shuffles a union of bucketed tables again. ``buckets``: rows that are kept by a key are in place
    for who wants them by it; without, nothing is kept by a key. ``run_start`` is what an
    application costs that does nothing, ``stage_start`` and ``join_start`` what a stage and a join
    cost over no rows. ``member_start`` is what a run costs in an application that is open for other
    reports, whose stages and joins start at ``warm`` times their price once it has done many.
    ``plans_by_files``: of what a query computes the engine knows no sizes before, only those of
    files; ``by_files``: joins are done by what it then knows
    (:mod:`forerun.planner.cost.told_sizes`). ``as_written``: tables are joined one at a time, as a
    text is written. ``spread``: rows are shuffled into as many partitions as the engine has by
    default, and not into as few as their bytes need: each task and partition more cost a ``block``.
    ``own_batch``: for batch in stages of our own these prices were seen to tell whether it is
    cheaper than the user's text.
    Arithmetic of DECIMALs costs ``decimal_row``, and sums of at most 8 digits
    ``narrow_decimal_row``; with ``exact_sums``, aggregates cost what they are computed as in stages
    of our own (:mod:`forerun.planner.exact.sums`). ``task``, ``file_write`` and ``file_read`` are
    charged for what is kept in many tasks and files, by a key or not. ``kept_byte`` is what a byte
    of it costs until it is deleted, beside being written. ``hashes_first``: a join
    hashes its first side if the engine cannot tell which is the smaller one, so that one is written
    first. ``beside``: by sources, bytes of each row that are read and not used. ``flaws``: what the
    engine does otherwise than Spark, if not told how to do it."""

    run_start: float = c.RUN_START
    stage_start: float = c.STAGE_START
    join_start: float = c.JOIN_START
    member_start: float = c.MEMBER_START
    warm: float = c.WARM
    scan_row: float = c.SCAN_ROW
    scan_byte: float = c.SCAN_BYTE
    expression_row: float = c.EXPRESSION_ROW
    condition_row: float = c.CONDITION_ROW
    decimal_row: float = c.DECIMAL_ROW
    narrow_decimal_row: float = c.NARROW_DECIMAL_ROW
    pattern_row: float = c.PATTERN_ROW
    aggregate_row: float = c.AGGREGATE_ROW
    group: float = c.GROUP
    wide_group: float = c.WIDE_GROUP
    join_row: float = c.JOIN_ROW
    probe_row: float = c.PROBE_ROW
    build_row: float = c.BUILD_ROW
    output_row: float = c.OUTPUT_ROW
    exchange_row: float = c.EXCHANGE_ROW
    exchange_byte: float = c.EXCHANGE_BYTE
    block: float = c.BLOCK
    write_row: float = c.WRITE_ROW
    write_byte: float = c.WRITE_BYTE
    sort_row: float = c.SORT_ROW
    task: float = c.TASK
    file_write: float = c.FILE_WRITE
    file_read: float = c.FILE_READ
    kept_byte: float = 0.0
    broadcast_bytes: float = c.BROADCAST_BYTES
    counted_bytes: float = c.COUNTED_BYTES
    hash_side_bytes: float = c.HASH_SIDE_BYTES
    partial_tasks: int = c.PARTIAL_TASKS
    placed_unions: bool = False
    buckets: bool = True
    plans_by_files: bool = True
    by_files: bool = False
    as_written: bool = False
    spread: bool = False
    own_batch: bool = True
    exact_sums: bool = False
    counts_sides: bool = False
    hashes_first: bool = False
    beside: tuple[tuple[str, float], ...] = ()
    flaws: frozenset[Flaw] = frozenset()

    def of(self, name: str) -> float:
        """Return one of the prices that :data:`WORK` and :data:`STARTS` name."""
        price: float = getattr(self, name)
        return price

    def with_prices(self, named: Mapping[str, float]) -> Prices:
        """Return the same with other prices of what :data:`WORK` and :data:`STARTS` name."""
        changes: dict[str, Any] = {name: named[name] for name in (*WORK, *STARTS) if name in named}
        return replace(self, **changes)

    def times(self, factor: float) -> Prices:
        """The prices of an engine that takes so many times the CPU for each row and byte."""
        return self.with_prices({name: factor * self.of(name) for name in WORK})

    def in_group(self) -> Prices:
        """The prices of a report whose runs take part in applications of a report group. What the
        applications themselves cost, :meth:`application`, is for the group to charge."""
        return replace(
            self,
            run_start=self.member_start,
            stage_start=self.warm * self.stage_start,
            join_start=self.warm * self.join_start,
        )

    def application(self, cold: Collection[float]) -> float:
        """Return the cost of an application beside what each of its reports is charged for taking
        part: itself, and what it takes to get warm. ``cold``: for each of the reports, what the
        starts of its stages and joins cost in an application of its own. The k-th report finds so
        much compiled that it pays 1 / k of that, whichever it is, besides what is never spared."""
        mean = sum(cold) / max(1, len(cold))
        harmonic = sum(1 / k for k in range(1, len(cold) + 1))
        return self.run_start - self.member_start + (1 - self.warm) * mean * harmonic

    def with_counted_sides(self) -> Prices:
        """The prices of joins whose small sides are computed and counted before their stage."""
        return replace(self, counts_sides=True)

    def from_sources(self) -> Prices:
        """The prices of what is computed from sources alone, of which the engine knows the sizes of
        files and no others."""
        return replace(self, by_files=self.plans_by_files)

    def of_text(self) -> Prices:
        """The prices of the user's own text, which the engine shuffles as it does by default."""
        own = self.plans_by_files
        return replace(self.from_sources(), as_written=own, spread=own or self.spread)

    def without_starts(self) -> Prices:
        """The prices of an engine whose stages and joins cost nothing over no rows."""
        return replace(self, stage_start=0.0, join_start=0.0)

    def with_exact_sums(self) -> Prices:
        """The prices of stages whose sums of DECIMALs are narrowed and factored."""
        return replace(self, exact_sums=True)


SPARK = Prices()
