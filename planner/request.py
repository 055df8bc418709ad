"""The planning request: the IQP problem (T, D, Q, cost) of Tempura section 2.1 as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

from forerun.planner.algebra.parts import Path
from forerun.planner.algebra.types import DataType
from forerun.planner.contract.plan_v1 import Family, ForeignKey, Parameter
from forerun.planner.cost.flaws import LEFT_OUT, Flaw
from forerun.planner.cost.prices import SPARK, Prices

Method = Literal["auto", "progressive", "batch", "im1", "im2", "ojv", "hov", "cv"]
"""How a day may be planned (:mod:`forerun.planner.rules.methods.catalog`)."""
Change = Literal["append_only", "changelog"]
"""What the deliveries of a source do: add rows, or also take rows back."""
ANSI = "spark.sql.ansi.enabled"
TIME_ZONE = "spark.sql.session.timeZone"
SampleValue = bool | Decimal | float | str | date | None
"""A value of a sampled row: whole numbers are decimals, timestamps have no zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """The statistics of a column: from Parquet footers, sketches or earlier runs.

    ``minimum`` and ``maximum`` are Spark's text of the value; ``nulls`` is a fraction of the rows;
    ``distinct`` an estimate, 0 when not known; ``width`` the mean bytes of a value. ``parts`` are
    the leaves of a nested column by their paths (:mod:`forerun.planner.algebra.parts`), each with
    ``entries``, the mean number of its values in a row, and ``nulls`` as a fraction of these: an
    array with nothing in it has one entry, which is NULL.
    """

    minimum: str | None = None
    maximum: str | None = None
    nulls: float = 0.0
    distinct: float = 0.0
    width: float = 0.0
    entries: float = 1.0
    parts: tuple[tuple[Path, ColumnStats], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceForeignKey:
    """A foreign key of a source, which a run verifies if it relies on it. ``overlap`` says what
    that costs: the share of the source's rows that lie in files in which the keys of a file of the
    parent may occur, by the bounds of both; where keys ascend as they arrive, it is small."""

    key: ForeignKey
    overlap: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of the query. ``rows`` and ``bytes`` are of the whole day (forecast or known).

    ``changing``: it grows during the day; otherwise it is whole at run 1. ``change``: rows only
    come (``append_only``), or deliveries take rows back, too (``changelog``): then the view of a
    delivery has a column ``__w``, and a row that is updated is taken back and comes anew.
    ``retracted``: how many rows are taken back during the day, as a share of ``rows``; where it is
    ``proven`` that they are there, as of files that were read before, no run looks them up.
    ``keys``: sets of columns of which the author or the catalog says that they are unique.
    ``foreign_keys``: of which the author says that a row's parent comes with it or before it.
    ``sample``: rows drawn at random, column by column; of no column or of some, all of one length.
    ``sample_blocks``: how many of them, one after the other, were drawn from the same part of the
    source, where rows may be alike; empty if each was drawn by itself.
    ``ordered_by``: the column in whose order the author says that rows come, if any.
    ``panes``: of how many panes its rows are, as of days of a rolling range, where it was verified
    that rows are taken back with all others of their pane; else 0. ``beside``: bytes of a row that
    the user's own text reads of nested columns beside what stages of our own do.
    """

    name: str
    columns: tuple[SourceColumn, ...]
    changing: bool = False
    change: Change = "append_only"
    retracted: float = 0.0
    proven: bool = False
    rows: int = 1000
    bytes: int = 0
    keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[SourceForeignKey, ...] = ()
    stats: tuple[tuple[str, ColumnStats], ...] = ()
    sample: tuple[tuple[str, tuple[SampleValue, ...]], ...] = ()
    sample_blocks: tuple[int, ...] = ()
    ordered_by: str = ""
    panes: int = 0
    beside: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePoint:
    """A run: its weight (the price of compute then) and the fraction of each changing source that
    has arrived, by name; ``arrived`` is for the sources that are not named."""

    weight: float
    arrived: float = 1.0
    by_source: tuple[tuple[str, float], ...] = ()

    def fraction(self, source: str) -> float:
        return dict(self.by_source).get(source, self.arrived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """An earlier run of this day that is committed, and the families it holds partitions of;
    ``bytes``: of these partitions, as they were counted in the store. ``unchanged``: the growing
    sources of which nothing had come since the committed run before it. ``starts``: of the time
    point that stands for earlier days, the runs, as they are counted over these days, in which its
    families started."""

    index: int
    families: tuple[Family, ...]
    bytes: int = 0
    unchanged: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The sizes that runs of an earlier day, or of this one, wrote of a family: for each run, in
    order, how many rows of each source there were, by name, and how many rows its partition has."""

    fingerprint: str
    partitions: tuple[tuple[tuple[tuple[str, int], ...], int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every field changes plans.

    ``temporal`` ``early`` forces the choice, for tests and for people who want to see: whatever has
    a delta rule runs early in every run. ``buckets`` other than 0 fixes the bucket count of new
    families. ``tries`` is the budget of the search for what is kept: how
    many changes it looks at beside what plans use by themselves. ``explore`` is the budget of the
    search for other forms of the query: tries of rules and expressions that they make (TPC-DS and
    TPC-H need at most 4,700). ``rules_off`` are rules by name
    that are not used. ``state_budget``: the most bytes that may be kept between the runs of a day,
    by estimate; None for any. ``compare``: once so many ways have been evaluated, no further method
    is planned alone to compare it with all together. ``all_sets``: every set of runs that may be
    opened is searched, not only those of each size that look cheapest.
    ``exact_sums``: sums of DECIMALs are computed in the types that the bounds of files allow.
    ``small_sides``: the small side of a join with a large one is computed before the stage.
    ``own_batch``: where nothing is done early, stages of our own run in place of the user's text:
    by ``auto`` where that is clearly cheaper (``cost``), by ``auto`` and ``batch`` in any case
    (``always``: what rewriting saves without any early work), or nowhere (``never``).
    ``prices`` are what work costs, and what starting it does; ``early_prices`` are those of another
    engine, which does the early runs that give no result, None where one engine does all. Both then
    keep rows alike, by a key or not. ``allowed_functions``: functions that
    the deployment allows to reports although they are refused by default
    (:mod:`forerun.planner.algebra.spark_functions`). ``session``: the settings of the session that
    the report chooses; without ANSI mode, a report is computed by its own text alone.
    ``interruptions``: how often a run is ended from outside per CPU second that it takes, by which
    long ones have checkpoints (:mod:`forerun.planner.materialize.checkpoints`).
    """

    temporal: Literal["cost", "early"] = "cost"
    buckets: int = 0
    tries: int = 24
    explore: int = 12_000
    rules_off: tuple[str, ...] = ()
    state_budget: int | None = None
    compare: int = 100_000
    all_sets: bool = False
    exact_sums: bool = True
    small_sides: bool = True
    own_batch: Literal["cost", "always", "never"] = "cost"
    prices: Prices = SPARK
    early_prices: Prices | None = None
    allowed_functions: tuple[str, ...] = ()
    session: tuple[tuple[str, str], ...] = (
        (ANSI, "true"),
        (TIME_ZONE, "UTC"),
    )
    interruptions: float = 0.0

    @property
    def flaws(self) -> frozenset[Flaw]:
        """Return what the engines of a day do otherwise than Spark."""
        early = frozenset[Flaw]() if self.early_prices is None else self.early_prices.flaws
        return self.prices.flaws | early

    @property
    def left_out(self) -> frozenset[str]:
        """Return the names of the rules that are not used: those that are switched off, and those
        whose results an engine of the day does not compute."""
        return frozenset(self.rules_off).union(
            LEFT_OUT[flaw] for flaw in self.flaws if flaw in LEFT_OUT
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The runs at which the result is wanted, and the objective by which plans are compared
    (Tempura 2.1 and 6.2).

    ``results_at``: the early runs that give the result over what has arrived by then; the final run
    always gives it. ``objective``: ``weighted-sum`` of what the runs cost, or ``last-run-first``:
    the cost of the last run decides, among equals that of the run before, and so on.
    The default is the paper's PDW, a progressive data warehouse; for its IVM see :func:`ivm`.
    """

    results_at: tuple[int, ...] = ()
    objective: str = "weighted-sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Days that a query is planned for at once: how many, and the names of the sources that have
    other rows on each of them."""

    count: int
    daily: tuple[str, ...]


PDW = Problem()


def ivm(runs: int) -> Problem:
    """Incremental view maintenance: the result at every run, the last run as cheap as can be."""
    return Problem(results_at=tuple(range(1, runs + 1)), objective="last-run-first")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Plan run ``current`` (1-based) of a day with these time points.

    ``committed`` is the chain of committed runs before ``current``, oldest first. ``method``:
    ``batch`` asks for one run at the end with the user's own text; ``progressive`` takes the given
    early runs as opened anyway and does not charge for opening them, and where nothing pays does
    what would if stages and joins had no starts; ``auto`` charges. The others (:data:`Method`) ask
    for the best plan that one method alone gives, whatever it repays. ``first_sources`` are the
    sources as they were forecast at the first committed run: joins keep the order they had then, so
    that what is kept still fits the query. ``unchanged``: the growing sources of which nothing has
    come since the last committed run, as their pins say. ``observed``: what is known of the size of
    families; it beats estimates, and of two of one family the later one counts. ``parameters``: the
    named parameters of the text with their values for this day. ``may_open``: the only early runs
    that may do anything, because a report group opens an application at no others; None for all.
    ``open_sets``: the only sets of early runs that may be opened, where many times are candidates
    (:mod:`forerun.planner.schedule.choose`); None for any. ``batch_because``: why ``auto`` has to
    be batch, in words for people; empty if the cost decides. Other methods do not look at it.
    ``days``: the query is planned for all of these days at once, in stages of our own; the sources
    are then as they are over all days, and the result has the number of the day as its last column
    (:mod:`forerun.planner.lifting`). ``repairable``: the day may be repaired, so states are kept in
    the form from which rows can be taken back, where there is one, also of sources whose rows only
    come. ``runs_before``: how many runs the earlier days had from which this one inherits what they
    have kept (:mod:`forerun.include.runs.inheriting`). The first time point, which is committed,
    then stands for all of them, and what is kept counts runs on over the days; 0 for none.
    """

    report: str
    sql: str
    sources: tuple[Source, ...]
    points: tuple[TimePoint, ...]
    current: int = 1
    committed: tuple[Committed, ...] = ()
    first_sources: tuple[Source, ...] = ()
    unchanged: tuple[str, ...] = ()
    observed: tuple[Observed, ...] = ()
    method: Method = "auto"
    problem: Problem = PDW
    parameters: tuple[Parameter, ...] = ()
    settings: Settings = field(default_factory=Settings)
    may_open: tuple[int, ...] | None = None
    open_sets: tuple[tuple[int, ...], ...] | None = None
    batch_because: str = ""
    days: Days | None = None
    repairable: bool = False
    runs_before: int = 0

    def own_run(self, index: int) -> int:
        """Return which of the day's own runs the ``index``-th time point is; 0 for earlier days."""
        return index - 1 if self.runs_before else index

    @property
    def early_runs(self) -> frozenset[int]:
        """The time points at which another engine does the runs: where there is one, all that give
        no result."""
        if self.settings.early_prices is None:
            return frozenset()
        return frozenset(range(1, len(self.points))).difference(self.problem.results_at)

    def prices_of(self, index: int) -> Prices:
        """Return the prices of the engine that does the run of a time point."""
        early = self.settings.early_prices
        return early if early is not None and index in self.early_runs else self.settings.prices

    @property
    def own_points(self) -> range:
        """The time points of the day's own runs."""
        return range(2 if self.runs_before else 1, len(self.points) + 1)

    def counted(self, index: int) -> int:
        """Return the number by which what is kept knows the run of a time point."""
        return self.own_run(index) + self.runs_before
