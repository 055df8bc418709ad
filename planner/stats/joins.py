"""Cardinality of joins.

Rows of both sides times 1/max(distinct, distinct) per equality pair (containment, Selinger et al.
1979), at most the rows that keys allow; a left join has at least its left rows. Semi join: the
fraction of left values that have a partner under containment; anti join: the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from forerun.planner.algebra.predicates import Condition, equality
from forerun.planner.algebra.relational import Join, JoinKind
from forerun.planner.algebra.scalar import TRUE, Scalar
from forerun.planner.algebra.types import ColumnId
from forerun.planner.stats.selectivity import selectivity
from forerun.planner.stats.values import MANY_DISTINCT, ColumnEstimate, Estimate, resized


def join_estimate(node: Join, condition: Condition, left: Estimate, right: Estimate) -> Estimate:
    """The estimate of a join from those of its sides."""
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return _of_semi_join(node, condition, left, right)
    if node.kind is JoinKind.MARK and node.mark is not None:
        columns = {**left.columns, node.mark.id: ColumnEstimate(distinct=2.0, width=1.0)}
        return Estimate(rows=left.rows, columns=columns)
    if node.kind is JoinKind.SINGLE:
        return _null_extended(left.rows, {**left.columns, **right.columns}, right.columns, 0.0)
    return _of_pairs(node, condition, left, right)


def _of_pairs(node: Join, condition: Condition, left: Estimate, right: Estimate) -> Estimate:
    matched = left.rows * right.rows * _pairs_selectivity(condition, left, right)
    shares = _shares_with_partner(condition, left, right)
    partnered = left.rows * shares[0], right.rows * shares[1]
    columns: dict[ColumnId, ColumnEstimate] = {
        **resized(left.columns, left.rows, partnered[0]),
        **resized(right.columns, right.rows, partnered[1]),
    }
    for one, other in condition.pairs:
        common = min(left.columns[one.id].distinct, right.columns[other.id].distinct)
        # A joined NULL has no partner; the values both sides have are all that is left.
        for id_ in (one.id, other.id):
            columns[id_] = columns[id_]._replace(distinct=common, nulls=0.0)
    if condition.residual != TRUE:
        matched *= selectivity(condition.residual, columns)
    rows = matched
    if node.kind in (JoinKind.LEFT, JoinKind.FULL):
        rows = max(rows, left.rows)
    if node.kind in (JoinKind.RIGHT, JoinKind.FULL):
        rows = max(rows, right.rows)
    columns = {
        **resized(_only(columns, left), partnered[0], rows),
        **resized(_only(columns, right), partnered[1], rows),
    }
    if node.kind in (JoinKind.LEFT, JoinKind.FULL):
        columns = {**columns, **_only(left.columns, left)}
        return _null_extended(rows, columns, right.columns, matched)
    if node.kind is JoinKind.RIGHT:
        columns = {**columns, **_only(right.columns, right)}
        return _null_extended(rows, columns, left.columns, matched)
    return Estimate(rows=rows, columns=columns)


def _shares_with_partner(
    condition: Condition, left: Estimate, right: Estimate
) -> tuple[float, float]:
    """The share of the rows of each side whose values the other side has, under containment: sales
    of five years meet five years of a calendar of two hundred, and so 260 of its weeks."""
    shares = [1.0, 1.0]
    for one, other in condition.pairs:
        distincts = left.columns[one.id].distinct, right.columns[other.id].distinct
        for side, distinct in enumerate(distincts):
            if distinct > 0.0:
                shares[side] = min(shares[side], min(distincts) / distinct)
    return shares[0], shares[1]


def _only(
    columns: Mapping[ColumnId, ColumnEstimate], side: Estimate
) -> dict[ColumnId, ColumnEstimate]:
    return {id_: columns[id_] for id_ in side.columns}


def _null_extended(
    rows: float,
    columns: Mapping[ColumnId, ColumnEstimate],
    side: Iterable[ColumnId],
    matched: float,
) -> Estimate:
    """The columns of ``side`` are NULL in the rows beyond ``matched``."""
    alone = max(0.0, 1.0 - matched / rows) if rows > 0.0 else 0.0
    result = dict(columns)
    for id_ in side:
        result[id_] = result[id_]._replace(nulls=min(1.0, result[id_].nulls + alone))
    return Estimate(rows=rows, columns=result)


def _pairs_selectivity(condition: Condition, left: Estimate, right: Estimate) -> float:
    """1/max(distinct, distinct) for each pair; together not less than one over the smaller side:
    several pairs are mostly the composite key of one side, and a foreign key of the other. Of a
    side that was filtered that would say too much: no pair alone lets more rows through."""
    distincts = [1.0]
    known = 1.0
    for one, other in condition.pairs:
        a, b = left.columns[one.id], right.columns[other.id]
        known *= (1.0 - a.nulls) * (1.0 - b.nulls)
        distincts.append(max(1.0, a.distinct, b.distinct))
    composite = max(*distincts, min(left.rows, right.rows))
    most = composite if len(condition.pairs) > 1 else MANY_DISTINCT
    return known / min(math.prod(distincts), most)


def _of_semi_join(node: Join, condition: Condition, left: Estimate, right: Estimate) -> Estimate:
    share = 1.0 if right.rows >= 1.0 else right.rows
    for one, other in condition.pairs:
        a, b = left.columns[one.id], right.columns[other.id]
        share = min(share, (1.0 - a.nulls) * min(1.0, b.distinct / max(1.0, a.distinct)))
    if condition.residual != TRUE:
        both = {**left.columns, **right.columns}
        partners = right.rows
        for _, other in condition.pairs:
            partners = min(partners, right.rows / max(1.0, right.columns[other.id].distinct))
        one_fails = 1.0 - selectivity(condition.residual, both)
        share *= 1.0 - one_fails ** max(1.0, partners)
    if node.kind is JoinKind.ANTI:
        share = 1.0 - share
    rows = left.rows * share
    return Estimate(rows=rows, columns=resized(left.columns, left.rows, rows))


def block_selectivities(
    leaves: Sequence[Estimate],
    unfiltered: Sequence[float],
    parts: Sequence[Scalar],
    reads: Sequence[frozenset[int]],
) -> dict[frozenset[int], float]:
    """Return the selectivities of the conjuncts of a block of inner joins, by the leaves that they
    read.

    The equalities between two leaves are taken for a key of one and a foreign key of the other:
    together they are not more selective than one over the smaller leaf, of which ``unfiltered`` has
    the rows without its own filters (a filter of the key's leaf leaves foreign keys without a
    partner).
    """
    columns: dict[ColumnId, ColumnEstimate] = {}
    for estimate in leaves:
        columns |= estimate.columns
    factors: dict[frozenset[int], float] = {}
    keys: dict[frozenset[int], float] = {}
    for part, read in zip(parts, reads, strict=True):
        share = selectivity(part, columns)
        target = keys if equality(part) is not None and len(read) == 2 else factors
        target[read] = target.get(read, 1.0) * share
    for pair, share in keys.items():
        floor = 1.0 / max(1.0, min(unfiltered[leaf] for leaf in pair))
        factors[pair] = factors.get(pair, 1.0) * max(share, min(floor, 1.0))
    return factors
