"""Signed bags, and the delta convention that all of Forerun follows.

A delta is a relation with one more column, the signed multiplicity ``__w`` of each row: positive
for rows that are added, negative for rows that are taken back. A delta that takes nothing back has
no such column; every row counts once.

**Convention.** OLD is the snapshot at the last committed run, DELTA is the change since, and NEW =
OLD plus DELTA. The delta of a binary operator combines the change of the left input with the *new*
right input, and the change of the right input with the *old* left one::

    d(L op R) = dL op R_new  +  L_old op dR

so the term with both deltas is counted exactly once, in the first part. An n-ary operator is
updated from right to left, as nested binary ones are. A static input has OLD = NEW, and in the
first run of a day, where OLD is empty, every delta is the snapshot itself.

**Bags.** A delta may hold rows whose weights cancel. Two deltas are equal when they are equal after
:func:`consolidate`. Readers must not rely on weights being +1 or -1.

Source: Tempura, section 3 (the multiplicity perspective); Distributed IVM, section 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forerun.planner.algebra.aggregates.functions import result_type
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    Repeat,
    UnionAll,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId, DataType

WEIGHT = "__w"


class ColumnIds:
    """A counter of fresh column ids: ids follow ``start`` in order, so planning is repeatable."""

    def __init__(self, start: int) -> None:
        self._next = start

    def fork(self) -> ColumnIds:
        """Return an independent counter that continues from the current id."""
        return ColumnIds(self._next)

    def new(self, name: str, like: Column) -> Column:
        """Return a new column with the given name and the type of another column."""
        self._next += 1
        return Column(ColumnId(self._next), name, like.type)

    def of_type(self, name: str, type_: DataType) -> Column:
        """Return a new column with the given name and type."""
        return Column(self.next_id(), name, type_)

    def weight(self) -> Column:
        """Return a new weight column ``__w``."""
        self._next += 1
        return Column(ColumnId(self._next), WEIGHT, BIGINT)

    def next_id(self) -> ColumnId:
        """Return a fresh column id."""
        self._next += 1
        return ColumnId(self._next)


@dataclass(frozen=True, slots=True)
class Signed:
    """A bag in which each row counts ``weight`` times, or once if there is no weight column."""

    relation: Relation
    weight: Column | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The data columns, without the weight."""
        if self.weight is None:
            return self.relation.columns
        return tuple(c for c in self.relation.columns if c.id != self.weight.id)


def integer(value: int) -> Literal:
    """Return a BIGINT literal."""
    return Literal(str(value), BIGINT)


def with_weight(bag: Signed, ids: ColumnIds, sign: int = 1) -> Signed:
    """Return the bag with an explicit weight column; with ``sign`` -1, return its negation."""
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
    """Return the product of the weights that are not None; None if all are."""
    product: Scalar | None = None
    for weight in weights:
        if weight is not None:
            factor = Ref(weight)
            product = factor if product is None else Call("*", (product, factor), BIGINT)
    return product


def plus(parts: tuple[Signed, ...], columns: tuple[Column, ...], ids: ColumnIds) -> Signed:
    """Return the sum of signed bags as one bag with the given columns, matched by position."""
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
    """Return the plain bag that a signed one stands for; the enforcer of "has no weight".

    It adds up the weights of rows with equal values (GROUP BY treats NULLs, NaNs and both zeros as
    equal, as SQL does when it compares whole rows), drops the rows whose sum is not positive, and
    repeats each other row as often as its sum says.
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
