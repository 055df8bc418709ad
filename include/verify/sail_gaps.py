"""The gaps of ``equal`` on the small engine: constructs on which Sail differs from Spark in
silence.

The plain query and the stages both run on Sail there. Where Sail gets the plain query wrong, the
comparison says that Forerun's stages give what Sail gives, or that they differ because they are
right: it says nothing of Spark. So each such construct is named; ``--engine spark`` covers it.

``tests/include/verify/test_sail_gaps.py`` shows for each entry that Sail still differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    SetKind,
    SetOperation,
    UnionAll,
    Values,
    Window,
    walk,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar, conjuncts
from forerun.planner.algebra.scalar import walk as walk_scalar
from forerun.planner.algebra.types import DataType
from forerun.planner.exact.quotients import QUOTIENT_DIGITS
from forerun.planner.sql.query_block.one_row_subqueries import has_exists_over_one_row


@dataclass(frozen=True, slots=True)
class EngineGap:
    """One construct whose result differs from Spark's. ``says`` tells people what the engine does;
    ``found`` says whether a query's operator has the construct. ``only_text``: the user's own text
    has it, and stages that are written for the engine do not. ``in_text`` says whether a text has
    what its algebra does not show."""

    code: str
    says: str
    found: Callable[[Relation], bool] = lambda _: False
    only_text: bool = False
    in_text: Callable[[str], bool] = lambda _: False


def gaps_of(query: Relation, gaps: tuple[EngineGap, ...], sql: str = "") -> tuple[EngineGap, ...]:
    """Return the gaps of an engine that a query falls into, each once; ``sql`` is its text, if that
    runs there."""
    nodes = list(walk(query))
    return tuple(
        gap for gap in gaps if any(gap.found(node) for node in nodes) or (sql and gap.in_text(sql))
    )


def _range_of_dates(node: Relation) -> bool:
    return isinstance(node, Window) and any(
        _OFFSET.search(call.frame) and call.order and call.order[0].column.type.name == "DATE"
        for _, call in node.calls
    )


_OFFSET = re.compile(r"^RANGE\b.*(INTERVAL|[0-9])", re.IGNORECASE)


def _not_in_as_value(node: Relation) -> bool:
    """NOT IN that is neither a conjunct of WHERE nor HAVING: the join that marks matches is asked
    for NULL, too."""
    return (
        isinstance(node, Join)
        and node.kind is JoinKind.MARK
        and any(
            isinstance(part, Call) and part.name == "isnull" for part in walk_scalar(node.condition)
        )
    )


def _extreme_of_doubles(node: Relation) -> bool:
    if not isinstance(node, Aggregate | Window):
        return False
    return any(
        call.name in ("min", "max") and call.args and _type(call.args[0]).name in _FLOATING
        for _, call in node.calls
    )


def _partitions_of_doubles(node: Relation) -> bool:
    return isinstance(node, Window) and any(
        column.type.name in _FLOATING for _, call in node.calls for column in call.partition
    )


def _percentile_frequencies(node: Relation) -> bool:
    return isinstance(node, Aggregate) and any(
        call.name == "percentile" and len(call.args) > 2 for _, call in node.calls
    )


def _float_in_arithmetic(node: Relation) -> bool:
    return any(
        call.name in _ARITHMETIC
        and call.type.name == "DOUBLE"
        and any(kind is not None and kind.name == "FLOAT" for kind in map(_cast_from, call.args))
        for call in _calls(node)
    )


def _mixed_branches(node: Relation) -> bool:
    """A branch that is cast, column by column under its own name, to go with the others."""
    if not isinstance(node, UnionAll | SetOperation):
        return False
    return any(
        isinstance(branch, Project)
        and any(
            _is_other_kind(scalar)
            and isinstance(scalar, Call)
            and isinstance(scalar.args[0], Ref)
            and scalar.args[0].column.name == column.name
            for column, scalar in branch.items
        )
        for branch in node.inputs
    )


def _mixed_values(node: Relation) -> bool:
    return any(
        call.name in ("coalesce", "case", "greatest", "least")
        and any(_is_other_kind(arg) for arg in call.args)
        for call in _calls(node)
    )


def _intersect_all(node: Relation) -> bool:
    return isinstance(node, SetOperation) and node.kind is SetKind.INTERSECT and node.all


def _set_of_nothing(node: Relation) -> bool:
    """GROUPING SETS, ROLLUP and CUBE are a join with the numbers of their sets."""
    if not isinstance(node, Join) or not isinstance(node.right, Values):
        return False
    return [column.name for column in node.right.listed] == ["grouping_id"]


def _long_quotient(node: Relation) -> bool:
    """A quotient of DECIMALs to which Spark gives more digits than Sail computes."""
    return any(
        call.name == "/"
        and call.type.name == "DECIMAL"
        and call.type.scale > _type(call.args[0]).scale + QUOTIENT_DIGITS
        for call in _calls(node)
    )


def _not_in_by_more(node: Relation) -> bool:
    """NOT IN whose subquery is correlated: the join that leaves matches out asks for NULL, too, and
    for more."""
    return (
        isinstance(node, Join)
        and node.kind is JoinKind.ANTI
        and len(parts := list(conjuncts(node.condition))) > 1
        and any(_tests_null(part) for part in parts)
    )


def _tests_null(part: Scalar) -> bool:
    return any(
        isinstance(one, Call) and one.name == "isnull" and isinstance(one.args[0], Call)
        for one in walk_scalar(part)
    )


SAIL_GAPS = (
    EngineGap(
        "range-of-dates",
        "Sail takes a RANGE frame over dates with an offset for all rows before",
        _range_of_dates,
    ),
    EngineGap(
        "not-in-as-value",
        "Sail takes NOT IN for true where the subquery has NULL, if it stands below OR",
        _not_in_as_value,
    ),
    EngineGap(
        "not-in-by-more",
        "Sail takes NOT IN with a correlated subquery for false where the left side is NULL and "
        "the subquery has no row",
        _not_in_by_more,
        only_text=True,
    ),
    EngineGap(
        "extreme-of-doubles",
        "Sail's MIN and MAX leave out NaN, and turn infinities into the largest number",
        _extreme_of_doubles,
    ),
    EngineGap(
        "partitions-of-doubles",
        "Sail's windows tell -0.0 from 0.0 where they are partitioned by a floating-point number",
        _partitions_of_doubles,
    ),
    EngineGap(
        "percentile-frequencies",
        "Sail's PERCENTILE takes no notice of how often a value comes, its third argument",
        _percentile_frequencies,
    ),
    EngineGap(
        "float-in-arithmetic",
        "Sail computes FLOAT with other numbers in FLOAT, Spark in DOUBLE",
        _float_in_arithmetic,
    ),
    EngineGap(
        "mixed-branches",
        "Sail gives branches of different numeric types another common type than Spark",
        _mixed_branches,
    ),
    EngineGap(
        "mixed-values",
        "Sail gives COALESCE and CASE of different numeric types another type than Spark",
        _mixed_values,
    ),
    EngineGap(
        "exists-one-row",
        "Sail takes EXISTS over an aggregate without GROUP BY for false where there is no row",
        only_text=True,
        in_text=has_exists_over_one_row,
    ),
    EngineGap("intersect-all", "Sail's INTERSECT ALL keeps too many copies", _intersect_all),
    EngineGap(
        "set-of-nothing",
        "Sail has a row for the empty grouping set where no row qualifies, Spark has none",
        _set_of_nothing,
    ),
    EngineGap(
        "long-quotient",
        "Sail computes four digits more of a quotient of DECIMALs than its dividend has, and cuts "
        "off those that Spark gives after them",
        _long_quotient,
        only_text=True,
    ),
)

_FLOATING = {"FLOAT", "DOUBLE"}
_ARITHMETIC = {"+", "-", "*", "/", "%"}
_KINDS = {
    "TINYINT": "whole", "SMALLINT": "whole", "INT": "whole", "BIGINT": "whole",
    "DECIMAL": "decimal", "FLOAT": "float", "DOUBLE": "double",
}  # fmt: skip


def _type(scalar: Scalar) -> DataType:
    return scalar.column.type if isinstance(scalar, Ref) else scalar.type


def _cast_from(scalar: Scalar) -> DataType | None:
    """The type that a cast is from; None for what is no cast."""
    if isinstance(scalar, Call) and scalar.name == "cast":
        return _type(scalar.args[0])
    return None


def _is_other_kind(scalar: Scalar) -> bool:
    before = _cast_from(scalar)
    kinds = (_KINDS.get(before.name) if before else None, _KINDS.get(_type(scalar).name))
    return None not in kinds and kinds[0] != kinds[1]


def _calls(node: Relation) -> Iterator[Call]:
    """Every call in the scalars of an operator."""
    scalars: tuple[Scalar, ...] = ()
    if isinstance(node, Project):
        scalars = tuple(scalar for _, scalar in node.items)
    elif isinstance(node, Filter):
        scalars = (node.predicate,)
    elif isinstance(node, Join):
        scalars = (node.condition,)
    elif isinstance(node, Aggregate | Window):
        scalars = tuple(arg for _, call in node.calls for arg in call.args)
    for scalar in scalars:
        yield from (part for part in walk_scalar(scalar) if isinstance(part, Call))
