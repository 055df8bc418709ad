"""Sums of DECIMALs by long arithmetic: the same values from narrower types and fewer products.

Spark adds up DECIMALs of at most 8 digits as longs, and computes with all others by big integers.
Declared types are rarely that narrow, while the values often are: a price below a million has 8
digits in a DECIMAL(12,2). Two rewrites of an aggregate use the bounds of the files that a run
reads:

* **Narrowing.** In ``sum(e)`` each column of ``e`` is cast to the digits that its bounds need
  (:mod:`forerun.planner.exact.narrowing`). The sum is cast to the type that it had.
* **Factoring.** ``sum(x * f)`` where ``f`` has columns of few values only is the sum over their
  values of ``sum(x) * f``: the rows are grouped by these columns as well, each group is multiplied
  once, and the groups are added up. A CASE is summed branch by branch, each with its own factors
  (:mod:`forerun.planner.exact.factors`). Counts are added up, minima and maxima taken of each
  other, and means taken apart into sums and counts (:mod:`forerun.planner.exact.means`).

Bounds are a declaration of the files' footers. Where one is wrong a cast fails, and with it the
run: no sum is ever wrong by it. Functions whose result depends on the order of the rows, as sums of
DOUBLEs do, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from forerun.planner.algebra.aggregates.functions import function, result_type
from forerun.planner.algebra.aggregates.record import Empty, Mean
from forerun.planner.algebra.functions import MAX_PRECISION, decimal_result
from forerun.planner.algebra.relational import Aggregate, AggregateCall, Project, Relation, walk
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    is_deterministic,
    references,
    substitute,
)
from forerun.planner.algebra.types import BIGINT, Column, ColumnId, DataType
from forerun.planner.cost.operators import LONG_SUM_DIGITS
from forerun.planner.exact.factors import Term, terms_of
from forerun.planner.exact.means import without_means
from forerun.planner.exact.narrowing import Narrowing, cast_to, is_decimal
from forerun.planner.request import Source
from forerun.planner.tvr.signed import ColumnIds

_MOST_COMBINATIONS = 1_000
"""Grouping also by factors pays while all groups fit into a small hash table."""
_ROWS_OF_A_GROUP = 100
"""... and while each of them stands for many rows."""
_LEAST_ROWS = 3e6
"""Rows that are worth a second grouping, which is code to generate and run cold: over 1.2 million,
TPC-H Q6 for thirty days at scale 10, products took 0.8 CPU seconds less."""
_MOST_ROWS = 1e9
"""A sum of n digits has ten more in Spark. So many rows, even if a join were ten times larger than
is estimated, do not fill them."""


class ExactSums:
    """Rewrites aggregates by what is known of the columns of a query's sources."""

    def __init__(self, relation: Relation, sources: Iterable[Source], ids: ColumnIds) -> None:
        """``sources`` have the bounds of exactly the files that the run reads."""
        self.narrowing = Narrowing(relation, sources)
        self._ids = ids

    def rewritten(self, node: Aggregate, rows: float, groups: float) -> Relation:
        """Return a relation of the same rows, or the node itself where nothing is gained.

        ``rows`` and ``groups`` are the estimates for its input and its output.
        """
        if rows > _MOST_ROWS:
            return node
        inlined = _inlined(node)
        exact = self._exact(inlined, rows, groups)
        return node if exact is inlined else exact

    def computed(self, node: Aggregate, rows: float, groups: float) -> Aggregate:
        """Return the aggregate that is computed over the rows in place of the node, or the node. It
        has no other aggregate below."""
        if not self.narrowing.has_bounds:
            return node
        made = [n for n in walk(self.rewritten(node, rows, groups)) if isinstance(n, Aggregate)]
        return made[-1]

    def _exact(self, node: Aggregate, rows: float, groups: float) -> Relation:
        sums, finished = without_means(node, self._ids)
        parts = self._regrouped(sums, rows, groups)
        if parts is not None:
            return Project(parts, finished) if finished else parts
        calls = tuple((column, self._narrowed(call)) for column, call in node.calls)
        if all(new is old for (_, new), (_, old) in zip(calls, node.calls, strict=True)):
            return node
        made = [(self._result(column, call), call) for column, call in calls]
        items: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in node.keys]
        for (column, _), (new, _) in zip(calls, made, strict=True):
            items.append((column, cast_to(Ref(new), column.type)))
        return Project(Aggregate(node.input, node.keys, tuple(made)), tuple(items))

    def _narrowed(self, call: AggregateCall) -> AggregateCall:
        """Return a sum over the narrowest types, if it gains by them."""
        if not _is_sum(call) or call.distinct or not is_decimal(call.args[0]):
            return call
        old = call.args[0].type.precision
        new = self.narrowing.of(call.args[0])
        digits = new.scalar.type.precision
        if new.bounds is None or not digits <= LONG_SUM_DIGITS < old:
            return call
        return AggregateCall("sum", (new.scalar,), where=call.where)

    # -- factoring ----------------------------------------------------------------------------

    def _regrouped(self, node: Aggregate, rows: float, groups: float) -> Relation | None:
        """Return the aggregate over groups of its factors; None where that is not worth it."""
        if rows < _LEAST_ROWS:
            return None
        few = frozenset(
            column.id
            for column in node.input.columns
            if self.narrowing.combinations((column,)) <= _MOST_COMBINATIONS
        )
        keys = frozenset(key.id for key in node.keys)
        terms: list[tuple[Term, ...]] = []
        for _, call in node.calls:
            if call.distinct or function(call.name).merged_by is None or not _reorders(call):
                return None
            terms.append(self._terms(call, few | keys))
        read = {i for one in terms for term in one for f in term.factors for i in references(f)}
        factors = tuple(c for c in node.input.columns if c.id in read - keys)
        combinations = self.narrowing.combinations(factors)
        if combinations > _MOST_COMBINATIONS or rows < _ROWS_OF_A_GROUP * groups * combinations:
            return None
        return self._over_groups(node, terms, factors) if factors else None

    def _terms(self, call: AggregateCall, given: frozenset[ColumnId]) -> tuple[Term, ...]:
        """Return the terms of a sum with factors in narrow types; of other calls none, and of a sum
        for which the digits of a DECIMAL would not do one without factors."""
        if not _is_sum(call):
            return ()
        (argument,) = call.args
        terms = tuple(
            Term(term.inner, tuple(self.narrowing.of(factor).scalar for factor in term.factors))
            for term in terms_of(argument, given, self.narrowing)
        )
        types = [self._type(term, call) for term in terms]
        return terms if _can_be_added(types) else (Term(argument),)

    def _type(self, term: Term, call: AggregateCall) -> DataType | None:
        """Return the type of what the groups make of a term; None where no DECIMAL has so many
        digits."""
        total = self._sum_of(term, call)
        type_ = result_type(total.name, tuple(arg.type for arg in total.args))
        for factor in term.factors:
            if type_.precision + factor.type.precision + 1 > MAX_PRECISION:
                return None
            type_ = decimal_result("*", type_, factor.type)
        return result_type(total.name, (type_,))

    def _sum_of(self, term: Term, call: AggregateCall) -> AggregateCall:
        return self._narrowed(AggregateCall("sum", (term.inner,), where=call.where))

    def _over_groups(
        self,
        node: Aggregate,
        terms: Iterable[tuple[Term, ...]],
        factors: tuple[Column, ...],
    ) -> Relation:
        within: dict[AggregateCall, Column] = {}
        over: list[tuple[Column, AggregateCall]] = []
        items: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in node.keys]

        def merged(
            column: Column, part: AggregateCall, by: tuple[Scalar, ...], name: str
        ) -> Column:
            """The column of what the groups make of a part, each times its factors."""
            if part not in within:
                within[part] = self._result(column, part)
            value: Scalar = Ref(within[part])
            for factor in by:
                value = Call("*", (value, factor), decimal_result("*", value.type, factor.type))
            whole = AggregateCall(name, (value,))
            over.append((self._result(column, whole), whole))
            return over[-1][0]

        for (column, call), parts in zip(node.calls, terms, strict=True):
            name = function(call.name).merged_by or call.name
            made = [merged(column, self._sum_of(t, call), t.factors, name) for t in parts]
            total = _added([Ref(one) for one in made or [merged(column, call, (), name)]])
            total = cast_to(total, column.type)
            if function(call.name).empty is Empty.ZERO and not node.keys:  # no groups to add up
                total = Call("coalesce", (total, Literal("0", BIGINT)), BIGINT)
            items.append((column, total))
        grouped = Aggregate(
            node.input, (*node.keys, *factors), tuple((c, call) for call, c in within.items())
        )
        return Project(Aggregate(grouped, node.keys, tuple(over)), tuple(items))

    def _result(self, like: Column, call: AggregateCall) -> Column:
        type_ = result_type(call.name, tuple(arg.type for arg in call.args))
        return self._ids.of_type(like.name, type_)


def _can_be_added(types: list[DataType | None]) -> bool:
    """Return whether sums of these types are added up without loss of a digit."""
    total = types[0]
    for type_ in types[1:]:
        if total is None or type_ is None:
            return False
        both = decimal_result("+", total, type_)
        if both.scale < max(total.scale, type_.scale):
            return False
        total = both
    return total is not None


def _added(sums: list[Scalar]) -> Scalar:
    """Return the sum of sums, of which NULL is one over nothing and adds nothing."""
    total = sums[0]
    for part in sums[1:]:
        type_ = decimal_result("+", total.type, part.type)
        both = Call("+", (total, part), type_)
        total = Call("coalesce", (both, cast_to(total, type_), cast_to(part, type_)), type_)
    return total


def _inlined(node: Aggregate) -> Aggregate:
    """Return the aggregate with its arguments in terms of the columns below a projection that
    computes them: bounds are known of these, not of what is computed."""
    below = node.input
    if not isinstance(below, Project):
        return node
    made = {column.id: scalar for column, scalar in below.items}
    if not all(is_deterministic(scalar) for scalar in made.values()):
        return node
    calls = tuple(
        (column, replace(call, args=tuple(substitute(arg, made) for arg in call.args)))
        for column, call in node.calls
    )
    inside = {column.id: column for column in below.input.columns}
    read = sorted({i for _, call in calls for arg in call.args for i in references(arg)})
    kept = {key.id for key in node.keys}
    kept |= {i for _, call in calls if call.where is not None for i in references(call.where)}
    items = [item for item in below.items if item[0].id in kept]
    there = {column.id for column, _ in items}
    items += [(inside[i], Ref(inside[i])) for i in read if i not in there]
    return Aggregate(Project(below.input, tuple(items)), node.keys, calls)


def _reorders(call: AggregateCall) -> bool:
    """Return whether the value does not depend on the order in which rows are added."""
    return not function(call.name).is_rounded(tuple(arg.type for arg in call.args))


def _is_sum(call: AggregateCall) -> bool:
    return function(call.name).mean is Mean.SUM
