"""NULL tests whose answer is known: above all, NOT IN where neither side can be NULL."""

from __future__ import annotations

from planner.algebra.relational import Filter, Join, Relation
from planner.algebra.scalar import FALSE, TRUE, Call, Scalar, walk
from planner.algebra.types import ColumnId
from planner.props.nullability import is_never_null, not_null
from planner.rules.normalize.rule import Context, Rule

_TESTS = {"isnull": FALSE, "isnotnull": TRUE}


def _known_test(node: Relation, context: Context) -> Relation | None:
    """``filter[x is null](R)`` = ``filter[false](R)`` and ``L anti[x = y or (x = y) is null] R`` =
    ``L anti[x = y] R``, where x and y are not NULL in the inputs.

    What a filter below has rejected, and what a source declares NOT NULL, is known. A column that
    an outer join extends is not, nor is what only the predicate itself rejects.
    """
    if not isinstance(node, Filter | Join):
        return None
    predicate = node.predicate if isinstance(node, Filter) else node.condition
    if not any(isinstance(part, Call) and part.name in _TESTS for part in walk(predicate)):
        return None
    # Without ANSI mode more expressions are NULL: conservative, as the mode is not known here.
    sides = (not_null(side, context.not_null, ansi=False) for side in node.inputs)
    known = frozenset[ColumnId]().union(*sides)
    simple = _replaced(predicate, known)
    if simple == predicate:
        return None
    if isinstance(node, Filter):
        return Filter(node.input, simple)
    return Join(node.kind, node.left, node.right, simple, node.mark)


def _replaced(scalar: Scalar, known: frozenset[ColumnId]) -> Scalar:
    if not isinstance(scalar, Call):
        return scalar
    if scalar.name in _TESTS and is_never_null(scalar.args[0], known, ansi=False):
        return _TESTS[scalar.name]
    args = tuple(_replaced(arg, known) for arg in scalar.args)
    return scalar if args == scalar.args else Call(scalar.name, args, scalar.type)


KNOWN_TEST = Rule("AnswerKnownNullTest", (Filter, Join), _known_test)
