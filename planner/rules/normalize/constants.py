"""Boolean simplification. Arithmetic is never evaluated here: its answers are Spark's."""

from __future__ import annotations

from functools import reduce

from planner.algebra.relational import Filter, Join, JoinKind, Relation
from planner.algebra.scalar import FALSE, TRUE, Call, Literal, Scalar, conjunction, conjuncts
from planner.algebra.types import BOOLEAN
from planner.rules.normalize.rule import Context, Rule
from planner.rules.normalize.safety import can_fail


def simplify(scalar: Scalar) -> Scalar:
    """The same three-valued value with literal operands of AND, OR and NOT removed, and what all
    branches of a disjunction have in common taken out of it."""
    if not isinstance(scalar, Call) or scalar.name not in ("and", "or", "not"):
        return scalar
    args = tuple(simplify(arg) for arg in scalar.args)
    if scalar.name == "not":
        return _negated(args[0])
    if scalar.name == "and":
        return _joined("and", args, unit=TRUE, zero=FALSE)
    return factored(_joined("or", args, unit=FALSE, zero=TRUE))


def _negated(arg: Scalar) -> Scalar:
    if arg in (TRUE, FALSE):
        return FALSE if arg == TRUE else TRUE
    if isinstance(arg, Literal):
        return arg
    if isinstance(arg, Call) and arg.name == "not":
        return arg.args[0]
    return Call("not", (arg,), BOOLEAN)


def parts_of(name: str, scalar: Scalar) -> tuple[Scalar, ...]:
    """The flattened operands of AND or OR; a scalar that is neither is its own only operand."""
    if isinstance(scalar, Call) and scalar.name == name:
        return tuple(part for arg in scalar.args for part in parts_of(name, arg))
    return (scalar,)


def _joined(name: str, args: tuple[Scalar, ...], unit: Literal, zero: Literal) -> Scalar:
    parts = [p for arg in args for p in parts_of(name, arg) if p != unit]
    if zero in parts:
        return zero
    unique = tuple(dict.fromkeys(parts))
    if not unique:
        return unit
    return reduce(lambda a, b: Call(name, (a, b), BOOLEAN), unique)


def factored(scalar: Scalar) -> Scalar:
    """``(a and x) or (a and y)`` = ``a and (x or y)``.

    Distributivity holds in Kleene's logic, so also where a, x or y is NULL. A branch that is
    nothing but the common part makes the disjunction redundant: ``a or (a and y)`` = ``a``. Not
    for an ``a`` that can fail: it would be evaluated where x and y are false.
    """
    branches = [conjuncts(branch) for branch in parts_of("or", scalar)]
    shared = (p for p in branches[0] if all(p in branch for branch in branches[1:]))
    common = tuple(p for p in shared if not can_fail(p))
    if len(branches) == 1 or not common:
        return scalar
    rests = tuple(conjunction(tuple(p for p in branch if p not in common)) for branch in branches)
    return conjunction((*common, *conjuncts(_joined("or", rests, unit=FALSE, zero=TRUE))))


def _simplify_filter(node: Relation, _: Context) -> Relation | None:
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


def _simplify_condition(node: Relation, _: Context) -> Relation | None:
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


SIMPLIFY_FILTER = Rule("SimplifyFilter", Filter, _simplify_filter)
SIMPLIFY_CONDITION = Rule("SimplifyJoinCondition", Join, _simplify_condition)
