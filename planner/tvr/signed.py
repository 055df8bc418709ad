"""Signed bags, and the delta convention of all of Forerun, written here once.

A delta is a bag of rows of which some are taken back: a relation with one more column, the signed
multiplicity ``__w``. A delta that takes nothing back has no such column; every row counts once.

**Convention.** With OLD the snapshot at the last committed run, DELTA what came since, NEW = OLD
plus DELTA, the delta of a binary operator updates its left input first against the *new* right::

    d(L op R) = dL op R_new  +  L_old op dR

so the term with both deltas is counted exactly once, in the first part. An n-ary operator is
updated from right to left, as nested binary ones are. A static input has OLD = NEW, and in the
first run of a day, where OLD is empty, every delta is the snapshot itself.

**Bags.** A delta may hold pairs that cancel. Two deltas are equal when they are equal after
:func:`consolidate`. Weights of rows are +1 or -1 in what our rules make; what reads them must not
rely on that.

Source: Tempura, section 3 (the multiplicity perspective); Distributed IVM, section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.algebra.aggregates import result_type
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    Repeat,
    UnionAll,
)
from planner.algebra.scalar import Call, Literal, Ref, Scalar
from planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId

WEIGHT = "__w"


class ColumnIds:
    """Fresh column ids, in order, from one start: the same plan gets the same ids every time."""

    def __init__(self, start: int) -> None:
        self._next = start

    def fork(self) -> ColumnIds:
        """Ids that go on from here by themselves."""
        return ColumnIds(self._next)

    def new(self, name: str, like: Column) -> Column:
        """A column of the given name and of the other column's type."""
        self._next += 1
        return Column(ColumnId(self._next), name, like.type)

    def weight(self) -> Column:
        self._next += 1
        return Column(ColumnId(self._next), WEIGHT, BIGINT)

    def next_id(self) -> ColumnId:
        self._next += 1
        return ColumnId(self._next)


@dataclass(frozen=True, slots=True)
class Signed:
    """A bag whose rows count ``weight`` times; once each where there is no weight column."""

    relation: Relation
    weight: Column | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The data columns, without the weight."""
        if self.weight is None:
            return self.relation.columns
        return tuple(c for c in self.relation.columns if c.id != self.weight.id)


def integer(value: int) -> Literal:
    return Literal(str(value), BIGINT)


def with_weight(bag: Signed, ids: ColumnIds, sign: int = 1) -> Signed:
    """The same bag with an explicit weight column, its sign turned where ``sign`` is -1."""
    keep = tuple((column, Ref(column)) for column in bag.columns)
    if bag.weight is None:
        weight = ids.weight()
        return Signed(Project(bag.relation, (*keep, (weight, integer(sign)))), weight)
    if sign == 1:
        return bag
    weight = ids.weight()
    turned = Call("neg", (Ref(bag.weight),), BIGINT)
    return Signed(Project(bag.relation, (*keep, (weight, turned))), weight)


def times(
    weights: Iterator[Column | None] | tuple[Column | None, ...],
) -> Scalar | None:
    """The product of the weights that are there; None when none is."""
    product: Scalar | None = None
    for weight in weights:
        if weight is not None:
            factor = Ref(weight)
            product = factor if product is None else Call("*", (product, factor), BIGINT)
    return product


def plus(parts: tuple[Signed, ...], columns: tuple[Column, ...], ids: ColumnIds) -> Signed:
    """The sum of signed bags, by position; the result has the given columns."""
    if len(parts) == 1 and parts[0].columns == columns:
        return parts[0]
    if all(part.weight is None for part in parts):
        return Signed(UnionAll(tuple(p.relation for p in parts), columns))
    branches = []
    for part in parts:
        explicit = with_weight(part, ids)
        if explicit.weight is None:
            raise ValueError("with_weight made no weight")
        order = (*explicit.columns, explicit.weight)
        branches.append(Project(explicit.relation, tuple((c, Ref(c)) for c in order)))
    weight = ids.weight()
    return Signed(UnionAll(tuple(branches), (*columns, weight)), weight)


def consolidate(bag: Signed, ids: ColumnIds) -> Relation:
    """The plain bag that a signed one stands for: the enforcer of "has no weight".

    Rows with equal values are summed up (GROUP BY puts NULLs, NaNs and both zeros together, as
    SQL's own comparisons of whole rows do), those that cancel go away, the rest is repeated.
    """
    if bag.weight is None:
        return bag.relation
    count = Column(ids.next_id(), "__n", BIGINT)
    call = AggregateCall("sum", (Ref(bag.weight),))
    if result_type("sum", (BIGINT,)) != count.type:
        raise ValueError("a sum of weights is a BIGINT")
    grouped = Aggregate(bag.relation, bag.columns, ((count, call),))
    alive = Filter(grouped, Call(">", (Ref(count), integer(0)), BOOLEAN))
    return Repeat(alive, count)
