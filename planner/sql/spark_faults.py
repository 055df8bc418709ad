"""Names the constructs on which Spark itself gives wrong rows, by version.

A plan computes such a query rightly, in stages of its own; the user's text does not. What was
published would depend on what was cheaper that day, so the day is batch by the text: wrong as it is
everywhere else that runs this text on this Spark, the same every day, and named on the day's page.
``tests/spark/test_spark_faults.py`` shows for each entry that Spark still has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Relation,
    Window,
    walk,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar, conjuncts, references
from forerun.planner.algebra.types import ColumnId


@dataclass(frozen=True, slots=True)
class SparkFault:
    """A construct that Spark computes wrongly. ``versions``: the beginnings of the versions that
    have it. ``says`` tells people what comes out; ``found`` says whether a query's operator has
    it."""

    code: str
    says: str
    versions: tuple[str, ...]
    found: Callable[[Relation], bool]


def faults_of(query: Relation, version: str = "") -> tuple[SparkFault, ...]:
    """Return the faults of a version of Spark that a query falls into, each once. A version that is
    not known, as where a plan is made, has all of them."""
    nodes = list(walk(query))
    return tuple(
        fault
        for fault in SPARK_FAULTS
        if (not version or version.startswith(fault.versions))
        and any(fault.found(node) for node in nodes)
    )


def _limited_lookup_with_cast(node: Relation) -> bool:
    """A correlated subquery with LIMIT, of which an equality with the outer query casts a column:
    as algebra a row number over the domain of the outer columns."""
    if not isinstance(node, Window) or not any(
        call.name == "row_number" and call.partition for _, call in node.calls
    ):
        return False
    partition = {c.id for _, call in node.calls for c in call.partition}
    below = list(walk(node))
    if not any(isinstance(one, Join) and _has_domain(one) for one in below):
        return False
    return any(_casts(part, partition) for one in below for part in _conditions(one))


def _has_domain(join: Join) -> bool:
    domains = (one for side in join.inputs for one in (side, *side.inputs))
    return join.kind is JoinKind.INNER and any(
        isinstance(one, Aggregate) and not one.calls for one in domains
    )


def _conditions(node: Relation) -> Iterator[Scalar]:
    if isinstance(node, Filter):
        yield from conjuncts(node.predicate)
    elif isinstance(node, Join):
        yield from conjuncts(node.condition)


def _casts(part: Scalar, partition: set[ColumnId]) -> bool:
    if not isinstance(part, Call) or part.name not in ("=", "<=>"):
        return False
    if not references(part) & partition or references(part) <= partition:
        return False
    return any(
        isinstance(side, Call) and side.name == "cast" and _is_column(side.args[0])
        for side in part.args
    )


def _is_column(scalar: Scalar) -> bool:
    while isinstance(scalar, Call) and scalar.name == "cast":
        scalar = scalar.args[0]
    return isinstance(scalar, Ref)


SPARK_FAULTS = (
    SparkFault(
        code="limited-lookup-with-cast",
        says="a correlated subquery with LIMIT whose equality with the outer query casts a column "
        "(INT beside BIGINT) gives NULL for most rows; cast the column in a subquery of FROM",
        versions=("4.0.", "4.1."),
        found=_limited_lookup_with_cast,
    ),
)
