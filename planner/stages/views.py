"""Views and checkpoints, which stages read and which are computed before: their columns have
numbered names, whatever the query calls them."""

from __future__ import annotations

from forerun.planner.algebra.relational import Relation, Scan
from forerun.planner.algebra.types import Column
from forerun.planner.contract.digest import digest_of
from forerun.planner.contract.plan_v1 import ColumnSpec, Family, SmallSide


def numbered_names(relation: Relation) -> tuple[str, ...]:
    """Return names for the columns of a relation that do not depend on what they are called."""
    return tuple(f"c{place}" for place in range(len(relation.columns)))


def view_columns(relation: Relation) -> tuple[ColumnSpec, ...]:
    """Return the columns of a view that holds the rows of a relation."""
    names = zip(numbered_names(relation), relation.columns, strict=True)
    return tuple(ColumnSpec(name=name, type=column.type.sql) for name, column in names)


def leaf_of(view: str, relation: Relation) -> Scan:
    """Return the leaf that reads a view as a relation of one plan: its columns are in the order of
    that relation, by its ids."""
    return Scan(
        view,
        tuple(
            Column(column.id, name, column.type)
            for column, name in zip(relation.columns, numbered_names(relation), strict=True)
        ),
    )


def checkpoint_family(title: str, rows: Relation, sql: str, sides: tuple[SmallSide, ...]) -> Family:
    """Return the family that a run stores rows in on its way. It is named by the text that computes
    them, so that a try which plans the run again finds what an earlier one has stored."""
    digest = digest_of(sql, sides)
    return Family(
        id=f"c_{digest[:12]}",
        kind="checkpoint",
        fingerprint=digest,
        title=title,
        columns=view_columns(rows),
    )
