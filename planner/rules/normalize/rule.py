"""The interface of normalization rules, and helpers that several rules use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from forerun.planner.algebra.relational import Filter, Project, Relation
from forerun.planner.algebra.scalar import Ref, Scalar, conjunction, conjuncts
from forerun.planner.algebra.types import Column, ColumnId, DataType
from forerun.planner.props.keys import NamedKeys
from forerun.planner.rules.normalize.safety import can_fail
from forerun.planner.stats.estimate import Estimator
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class NormalizeContext:
    """The context of a rule besides the matched node: fresh column ids, an estimator for join
    orders, and for each source its columns that are declared NOT NULL and its declared ``keys``.

    A declaration may be wrong. So a rule whose result depends on a NOT NULL declaration adds its
    (source, column) to ``relied``; the run checks these in the data, and no others.
    """

    ids: ColumnIds
    estimator: Estimator
    not_null: Mapping[str, frozenset[str]]
    relied: set[tuple[str, str]] = field(default_factory=set)
    keys: NamedKeys = field(default_factory=dict)

    def fresh(self, name: str, type_: DataType) -> Column:
        """Return a new column with a fresh id."""
        return Column(self.ids.next_id(), name, type_)


@dataclass(frozen=True, slots=True)
class NormalizeRule:
    """A rewrite rule for nodes of type ``operator``. ``apply`` returns an equivalent relation with
    the same output columns in the same order, or None if the rule does not apply; its docstring
    begins with the law of the rule."""

    name: str
    operator: type[Relation] | tuple[type[Relation], ...]
    apply: Callable[[Relation, NormalizeContext], Relation | None]


def ids_of(relation: Relation) -> frozenset[ColumnId]:
    """Return the ids of the output columns of a relation."""
    return relation.column_ids


def filtered(relation: Relation, parts: Iterable[Scalar]) -> Relation:
    """Return the relation with a filter on top, without conjuncts that are there already.

    Conjuncts that can fail get a filter of their own: within one AND they would also be evaluated
    on rows for which the conjunct before them is NULL.
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
    """Return the relation restricted to the given columns, in the given order."""
    if relation.columns == columns:
        return relation
    return Project(relation, tuple((column, Ref(column)) for column in columns))


def is_renaming(project: Project) -> bool:
    """Return whether every item of a projection is a plain column."""
    return all(isinstance(scalar, Ref) for _, scalar in project.items)
