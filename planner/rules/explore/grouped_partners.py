"""Groups the partners of an outer join's rows first, also where functions read rows of both sides.

::

    agg[g; sum(e)](L left[k] R)  =  agg[g; sum(e')](L left[k] M)
    M    agg[k and g of R; n = count(*), n_i = count(p_i), s_i = sum(b_i where p_i)](R)
    e    CASE WHEN .. THEN .. END, each condition and each value of columns of one side alone
    e'   n_i * a_i for a value of L, s_i for a value of R, in the branches that the row of L is in

and so for L full[k] R, where M is of either side: of R, or of L if R has one row per k.

This is the view M of the paper's running example (Tempura 4.2 (3)): the returns grouped by order,
below ``sum(CASE WHEN cost IS NULL THEN price ELSE -cost END)``. It is an aggregate of one input, so
its states are kept and merged run by run and do not depend on L's updates;
:mod:`forerun.planner.rules.explore.eager_aggregate` covers the functions that read R alone.

Bags: a row of L meets the same rows of R as before, in one row of M that has how many they are, and
how many of them are in branch i: what depends on L alone is added that often. A sum of sums over
the disjoint branches is the sum. NULLs: a condition of R that is NULL is not true, as in CASE. A
row of L without a partner meets no M: its terms are what the conditions and values of R are where
all columns of R are NULL. Of a left join ``k`` tells, which is NULL then and in no partner. In a
full join a row of M without a row of L stands for n rows of R, and its terms are read where all
columns of L are NULL, as they are in it; rows of R whose ``k`` is NULL are in such a row, so there
``n`` tells, which is NULL in no row of M. A branch without a value adds NULL, so a sum over nothing
stays NULL. Retractions: the law holds for every version of L and R, and M is maintained as any
aggregate is. A sum of DOUBLEs is rounded otherwise than the query's own, as any order of its rows
does. Not for what may fail on rows that a branch or the join leaves out, nor for products that
would lose digits after the point; one that has no room before it is larger than the query's sum may
be.
Source: Yan and Larson, VLDB 1995 (eager count and sum), with the branches of CASE told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from forerun.planner.algebra.aggregates.functions import function, type_of
from forerun.planner.algebra.aggregates.record import Adds
from forerun.planner.algebra.aggregates.states import ONE, ZERO
from forerun.planner.algebra.functions import decimal_result
from forerun.planner.algebra.predicates import null_strict, rejects_nulls_of, split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
)
from forerun.planner.algebra.scalar import (
    FALSE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    references,
    substitute,
)
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    UNKNOWN,
    Column,
    ColumnId,
    DataType,
    decimal,
)
from forerun.planner.props.keys import is_key, keys
from forerun.planner.props.nullability import is_never_null
from forerun.planner.rules.explore.eager_aggregate import (
    OverJoin,
    aggregate_over_join,
    merged_by,
    settled,
    with_columns_of,
    with_wide_sums,
)
from forerun.planner.rules.explore.small_values import Magnitudes
from forerun.planner.tvr.signed import ColumnIds

_ROWS = AggregateCall("count", ())
_MOST_DIGITS = 38
_COUNT = decimal(20, 0)
_FIRST_KNOWN = ("coalesce", "nvl", "ifnull")
_CHOICES = ("case", "if", *_FIRST_KNOWN)
OUTER = frozenset({JoinKind.LEFT, JoinKind.FULL})
"""The joins of which partners are grouped."""


def group_partners(
    relation: Relation, ids: ColumnIds, known: Magnitudes = MappingProxyType({})
) -> Relation | None:
    """Group a side of every outer join below an aggregate where that is possible: the right one,
    or the left one of a full join. Return None if it is nowhere. ``known`` are the magnitudes
    of columns of whole numbers."""
    result = rewrite(relation, lambda node: _grouped(node, ids, known) or node)
    return None if result is relation else result


@dataclass(frozen=True, slots=True)
class _Branch:
    """A value of a call's argument, of columns of one side, and the conditions of either side under
    which it is the argument."""

    left: tuple[Scalar, ...]
    right: tuple[Scalar, ...]
    value: Scalar
    of_right: bool


@dataclass(slots=True)
class _Partners:
    """The view M while it is put together: its calls by their columns. ``known_by`` is a column
    that is NULL in no partner; where there is none, the number of partners tells."""

    right: Relation
    known_by: Column | None
    ids: ColumnIds
    calls: dict[AggregateCall, Column] = field(default_factory=dict)

    def column(self, call: AggregateCall) -> Ref:
        """Return the column of M that has a call's value."""
        if call not in self.calls:
            self.calls[call] = Column(self.ids.next_id(), f"__{call.name}", type_of(call))
        return Ref(self.calls[call])

    def is_missing(self) -> Scalar:
        """Return whether a row of L has no partner."""
        told = self.column(_ROWS) if self.known_by is None else Ref(self.known_by)
        return Call("isnull", (told,), BOOLEAN)

    def count(self, where: tuple[Scalar, ...]) -> Scalar:
        """Return how many partners satisfy conditions; a missing one counts as a row of NULLs."""
        if not where:
            return Call("coalesce", (self.column(_ROWS), ONE), BIGINT)
        here = self.column(AggregateCall("count_if", (conjunction(where),)))
        return _case(self.is_missing(), self._if_missing(where, ONE, ZERO), here)

    def value(self, name: str, where: tuple[Scalar, ...], value: Scalar) -> Scalar:
        """Return the value of a function over the partners that satisfy conditions. The function
        counts, or its value over one row is that of the row."""
        here = self.column(AggregateCall(name, (_where(where, value),)))
        counts = function(name).adds is Adds.ONE
        nothing: Scalar = ZERO if counts else Literal(None, here.type)
        alone = nothing
        if not self._is_null(value):
            alone = self._of_nulls(value)
            if counts:
                alone = _case(Call("isnotnull", (alone,), BOOLEAN), ONE, ZERO)
            elif alone.type != here.type:
                alone = Call("cast", (alone,), here.type)
        alone = self._if_missing(where, alone, nothing)
        if alone == Literal(None, here.type):
            return here  # as all columns of M are NULL, if there is no partner
        return _case(self.is_missing(), alone, here)

    def _of_nulls(self, scalar: Scalar) -> Scalar:
        """Return what a scalar of R is where all columns of R are NULL."""
        nulls: dict[ColumnId, Scalar] = {c.id: Literal(None, c.type) for c in self.right.columns}
        return substitute(scalar, nulls)

    def _is_null(self, scalar: Scalar) -> bool:
        """Return whether a scalar of R is known to be NULL where all columns of R are."""
        return not null_strict(scalar).isdisjoint({c.id for c in self.right.columns})

    def _if_missing(self, where: tuple[Scalar, ...], value: Scalar, otherwise: Scalar) -> Scalar:
        """Return the value if conditions of R are true where all its columns are NULL."""
        known = [self._holds(condition) for condition in where]
        if all(known) or value == otherwise:
            return value
        if False in known:
            return otherwise
        return _case(self._of_nulls(conjunction(where)), value, otherwise)

    def _holds(self, condition: Scalar) -> bool | None:
        """Return whether a condition is true where all columns of R are NULL; None if that is not
        known here."""
        if rejects_nulls_of(condition, {c.id for c in self.right.columns}):
            return False
        if isinstance(condition, Call) and condition.name == "isnull":
            return self._is_null(condition.args[0]) or None
        if isinstance(condition, Call) and condition.name == "not":
            inner = condition.args[0]
            if isinstance(inner, Call) and inner.name == "coalesce" and inner.args[1] == FALSE:
                holds = self._holds(inner.args[0])
                return None if holds is None else not holds
        return None


def _grouped(node: Relation, ids: ColumnIds, known: Magnitudes) -> Relation | None:
    if not isinstance(node, Aggregate):
        return None
    grouped = _grouped_below(with_wide_sums(node, ids, known), ids, known)
    return None if grouped is None else with_columns_of(node, grouped)


def _grouped_below(node: Aggregate, ids: ColumnIds, known: Magnitudes) -> Relation | None:
    found = aggregate_over_join(node, OUTER, known)
    if found is None or not found.calls:
        return None
    result = _over_partners(node, found, ids)
    if result is None and found.join.kind is JoinKind.FULL:
        turned = Join(JoinKind.FULL, found.join.right, found.join.left, found.join.condition)
        result = _over_partners(node, replace(found, join=turned), ids)
    return result


def _over_partners(node: Aggregate, found: OverJoin, ids: ColumnIds) -> Relation | None:
    """Return an aggregate over an outer join of which the right side is grouped; None if that is
    not possible."""
    right = found.join.right
    mine = {column.id for column in right.columns}
    if all(call.references().isdisjoint(mine) for _, call in found.calls):
        return None  # the rows of R only repeat those of L: few queries have more than one
    joined = split_condition(found.join).right
    if is_key({column.id for column in joined}, keys(right, {})):
        return None
    # A partner has a key; in a full join the rows without one come, too.
    known_by = joined[0] if found.join.kind is JoinKind.LEFT else None
    partners = _Partners(right, known_by, ids)
    terms = []
    for _, call in found.calls:
        of_call = _terms(call, found.join, partners)
        if of_call is None:
            return None
        terms.append(of_call)
    by = tuple(dict.fromkeys((*joined, *(key for key in found.keys if key.id in mine))))
    view = Aggregate(right, by, tuple((c, call) for call, c in partners.calls.items()))
    below = Join(found.join.kind, found.join.left, view, found.join.condition)
    return _merged(node, found, terms, below, ids)


def _merged(
    node: Aggregate,
    found: OverJoin,
    terms: list[tuple[Scalar, ...]],
    below: Relation,
    ids: ColumnIds,
) -> Relation:
    """Return the aggregate over the rows of L and M: the terms of each call merged, then added."""
    merged: list[tuple[Column, AggregateCall]] = []
    items: list[tuple[Column, Scalar]] = [
        (key, Ref(outer)) for key, outer in zip(node.keys, found.keys, strict=True)
    ]
    for (column, call), parts in zip(found.calls, terms, strict=True):
        values = []
        for part in parts:
            again = merged_by(call, part)
            total = Column(ids.next_id(), column.name, type_of(again))
            merged.append((total, again))
            values.append(settled(call, Ref(total), column))
        items.append((column, _added(values, column.type)))
    return Project(Aggregate(below, found.keys, tuple(merged)), tuple(items))


def _terms(call: AggregateCall, join: Join, partners: _Partners) -> tuple[Scalar, ...] | None:
    """Return what a row of L and M adds to a call, one term per branch of its argument; None if the
    argument has no such branches or the terms are not exact."""
    if not call.args:
        return (partners.count(()),)
    branches = _branches(call.args[0], join)
    if branches is None or (len(branches) > 1 and type_of(call).precision >= _MOST_DIGITS):
        return None
    match function(call.name).adds:
        case Adds.ONE:
            return tuple(_count(call, branch, partners) for branch in branches)
        case Adds.ARGUMENT:
            terms = [_sum(call, branch, partners) for branch in branches]
            known = tuple(term for term in terms if term is not None)
            return known if len(known) == len(terms) else None
    (branch, *others) = branches
    if function(call.name).duplicates or others or branch.left or branch.right:
        return None
    return (partners.value(call.name, (), branch.value) if branch.of_right else branch.value,)


def _count(call: AggregateCall, branch: _Branch, partners: _Partners) -> Scalar:
    if branch.of_right:
        value = partners.value(call.name, branch.right, branch.value)
    else:
        there = Call("isnotnull", (branch.value,), BOOLEAN)
        value = _case(there, partners.count(branch.right), ZERO)
    return _case(conjunction(branch.left), value, ZERO) if branch.left else value


def _sum(call: AggregateCall, branch: _Branch, partners: _Partners) -> Scalar | None:
    if branch.of_right:
        return _where(branch.left, partners.value(call.name, branch.right, branch.value))
    times = partners.count(branch.right)
    product = _times(branch.value, times)
    if product is None:
        return None
    some = (Call(">", (times, ZERO), BOOLEAN),) if branch.right else ()
    return _where((*branch.left, *some), product)


def _times(value: Scalar, count: Scalar) -> Scalar | None:
    """Return the sum of a value that comes ``count`` times, exactly but for what any sum of DOUBLEs
    is rounded; None if no type holds it."""
    type_ = value.type
    if type_.is_integer:
        wide = value if type_ == BIGINT else Call("cast", (value,), BIGINT)
        return Call("*", (wide, count), BIGINT)
    if type_.is_floating:
        factors = tuple(Call("cast", (each,), DOUBLE) for each in (value, count))
        return Call("*", factors, DOUBLE)
    if type_.name != "DECIMAL":
        return None
    product = decimal_result("*", type_, _COUNT)
    if product.scale != type_.scale:
        return None
    return Call("*", (value, Call("cast", (count,), _COUNT)), product)


def _branches(argument: Scalar, join: Join) -> tuple[_Branch, ...] | None:
    """Return the branches of an argument, without those that are NULL; None if a condition or a
    value reads both sides."""
    left, right = ({column.id for column in side.columns} for side in join.inputs)
    whole = references(argument) <= left or references(argument) <= right
    found: list[_Branch] = []
    of_left: tuple[Scalar, ...] = ()
    of_right: tuple[Scalar, ...] = ()
    for condition, given in ((None, argument),) if whole else _cases(argument):
        value = given
        if value.type != argument.type:
            value = Call("cast", (value,), argument.type)
        here, there = of_left, of_right
        if condition is not None:
            otherwise = _not_true(condition)
            if references(condition) <= right:
                there, of_right = (*there, condition), (*of_right, otherwise)
            elif references(condition) <= left:
                here, of_left = (*here, condition), (*of_left, otherwise)
            else:
                return None
        if not references(value) <= left and not references(value) <= right:
            return None
        if value != Literal(None, argument.type):
            found.append(_Branch(here, there, value, references(value) <= right))
    return tuple(found) or None


def _cases(argument: Scalar) -> Iterator[tuple[Scalar | None, Scalar]]:
    """Yield the values that an expression chooses from, each with the condition that it is chosen
    by if none before it is; the last one has none."""
    if not isinstance(argument, Call) or argument.name not in _CHOICES:
        yield None, argument
        return
    args = argument.args
    if argument.name in _FIRST_KNOWN:
        args = tuple(x for arg in args[:-1] for x in (Call("isnotnull", (arg,), BOOLEAN), arg))
        args = (*args, argument.args[-1])
    yield from zip(args[:-1:2], args[1::2], strict=True)
    yield None, args[-1]


def _case(condition: Scalar, value: Scalar, otherwise: Scalar) -> Scalar:
    return Call("case", (condition, value, otherwise), value.type)


def _not_true(condition: Scalar) -> Scalar:
    if not is_never_null(condition, frozenset()):
        condition = Call("coalesce", (condition, FALSE), BOOLEAN)
    return Call("not", (condition,), BOOLEAN)


def _where(conditions: tuple[Scalar, ...], value: Scalar) -> Scalar:
    """Return the value where all conditions are true, else NULL."""
    if not conditions:
        return value
    return _case(conjunction(conditions), value, Literal(None, value.type))


def _added(values: list[Scalar], type_: DataType) -> Scalar:
    """Return the sum of the values that are not NULL; NULL if all are."""
    if len(values) == 1:
        return values[0]
    total: Scalar | None = None
    for value in values:
        term = Call("coalesce", (value, Call("cast", (ZERO,), type_)), type_)
        if total is not None:
            term = Call("cast", (Call("+", (total, term), UNKNOWN),), type_)
        total = term
    if total is None:
        raise ValueError("a call has at least one term")
    some = Call("isnotnull", (Call("coalesce", tuple(values), type_),), BOOLEAN)
    return _case(some, total, Literal(None, type_))
