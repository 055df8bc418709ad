"""Replaces NULL tests whose result is known, mostly from NOT IN where neither side can be NULL."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from forerun.planner.algebra.relational import Filter, Join, Relation, Scan
from forerun.planner.algebra.relational import walk as walk_relations
from forerun.planner.algebra.scalar import FALSE, TRUE, Call, Scalar, walk
from forerun.planner.algebra.types import ColumnId
from forerun.planner.props.nullability import is_never_null, not_null
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule

NotNullColumns = Mapping[str, frozenset[str]]
"""For each source, the names of the columns that are declared NOT NULL."""

_TESTS = {"isnull": FALSE, "isnotnull": TRUE}


def _known_test(node: Relation, context: NormalizeContext) -> Relation | None:
    """``filter[x is null](R)`` = ``filter[false](R)`` and ``L anti[x = y or (x = y) is null] R`` =
    ``L anti[x = y] R``, where x and y are not NULL in the inputs.

    A column is not NULL if a filter below rejects its NULLs or its source declares it NOT NULL, and
    no outer join null-extends it; that the predicate itself rejects NULLs does not count. The
    declarations that the result depends on go to :attr:`NormalizeContext.relied`; runs check them.
    """
    if not isinstance(node, Filter | Join):
        return None
    predicate = node.predicate if isinstance(node, Filter) else node.condition
    if not any(isinstance(part, Call) and part.name in _TESTS for part in walk(predicate)):
        return None
    simple = _simplified(node, predicate, context.not_null)
    if simple == predicate:
        return None
    context.relied.update(_needed(node, predicate, simple, context.not_null))
    if isinstance(node, Filter):
        return Filter(node.input, simple)
    return Join(node.kind, node.left, node.right, simple, node.mark)


def _simplified(node: Relation, predicate: Scalar, declared: NotNullColumns) -> Scalar:
    """Return the predicate with the NULL tests replaced whose result follows from ``declared``."""
    # The ANSI mode is not known here; without it more expressions can be NULL, so assume that.
    sides = (not_null(side, declared, ansi=False) for side in node.inputs)
    return _replaced(predicate, frozenset[ColumnId]().union(*sides))


def _needed(
    node: Relation, predicate: Scalar, simple: Scalar, declared: NotNullColumns
) -> frozenset[tuple[str, str]]:
    """Return a minimal set of declared (source, column) pairs that gives the same result, found by
    leaving out one pair after another. It is empty if the query alone proves the result."""
    if _simplified(node, predicate, {}) == simple:
        return frozenset()
    scans = [scan for scan in walk_relations(node) if isinstance(scan, Scan)]
    left = {
        (scan.source, column.name)
        for scan in scans
        for column in scan.scanned
        if column.name in declared.get(scan.source, ())
    }
    for pair in sorted(left):
        without = left - {pair}
        if _simplified(node, predicate, _by_source(without)) == simple:
            left = without
    return frozenset(left)


def _by_source(pairs: AbstractSet[tuple[str, str]]) -> NotNullColumns:
    found: dict[str, frozenset[str]] = {}
    for source, column in pairs:
        found[source] = found.get(source, frozenset()) | {column}
    return found


def _replaced(scalar: Scalar, known: frozenset[ColumnId]) -> Scalar:
    if not isinstance(scalar, Call):
        return scalar
    if scalar.name in _TESTS and is_never_null(scalar.args[0], known, ansi=False):
        return _TESTS[scalar.name]
    args = tuple(_replaced(arg, known) for arg in scalar.args)
    return scalar if args == scalar.args else Call(scalar.name, args, scalar.type)


KNOWN_TEST = NormalizeRule("AnswerKnownNullTest", (Filter, Join), _known_test)
