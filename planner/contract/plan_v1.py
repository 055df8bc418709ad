"""The plan of a day, version 1.

A plan is made before each run and is whole every time: runs that are committed, the run to do now
with its stages, and later runs as they look from here. Executors follow ``runs[current - 1]``.

Names inside stage SQL: the snapshot of source ``s`` is the view ``s``, its delivery (what the pin
of this run has over the pin of the run's base) is ``s__delta``, and a family is the table named by
its id, with one extra column ``__run INT``, the run that wrote the row. A signed family has a
column ``__w BIGINT``: how often the row is added (positive) or taken back (negative). So has the
delivery of a source whose deliveries take rows back. The views ``s__by_pane`` and
``s__delta__by_pane`` have a column ``__pane DATE`` more.

A field may be added to this version as a :func:`later` one, with the default that plans without it
have always meant, so that the plans of a day that is under way are still read. Whatever changes the
meaning of what is there is a new version. Either way an older program refuses what it does not
know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

CONTRACT_VERSION = 1
PlanMethod = Literal["incremental", "batch", "own-batch"]
"""What a plan does, see :class:`Plan`."""
RUN_COLUMN = "__run"
WEIGHT_COLUMN = "__w"
PANE_COLUMN = "__pane"
"""The pane of a row: a day of a rolling range, whose rows leave it together."""
DAY_COLUMN = "__day"
"""The number of the day, in what is computed for many days at once and in the sources that differ
by day."""
LATER = "later"
"""Key in the metadata of a dataclass field: stored documents may lack the field."""


SIDE = "__side_"
"""How the names of the views of small sides begin."""
LARGEST = 2**63 - 1
"""The largest number that a stored document may have."""


def stated(figure: float) -> int:
    """An estimate as plans state it: whole, not below 0, and no more than a document may have.
    Joins of many to many can be estimated beyond that; they are too dear either way."""
    return max(0, min(round(float(figure)), LARGEST))


def later(default: Any) -> Any:
    """A field that was added to a stored shape after the first documents of it had been written.
    Reading one that lacks it gives ``default``; any other missing field is an error."""
    return field(default=default, metadata={LATER: True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSpec:
    """A column as Spark DDL would declare it."""

    name: str
    """The name of the column."""
    type: str
    """The type, as Spark DDL has it: ``BIGINT``, ``DECIMAL(12,2)``, ``STRING``."""
    nullable: bool = True
    """Whether the column may be NULL; a run that relies on one that may not counts its NULLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """A declaration of a source's ``columns``: a row names a row of ``parent`` by them, which has
    the same values in ``parent_columns``, in order, and arrives with it or before it. A row with
    NULL in one of them names none."""

    columns: tuple[str, ...]
    """The columns of this source."""
    parent: str
    """The name of the source whose row they name."""
    parent_columns: tuple[str, ...]
    """The columns of the parent, in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliedForeignKey:
    """A foreign key of ``source`` that a run depends on: before it computes anything, it looks up
    the keys of the parents that have come since its base run, and fails if a row of ``source`` that
    was there before names one of them."""

    source: str
    key: ForeignKey


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A source as the query sees it. ``changing`` is false for a source that is whole at run 1.

    ``relies_not_null`` names the columns whose declared NOT NULL the stages depend on: the run
    counts the NULLs in them, and fails if there is one. Of no other column does it matter.
    ``reads``: the columns of a changelog that the report depends on, by which its rows are added
    up; empty where all of them count.
    """

    name: str
    columns: tuple[ColumnSpec, ...]
    changing: bool
    relies_not_null: tuple[str, ...] = later(())
    reads: tuple[str, ...] = later(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An artifact family: one logical table, one partition per committed run.

    ``key`` is empty and ``buckets`` 0 for rows kept without distribution; otherwise every
    partition is hash-partitioned by ``key`` into ``buckets`` (Spark's bucketing). ``sources``: the
    names of those that its rows are made of, in order; empty where an older version did not say.
    A checkpoint is read by later stages of its own run, and by a try that takes the run over; the
    commit does not name it.
    """

    id: str
    kind: Literal["shuffle", "state", "checkpoint"]
    fingerprint: str
    title: str
    columns: tuple[ColumnSpec, ...]
    key: tuple[str, ...] = ()
    buckets: int = 0
    signed: bool = False
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BorrowedFrom:
    """A family of the plan that another report of the same day kept, in plans of versions that let
    reports borrow: ``stored_as`` in the chain of commits of ``report`` that ends in its ``run``.
    Such a plan can be shown, and is planned again before it is executed."""

    family: str
    report: str
    generation: str
    run: int
    stored_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInput:
    """The stage reads view ``view``: the pinned files of a source, all or the delivery only.
    ``by_pane``: each row with its pane."""

    view: str
    source: str
    version: Literal["snapshot", "delta"]
    by_pane: bool = later(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyInput:
    """The stage reads the table of a family: partitions of the base chain, and this run's own
    partition if an earlier stage of this run wrote it."""

    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactOutput:
    """The rows become this run's partition of a family."""

    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOutput:
    """The rows are the report. ``ordered``: the query ends in ORDER BY, keep the order. ``types``:
    what Spark gives the columns, for an engine that gives others; "" where that is not known."""

    columns: tuple[str, ...]
    ordered: bool = False
    types: tuple[str, ...] = later(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A named parameter of a report's SQL (``:name`` there) with its value for the report date.

    ``type`` is one of :data:`forerun.planner.contract.parameters.TYPES`; ``value`` is the value's
    text as Spark prints it, that of a TIMESTAMP in UTC.
    """

    name: str
    """The name; the SQL has it with a colon before it."""
    type: str
    """The type: one of those that parameters may have, such as ``DATE``, ``INT`` or ``STRING``."""
    value: str
    """The value as Spark prints it; that of a TIMESTAMP is in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallSide:
    """The side of a join that is computed before the stage that joins it, and read there as
    ``view``: so the engine knows how many rows it has when it plans the join. Of a table as it lies
    the ``rows`` are known, and nothing is computed before; 0 where they are to be counted."""

    view: str
    sql: str
    columns: tuple[ColumnSpec, ...]
    rows: int = later(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonSubplan:
    """Rows that runs of several reports of one application computed once, in plans of a former
    version: such a plan can be read, and is made again before it is executed."""

    view: str
    sql: str
    inputs: tuple[SourceInput, ...]
    columns: tuple[ColumnSpec, ...]
    small_sides: tuple[SmallSide, ...] = ()
    estimated_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One SELECT. ``sql`` is Spark SQL over the names of the inputs and of the ``small_sides``,
    which are computed first, in order; stages run in the order given. ``common`` is of plans of a
    former version.
    ``parameters`` are those that the text has, which only the user's own has: the engine binds
    them, so that no value is ever put into a text. ``estimated_rows`` of the output are for people:
    a run says them beside those that it counts. ``work`` is what its cost is made of: how often
    each price of :mod:`forerun.planner.cost.prices` is charged, by name."""

    id: str
    title: str
    sql: str
    inputs: tuple[SourceInput | FamilyInput, ...]
    output: ArtifactOutput | ResultOutput
    parameters: tuple[Parameter, ...] = later(())
    small_sides: tuple[SmallSide, ...] = later(())
    common: tuple[CommonSubplan, ...] = later(())
    estimated_rows: int = 0
    estimated_cost: int = 0
    work: tuple[tuple[str, float], ...] = later(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run. ``base`` is the run whose pins and artifacts it goes on from, 0 for none.

    A run that is not ``opened`` has no stages and is skipped; what it would have read is in the
    delivery of the next one. Costs are integers, in millionths of a CPU second.
    ``early_result``: this run is not the final one, but gives the result over what has arrived.
    ``relies_on``: the foreign keys without which its stages might be wrong. ``unchanged``: the
    growing sources of which nothing has come since ``base``, without which they might be, too; of a
    later run than the current one it is a forecast.
    """

    index: int
    weight: float
    opened: bool
    base: int
    stages: tuple[Stage, ...] = ()
    estimated_cost: int = 0
    arrived: float = 1.0
    committed: bool = False
    early_result: bool = False
    relies_on: tuple[ReliedForeignKey, ...] = later(())
    unchanged: tuple[str, ...] = later(())


@dataclass(frozen=True, slots=True, kw_only=True)
class NotIncremental:
    """An operator that waits for the final run, and the :class:`forerun.planner.errors.Reason`
    code."""

    operator: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTable:
    """A source as the text may name it, whether or not the plan reads it."""

    name: str
    columns: tuple[ColumnSpec, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question that Spark is asked about a report's text before the first stage of a day: does
    it make the same plan of ``reading`` as of the text? ``reading`` is what the planner has read,
    printed back with every operator in parentheses; ``tables`` are all sources of the report.
    ``columns``, ``ordered`` and ``parameters`` are those of the text's own result, so that the text
    can be run in place of the stages where the answer is no. ``id`` is equal for equal texts,
    readings, tables, types of parameters and settings."""

    id: str
    reading: str
    tables: tuple[NamedTable, ...]
    columns: tuple[str, ...]
    ordered: bool
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole day. ``method`` is ``incremental``, ``batch`` (the user's own text, once) or
    ``own-batch`` (once, in stages of our own); the latter two keep nothing.
    ``objective`` names what plans were compared by (:mod:`forerun.planner.materialize.objective`).
    ``shared``: see :class:`BorrowedFrom`. ``batch_because``: why the
    day is batch although that was not asked for, where something else than the cost decided.
    ``question``: what Spark is asked about the text, None in plans of older versions and in those
    of several days at once. ``inherited``: the ids of the families that earlier days have begun."""

    version: int
    report: str
    sql: str
    method: PlanMethod
    current: int
    sources: tuple[SourceTable, ...]
    families: tuple[Family, ...]
    runs: tuple[Run, ...]
    session: tuple[tuple[str, str], ...]
    estimated_cost: int
    batch_cost: int
    not_incremental: tuple[NotIncremental, ...] = ()
    objective: str = "weighted-sum"
    shared: tuple[BorrowedFrom, ...] = ()
    batch_because: str = later("")
    question: Question | None = later(None)  # noqa: RUF009 - a field, as above
    inherited: tuple[str, ...] = later(())

    @property
    def run(self) -> Run:
        """The run to do now."""
        return self.runs[self.current - 1]

    @property
    def kept(self) -> tuple[Family, ...]:
        """Return the families that are there for later runs and days."""
        return tuple(family for family in self.families if family.kind != "checkpoint")

    @property
    def batch_run_cost(self) -> float:
        """Return the cost of batch as the one run that it is, as runs state their costs;
        ``batch_cost`` is that times the weight of the final run."""
        return self.batch_cost / self.runs[-1].weight

    def family(self, family_id: str) -> Family:
        for family in self.families:
            if family.id == family_id:
                return family
        raise LookupError(f"the plan has no family {family_id}")
