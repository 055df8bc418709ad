"""What a normalization rule is, and what rules may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from planner.algebra.relational import Filter, Project, Relation
from planner.algebra.scalar import Ref, Scalar, conjunction, conjuncts
from planner.algebra.types import Column, ColumnId, DataType
from planner.rules.normalize.safety import can_fail
from planner.stats.estimate import Estimator
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule may use besides the match: fresh column ids, estimates for join orders, and per
    source the names of the columns that are declared NOT NULL."""

    ids: ColumnIds
    estimator: Estimator
    not_null: Mapping[str, frozenset[str]]

    def fresh(self, name: str, type_: DataType) -> Column:
        return Column(self.ids.next_id(), name, type_)


@dataclass(frozen=True, slots=True)
class Rule:
    """``apply`` answers an equivalent relation with the same output columns in the same order,
    or None where the rule does not apply. Its docstring is the rule's page."""

    name: str
    operator: type[Relation] | tuple[type[Relation], ...]
    apply: Callable[[Relation, Context], Relation | None]


def ids_of(relation: Relation) -> frozenset[ColumnId]:
    return relation.column_ids


def filtered(relation: Relation, parts: Iterable[Scalar]) -> Relation:
    """The relation with a filter on top, without conjuncts that are there already.

    What can fail gets a filter of its own: within one AND it would be evaluated also where what
    stands before it is NULL.
    """
    known = conjuncts(relation.predicate) if isinstance(relation, Filter) else ()
    new = tuple(part for part in dict.fromkeys(parts) if part not in known)
    total = tuple(part for part in new if not can_fail(part))
    if total:
        below = relation.input if isinstance(relation, Filter) else relation
        relation = Filter(below, conjunction((*known, *total)))
    if len(total) == len(new):
        return relation
    return Filter(relation, conjunction(tuple(part for part in new if can_fail(part))))


def reordered(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    """The relation with exactly these of its columns, in this order."""
    if relation.columns == columns:
        return relation
    return Project(relation, tuple((column, Ref(column)) for column in columns))


def is_renaming(project: Project) -> bool:
    """True if every item is a plain column."""
    return all(isinstance(scalar, Ref) for _, scalar in project.items)
