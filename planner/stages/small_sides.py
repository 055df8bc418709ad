"""The small side of a join first: computed and counted before the stage that joins it.

Spark plans a join by what it can tell of the sizes of its sides, which after a filter, a grouping
or another join is next to nothing: it shuffles the large side of a join whose other side turns out
to have a few hundred rows. So the side that the plan expects to be small becomes a view of its own
(:class:`planner.contract.plan_v1.SmallSide`), which the run computes before the stage. By then its
size is known, and the engine decides by it: it is sent to all workers if it is small, and if it is
not, the join is the one that it would have been.

Only where it can pay: the other side has many rows, and this one is more than a table as it lies,
whose size is known anyway. A side whose size is a guess is tried up to a larger estimate: to have
held it for nothing costs little beside a shuffle of the other side that was not needed.

A table as it lies that is too large for the engine's own threshold is such a side, too, where own
batch is cheaper by it. Its rows are stated and not counted, so nothing is computed before.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.algebra.relational import Project, Relation, Scan
from planner.contract.plan_v1 import SIDE, SmallSide
from planner.cost.small_sides import tells_size
from planner.sql.printer import to_sql
from planner.stages.views import leaf_of, numbered_names, view_columns


class SmallSides:
    """The small sides of one stage, in the order in which they are computed."""

    def __init__(self, run: int, hints: Mapping[Relation, str], prefix: str = SIDE) -> None:
        """``hints`` are those of the joins of the stage, as they become known; ``prefix`` is how
        the names of the views begin."""
        self._prefix = prefix
        self._run = run
        self._hints = hints
        self._read: dict[Relation, Scan] = {}
        self.made: list[SmallSide] = []
        self.relations: list[Relation] = []

    def first(self, relation: Relation, rows: int = 0) -> Scan:
        """Have the rows computed first, once, and return the leaf that reads them. Sides that are
        the same query are one. ``rows``: how many there are, where that is known."""
        if relation not in self._read:
            names = numbered_names(relation)
            sql = to_sql(relation, run=self._run, names=names, hints=self._hints)
            view = next((side.view for side in self.made if side.sql == sql), "")
            if not view:
                view = f"{self._prefix}{len(self.made) + 1}"
                columns = view_columns(relation)
                self.made.append(SmallSide(view=view, sql=sql, columns=columns, rows=rows))
            self._read[relation] = leaf_of(view, relation)
            self.relations.append(relation)
        return self._read[relation]

    def is_read_by(self, leaf: Scan) -> bool:
        """Return whether a leaf reads one of these views."""
        return any(leaf.source == side.view for side in self.made)


def is_known(relation: Relation) -> bool:
    """Return whether the engine can tell the size of a relation (:func:`tells_size`)."""
    while isinstance(relation, Project):
        relation = relation.input
    return tells_size(relation)
