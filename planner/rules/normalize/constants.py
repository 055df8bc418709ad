"""Boolean simplification. Of what has values only whole numbers and texts are compared, for being
the same: arithmetic, casts and orders are never evaluated here, so that their results are Spark's.
"""

from __future__ import annotations

from forerun.planner.algebra.relational import Filter, Join, JoinKind, Relation
from forerun.planner.algebra.scalar import (
    FALSE,
    TRUE,
    Call,
    Literal,
    Scalar,
    conjunction,
    conjuncts,
    connected,
    operands,
)
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import BOOLEAN, STRING
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule
from forerun.planner.rules.normalize.safety import can_fail

_SAMENESS = {"=": True, "<=>": True, "<>": False}
"""Comparisons, and what they say of two values that are the same."""
_WHOLE = ("i", "l")


def simplify(scalar: Scalar) -> Scalar:
    """Return an expression with the same three-valued result, without literal operands of AND, OR
    and NOT, with the common conjuncts of a disjunction factored out, and with what it says of two
    literals that are known to be the same, or not to be."""
    if not isinstance(scalar, Call):
        return scalar
    if scalar.name in _SAMENESS:
        return _compared(scalar)
    if scalar.name not in ("and", "or", "not"):
        return scalar
    args = tuple(simplify(arg) for arg in scalar.args)
    if scalar.name == "not":
        return _negated(args[0])
    if scalar.name == "and":
        return _joined("and", args, unit=TRUE, zero=FALSE)
    return factored(_joined("or", args, unit=FALSE, zero=TRUE))


def _compared(call: Call) -> Scalar:
    """Texts without a collation are the same if they have the same characters, whole numbers if
    they have the same value. NULLs, and values of other types, are left to Spark."""
    match call.args:
        case (Literal(text=str(one), type=type_), Literal(text=str(other), type=also)):
            if type_ != also or (type_ != STRING and kind_of(type_) not in _WHOLE):
                return call
            same = one == other if type_ == STRING else int(one) == int(other)
            return TRUE if same == _SAMENESS[call.name] else FALSE
        case _:
            return call


def _negated(arg: Scalar) -> Scalar:
    if arg in (TRUE, FALSE):
        return FALSE if arg == TRUE else TRUE
    if isinstance(arg, Literal):
        return arg
    if isinstance(arg, Call) and arg.name == "not":
        return arg.args[0]
    return Call("not", (arg,), BOOLEAN)


def _joined(name: str, args: tuple[Scalar, ...], unit: Literal, zero: Literal) -> Scalar:
    parts = [p for arg in args for p in operands(name, arg) if p != unit]
    if zero in parts:
        return zero
    unique = tuple(dict.fromkeys(parts))
    if not unique:
        return unit
    return connected(name, unique)


def factored(scalar: Scalar) -> Scalar:
    """``(a and x) or (a and y)`` = ``a and (x or y)``.

    Distributivity holds in Kleene's logic, so also where a, x or y is NULL. A branch that is
    nothing but the common part makes the disjunction redundant: ``a or (a and y)`` = ``a``. Not
    for an ``a`` that can fail: it would be evaluated where x and y are false.
    """
    branches = [conjuncts(branch) for branch in operands("or", scalar)]
    shared = (p for p in branches[0] if all(p in branch for branch in branches[1:]))
    common = tuple(p for p in shared if not can_fail(p))
    if len(branches) == 1 or not common:
        return scalar
    rests = tuple(conjunction(tuple(p for p in branch if p not in common)) for branch in branches)
    return conjunction((*common, *conjuncts(_joined("or", rests, unit=FALSE, zero=TRUE))))


def _simplify_filter(node: Relation, _: NormalizeContext) -> Relation | None:
    """``filter[p](R)`` = ``filter[p'](R)``; ``filter[true](R)`` = ``R``.

    Where the predicate is a WHERE, a NULL conjunct keeps a row out just as FALSE does.
    Not for a predicate in a projection: there NULL and FALSE differ.
    """
    if not isinstance(node, Filter):
        return None
    simple = _as_condition(node.predicate)
    if simple == TRUE:
        return node.input
    return None if simple == node.predicate else Filter(node.input, simple)


def _simplify_condition(node: Relation, _: NormalizeContext) -> Relation | None:
    """``L join[c] R`` = ``L join[c'] R``, as for filters: what is true joins.

    A MARK join's condition is a value: NULL stays NULL there.
    """
    if not isinstance(node, Join):
        return None
    is_value = node.kind is JoinKind.MARK
    simple = simplify(node.condition) if is_value else _as_condition(node.condition)
    if simple == node.condition:
        return None
    return Join(node.kind, node.left, node.right, simple, node.mark)


def _as_condition(predicate: Scalar) -> Scalar:
    parts = tuple(dict.fromkeys(conjuncts(simplify(predicate))))
    if FALSE in parts or any(isinstance(p, Literal) and p.text is None for p in parts):
        return FALSE
    return conjunction(parts)


SIMPLIFY_FILTER = NormalizeRule("SimplifyFilter", Filter, _simplify_filter)
SIMPLIFY_CONDITION = NormalizeRule("SimplifyJoinCondition", Join, _simplify_condition)
