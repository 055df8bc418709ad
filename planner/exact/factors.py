"""Take summands apart into products: the part that differs from row to row, and few-valued factors.

``sum(x * f)`` over rows that agree on ``f`` is ``sum(x) * f`` (the distributive law). It holds for
NULLs, too: a NULL in ``x`` is not added, a NULL in ``f`` makes the product of all these rows NULL,
and that is not added either. A CASE gives one value for each row, so a sum of it is the sum of one
part for each of its branches, in which all others are NULL; so each branch has its own factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forerun.planner.algebra.functions import decimal_result
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Scalar,
    is_deterministic,
    references,
    value_places,
)
from forerun.planner.algebra.types import ColumnId
from forerun.planner.exact.narrowing import Narrowing, is_decimal, is_null

_MOST_BRANCHES = 4
"""Each branch of a CASE becomes a sum, which evaluates the conditions again."""


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a sum: over rows that agree on what the ``factors`` read, the sum of ``inner``
    times each of the factors."""

    inner: Scalar
    factors: tuple[Scalar, ...] = ()


def terms_of(scalar: Scalar, given: frozenset[ColumnId], narrowing: Narrowing) -> tuple[Term, ...]:
    """Return terms that add up to the sum of an expression, where a term that is NULL adds nothing.

    Factors read columns of ``given`` only. It is one term without factors where there are none.
    """
    product = _split(scalar, given)
    if product is not None:
        return (product,)
    if isinstance(scalar, Call) and scalar.name == "case" and is_decimal(scalar):
        branches = tuple(_of_branches(scalar, given, narrowing))
        if any(term.factors for term in branches):
            return branches
    return (Term(scalar),)


def _split(scalar: Scalar, given: frozenset[ColumnId]) -> Term | None:
    """Return a product as the factors that read columns of ``given`` only, and all others."""
    factors: list[Scalar] = []
    others: list[Scalar] = []
    for factor in _product(scalar):
        read = references(factor)
        (factors if read and read <= given else others).append(factor)
    if not factors or not any(references(factor) for factor in others):
        return None
    inner = others[0]
    for factor in others[1:]:
        inner = Call("*", (inner, factor), decimal_result("*", inner.type, factor.type))
    scale = inner.type.scale + sum(factor.type.scale for factor in factors)
    return Term(inner, tuple(factors)) if scale == scalar.type.scale else None


def _of_branches(case: Call, given: frozenset[ColumnId], narrowing: Narrowing) -> Iterator[Term]:
    """Yield a term for each branch whose value is a product with factors, and one for the rest.
    Factors are computed for rows of other branches, too, so they are such as never fail."""
    places = [place for place in value_places(case) if not is_null(case.args[place])]
    if len(places) > _MOST_BRANCHES or not is_deterministic(case):
        return
    rest = []
    for place in places:
        product = _split(_as_computed(case.args[place]), given)
        if product is None or not all(narrowing.of(f).bounds for f in product.factors):
            rest.append(place)
        else:
            yield Term(_only(case, (place,), product.inner), product.factors)
    if len(rest) == 1:
        yield Term(_only(case, tuple(rest), _as_computed(case.args[rest[0]])))
    elif rest:
        yield Term(_only(case, tuple(rest)))


def _only(case: Call, places: tuple[int, ...], value: Scalar | None = None) -> Call:
    """Return the CASE with NULL but for the values at these places; with ``value`` at the place, if
    it is one, and in its type."""
    type_ = case.type if value is None else value.type
    args = list(case.args)
    for place in value_places(case):
        if place not in places:
            args[place] = Literal(None, type_)
        elif value is not None:
            args[place] = value
    return Call("case", tuple(args), type_)


def _as_computed(scalar: Scalar) -> Scalar:
    """Return what a cast of a DECIMAL that loses no digit is of: the same values."""
    while isinstance(scalar, Call) and scalar.name == "cast" and is_decimal(scalar):
        given, to = scalar.args[0].type, scalar.type
        whole = to.precision - to.scale
        if given.name != "DECIMAL" or given.scale > to.scale:
            break
        if given.precision - given.scale > whole:
            break
        scalar = scalar.args[0]
    return scalar


def _product(scalar: Scalar) -> list[Scalar]:
    """Return the factors of a product of DECIMALs, flattened."""
    if isinstance(scalar, Call) and scalar.name == "*" and is_decimal(scalar):
        return [factor for arg in scalar.args for factor in _product(arg)]
    return [scalar]
