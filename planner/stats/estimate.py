"""Cardinality: rows, bytes and distinct values of every node, bottom up.

Formulas, per node: Filter: selectivity (selectivity.py), distinct counts after it by Yao. Joins:
see joins.py. Aggregate: the product of the distinct counts of the keys that no others determine,
those of one table at most its rows, as far as the rows hit it (Cardenas).

Pure and deterministic; an estimate is memoized by node.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from forerun.planner.algebra.aggregates.functions import function, is_aggregate
from forerun.planner.algebra.aggregates.record import Adds
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetKind,
    SetOperation,
    Sort,
    UnionAll,
    Values,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, value_places, walk
from forerun.planner.algebra.types import Column, ColumnId, DataType
from forerun.planner.memo.relying import Relying
from forerun.planner.request import ColumnStats, Source
from forerun.planner.stats.banded import bucket_estimate
from forerun.planner.stats.determined import Determined
from forerun.planner.stats.few_values import most_values
from forerun.planner.stats.group_values import of_group, with_names
from forerun.planner.stats.joins import join_estimate
from forerun.planner.stats.nested_parts import made_columns, made_rows, of_drawn, part_estimate
from forerun.planner.stats.restricted import restricted
from forerun.planner.stats.sample import Sample, share
from forerun.planner.stats.selectivity import selectivity
from forerun.planner.stats.source_columns import source_columns
from forerun.planner.stats.values import (
    MANY_DISTINCT,
    ColumnEstimate,
    Estimate,
    TableLeaf,
    drawn,
    kept,
    merged,
    number,
    of_source,
    resized,
)


class Estimator:
    """Estimates for relations over these sources.

    ``rows``: how many rows of a source there are at this instant (default: the whole day's).
    ``determined``: what columns determine others, which is the same at any instant. A source that
    is not known is an error (KeyError): the caller names all. So is a relation over families, whose
    rows are counted and not estimated.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        rows: Mapping[str, float] | None = None,
        determined: Determined | None = None,
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self.determined = determined or Determined(self._sources.values())
        self._rows = dict(rows or {})
        # By identity: structural hashing of a deep tree costs more than the estimate. The node is
        # kept with its estimate, so its identity is not used again.
        self._done: dict[int, tuple[Relation, Estimate]] = {}
        self._whole: dict[str, Mapping[str, ColumnEstimate]] = {}

    def rows(self, relation: Relation) -> float:
        """Expected rows, not rounded."""
        return self.estimate(relation).rows

    def width(self, relation: Relation) -> float:
        """Expected bytes of one row."""
        return self.estimate(relation).width

    def bytes(self, relation: Relation) -> float:
        return self.estimate(relation).bytes

    def estimate(self, relation: Relation) -> Estimate:
        """Everything that is estimated of the relation. Iterative, memoized."""
        stack = [relation]
        while stack:
            node = stack[-1]
            missing = [child for child in node.inputs if id(child) not in self._done]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if id(node) not in self._done:
                inputs = tuple(self._done[id(child)][1] for child in node.inputs)
                self._done[id(node)] = (node, self.of_node(node, inputs))
        return self._done[id(relation)][1]

    def of_node(self, node: Relation, inputs: tuple[Estimate, ...]) -> Estimate:
        """The estimate of a node from those of its inputs."""
        return estimate_of(node, inputs, self)

    def of_scan(self, node: Scan) -> Estimate:
        source = self._sources[node.source]
        day = float(max(0, source.rows))
        rows = self._rows.get(node.source, day)
        whole = self._of_source(source)
        leaf = TableLeaf(node.scanned[0].id, rows) if node.scanned else None
        columns = {c.id: whole[c.name]._replace(leaf=leaf) for c in node.scanned}
        columns = resized(columns, day, rows)
        return Estimate(rows=rows, columns=columns, sample=_sample(source, node))

    def _of_source(self, source: Source) -> Mapping[str, ColumnEstimate]:
        if source.name not in self._whole:
            self._whole[source.name] = source_columns(source)
        return self._whole[source.name]


Below = tuple[Estimate, ...]


@operator_pass("estimate")
def estimate_of(node: Relation, below: Below, known: Estimator) -> Estimate:
    """The estimate of a node from those of its inputs."""
    raise NotImplementedError


@estimate_of.register(Scan)
def _of_scan(node: Scan, _: Below, known: Estimator) -> Estimate:
    return known.of_scan(node)


@estimate_of.register(Join)
def _of_join(node: Join, below: Below, _: Estimator) -> Estimate:
    return join_estimate(node, split_condition(node), *below)


@estimate_of.register(Project)
def _of_project(node: Project, below: Below, _: Estimator) -> Estimate:
    columns = {column.id: _of_item(scalar, column, below[0]) for column, scalar in node.items}
    return Estimate(rows=below[0].rows, columns=columns)


@estimate_of.register(Limit)
def _of_limit(node: Limit, below: Below, _: Estimator) -> Estimate:
    rows = max(0.0, below[0].rows - node.offset)
    rows = rows if node.count is None else min(rows, float(node.count))
    return Estimate(rows=rows, columns=resized(below[0].columns, below[0].rows, rows))


@estimate_of.register(Window)
def _of_window(node: Window, below: Below, known: Estimator) -> Estimate:
    added = {}
    for column, call in node.calls:
        most, marks = _each(node, call, below[0], known), _adds_up_marks(call, below[0])
        added[column.id] = _unknown(column.type, below[0].rows)
        if marks or call.name in _COUNTED:
            most = math.sqrt(most) if marks else most
            # As places on a line from 0 on, the share of numbers up to k is k of all.
            added[column.id] = ColumnEstimate(distinct=most, low=0.0, high=most, width=4.0)
    return Estimate(rows=below[0].rows, columns={**below[0].columns, **added})


_COUNTED, _MARKS = ("row_number", "rank", "dense_rank"), 2


def _each(node: Window, call: WindowCall, below: Estimate, known: Estimator) -> float:
    """The rows of a partition, where all have as many."""
    by = Aggregate(node.input, call.partition, ())
    partitions = _groups(by, below, known.determined) if call.partition else 1.0
    return max(1.0, below.rows / max(1.0, partitions))


def _adds_up_marks(call: WindowCall, below: Estimate) -> bool:
    """Return whether it is a running sum of 0 and 1, which numbers the sessions of a partition: one
    at least, and one for each row at most; so the mean of these by their ratio is taken."""
    adds = is_aggregate(call.name) and function(call.name).adds is Adds.ARGUMENT and call.order
    value = call.args[0] if adds else None
    known = below.columns.get(value.column.id) if isinstance(value, Ref) else None
    return known is not None and call.args[0].type.is_integer and 0 < known.distinct <= _MARKS


@estimate_of.register(Generate)
def _of_generate(node: Generate, below: Below, _: Estimator) -> Estimate:
    if (counted := of_drawn(node, below[0])) is not None:
        return counted
    known = below[0].columns
    rows = below[0].rows * made_rows(node, known)
    made = made_columns(node, known, rows, lambda column: _unknown(column.type, rows))
    return Estimate(rows=rows, columns={**resized(known, below[0].rows, rows), **made})


@estimate_of.register(Repeat)
def _of_repeat(node: Repeat, below: Below, _: Estimator) -> Estimate:
    rest = {id_: c for id_, c in below[0].columns.items() if id_ != node.count.id}
    return Estimate(rows=below[0].rows, columns=rest)


@estimate_of.register(Sort, Relying)
def _of_the_same_rows(_: Sort | Relying, below: Below, __: Estimator) -> Estimate:
    return below[0]


@estimate_of.register(Filter)
def _of_filter(node: Filter, inputs: Below, _: Estimator) -> Estimate:
    """Estimate a filter by what a sample counts, as far as there is one that can tell; else by
    guesses."""
    (below,) = inputs
    if below.sample is None:
        rows = below.rows * selectivity(node.predicate, below.columns)
        columns = restricted(node.predicate, resized(below.columns, below.rows, rows))
        return Estimate(rows=rows, columns=columns)
    passed = below.sample.through(node.predicate)
    guess, beside = (selectivity(p, below.columns) for p in (passed.told, passed.untold))
    rows = below.rows * share(below.sample, passed.sample, guess) * beside
    columns = restricted(node.predicate, resized(below.columns, below.rows, rows))
    return Estimate(rows=rows, columns=columns, sample=passed.sample)


def _sample(source: Source, scan: Scan) -> Sample | None:
    drawn = dict(source.sample)
    columns = {c.id: drawn[c.name] for c in scan.scanned if c.name in drawn}
    size = len(next(iter(drawn.values()), ()))
    blocks = [number for number, rows in enumerate(source.sample_blocks) for _ in range(rows)]
    return Sample(size, columns, blocks) if size else None


def _unknown(type_: DataType, rows: float) -> ColumnEstimate:
    return of_source(ColumnStats(), type_, rows, unique=False)


_AS_LONG = frozenset({"array_sort", "sort_array", "array_compact", "flatten"})
"""Functions whose value is about as long as their argument."""


def _of_item(scalar: Scalar, column: Column, below: Estimate) -> ColumnEstimate:
    """Distinct values of an expression: at most the product over its columns, and the rows."""
    width = float(column.type.width)
    if isinstance(scalar, Ref):
        return below.columns[scalar.column.id]
    if isinstance(scalar, Literal):
        place = number(scalar.text, scalar.type)
        nulls = 1.0 if scalar.text is None else 0.0
        return ColumnEstimate(distinct=1.0, nulls=nulls, low=place, high=place, width=width)
    if (part := part_estimate(scalar, column, below.columns, below.rows)) is not None:
        return part
    read = {n.column.id: below.columns[n.column.id] for n in walk(scalar) if isinstance(n, Ref)}
    if _is_monotone_cast(scalar) and len(read) == 1:
        (only,) = read.values()
        return only._replace(width=width)
    if scalar.name == "case":
        return _of_case(scalar, column, below)
    if (found := bucket_estimate(scalar, below.columns)) is not None:
        return found
    if scalar.name in _AS_LONG:
        width = _of_item(scalar.args[0], column, below).width
    distinct = min(math.prod(c.distinct for c in read.values()), below.rows, MANY_DISTINCT)
    distinct = min(distinct, most_values(scalar))
    nulls = 1.0 - math.prod(1.0 - c.nulls for c in read.values())
    if scalar.name == "coalesce":
        nulls = 0.0
    leaves = {c.leaf for c in read.values()}
    return ColumnEstimate(
        distinct=max(distinct, min(1.0, below.rows)),
        nulls=nulls,
        width=width,
        leaf=leaves.pop() if len(leaves) == 1 else None,
    )


def _of_case(case: Call, column: Column, below: Estimate) -> ColumnEstimate:
    """The values of its branches together; conditions add none. Each branch is as likely."""
    branches = [_of_item(case.args[place], column, below) for place in value_places(case)]
    some = [branch for branch in branches if branch.nulls < 1.0]
    lows = [b.low for b in some if b.low is not None]
    highs = [b.high for b in some if b.high is not None]
    return ColumnEstimate(
        distinct=max(min(sum(b.distinct for b in some), below.rows), min(1.0, below.rows)),
        nulls=sum(branch.nulls for branch in branches) / len(branches),
        low=min(lows) if lows and len(lows) == len(some) else None,
        high=max(highs) if highs and len(highs) == len(some) else None,
        width=float(column.type.width),
    )


def _is_monotone_cast(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and scalar.name == "cast" and isinstance(scalar.args[0], Ref)


@estimate_of.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: Below, known: Estimator) -> Estimate:
    (below,) = inputs
    rows = _groups(node, below, known.determined) if node.keys else 1.0
    columns: dict[ColumnId, ColumnEstimate] = {
        id_: column._replace(distinct=min(column.distinct, max(rows, 1.0)))
        for id_, column in with_names(node, below.columns).items()
    }
    for made, call in node.calls:
        argument = _of_item(call.args[0], made, below) if call.args else None
        columns[made.id] = of_group(call, made, argument, below.rows, rows)
    return Estimate(rows=rows, columns=columns)


def _groups(node: Aggregate, below: Estimate, determined: Determined) -> float:
    """The product of the values of those keys that no others determine, as far as rows hit it.
    Those that come from one leaf, such as the names and addresses of customers, have together no
    more values than it has rows."""
    grouped_by, unique = determined.grouped_by(node, below.rows, below.columns)
    if unique:
        return below.rows
    by_leaf: dict[TableLeaf | ColumnId, float] = {}
    for key in grouped_by:
        grouped = below.columns[key]
        of = grouped.leaf or key
        values = by_leaf.get(of, 1.0) * (grouped.distinct + (1.0 if grouped.nulls else 0.0))
        # With an outer join, the leaf's columns may all be NULL as well.
        most = grouped.leaf.rows + 1.0 if grouped.leaf else MANY_DISTINCT
        by_leaf[of] = min(values, most)
    groups = min(math.prod(by_leaf.values()), MANY_DISTINCT)
    return drawn(max(1.0, groups), below.rows)


@estimate_of.register(Values)
def _of_values(node: Values, *_: object) -> Estimate:
    rows = float(len(node.rows))
    columns = {
        column.id: ColumnEstimate(
            distinct=float(len({row[i] for row in node.rows})), width=float(column.type.width)
        )
        for i, column in enumerate(node.listed)
    }
    return Estimate(rows=rows, columns=columns)


@estimate_of.register(UnionAll)
def _of_union(node: UnionAll, inputs: Below, _: Estimator) -> Estimate:
    rows = sum(branch.rows for branch in inputs)
    columns: dict[ColumnId, ColumnEstimate] = {}
    for position, column in enumerate(node.merged):
        sides = [
            (estimate.rows, estimate.columns[branch.columns[position].id])
            for branch, estimate in zip(node.branches, inputs, strict=True)
        ]
        columns[column.id] = merged(sides, rows)
    return Estimate(rows=rows, columns=columns)


_SERIES = 1000.0
"""Rows of a series of numbers or dates."""


@estimate_of.register(Recursion)
def _of_recursion(node: Recursion, inputs: Below, _: Estimator) -> Estimate:
    """A hierarchy has a row for each of its table's; of a series nothing is known."""
    rows = max((one.rows for one in inputs), default=_SERIES)
    return Estimate(rows=rows, columns={c.id: _unknown(c.type, rows) for c in node.made})


@estimate_of.register(SetOperation)
def _of_set_operation(node: SetOperation, inputs: Below, _: Estimator) -> Estimate:
    """INTERSECT: half of the smaller side; EXCEPT: left without half of the smaller side."""
    left, right = inputs
    common = min(left.rows, right.rows) / 2.0
    rows = common if node.kind is SetKind.INTERSECT else left.rows - common
    pairs = zip(node.left.columns, node.merged, strict=True)
    columns = {
        outer.id: left.columns[inner.id]._replace(
            distinct=kept(left.columns[inner.id].distinct, left.rows, rows / max(left.rows, 1e-9)),
        )
        for inner, outer in pairs
    }
    if not node.all:
        values = math.prod(max(1.0, column.distinct) for column in columns.values())
        rows = drawn(min(MANY_DISTINCT, values), rows)
    return Estimate(rows=rows, columns=columns)
