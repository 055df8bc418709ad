"""The small side of a join first: computed and counted before the stage that joins it.

Spark plans a join by what it can tell of the sizes of its sides, which after a filter, a grouping
or another join is next to nothing: it shuffles the large side of a join whose other side turns out
to have a few hundred rows. So the side that the plan expects to be small becomes a view of its own
(:class:`forerun.planner.contract.plan_v1.SmallSide`), which the run computes before the stage. By
then its size is known, and the engine decides by it: it is sent to all workers if it is small, and
if it is not, the join is the one that it would have been.

Only where it can pay: the other side has many rows, and this one is more than a table as it lies,
whose size is known anyway. What the engine takes for so little that it sends it to all workers,
such as a filter of the days of a century, is sent without having been counted, which would take
half a CPU second. A side whose size is a guess is tried up to a larger estimate: to have held it
for nothing costs little beside a shuffle of the other side that was not needed.

Wherever the stage joins the same rows again, the side is read. If it joins them whole, the side
gets all their columns and both joins read it. (TPC-H Q4: otherwise Spark scans and moves
``lineitem`` twice, because it turns a semi join of a union into a union of semi joins.)

A table as it lies that is too large for the engine's own threshold is such a side, too, where own
batch is cheaper by it. Its rows are stated and not counted, so nothing is computed before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping

from forerun.planner.algebra.relational import (
    Join,
    Project,
    Relation,
    Scan,
    StateRead,
    fold,
    walk,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import Column
from forerun.planner.contract.plan_v1 import SIDE, SmallSide
from forerun.planner.cost.small_sides import tells_size
from forerun.planner.cost.told_sizes import Files, told_bytes
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.stages.views import leaf_of, numbered_names, view_columns


class SmallSides:
    """The small sides of one stage, in the order in which they are computed."""

    def __init__(
        self,
        run: int,
        hints: MutableMapping[Relation, str],
        *,
        written: Callable[[Relation], Relation] = lambda relation: relation,
    ) -> None:
        """``hints`` are those of the joins of the stage, as they become known; ``written`` gives
        the relation as the engine is to have it."""
        self._written = written
        self._run = run
        self._hints = hints
        self._read: dict[Relation, Scan] = {}
        self._views: dict[str, str] = {}
        self.made: list[SmallSide] = []
        self.relations: list[Relation] = []

    def first(self, relation: Relation, rows: int = 0) -> Scan:
        """Have the rows computed first, once, and return the leaf that reads them. Sides that are
        the same query are one. ``rows``: how many there are, where that is known."""
        if relation not in self._read:
            computed = self.in_all(relation)
            sql = self._sql(computed)
            if sql not in self._views:
                self._views[sql] = f"{SIDE}{len(self.made) + 1}"
                self.made.append(self._side(self._views[sql], computed, rows))
                self.relations.append(computed)
            self._read[relation] = leaf_of(self._views[sql], relation)
        return self._read[relation]

    def whole(self, relation: Relation) -> Relation:
        """Return the leaf that reads a relation from a side that has some of its columns, and has
        the others, too, from now on; without such a side, the relation."""
        for place, (side, made) in enumerate(zip(self.made, self.relations, strict=True)):
            order = None if side.rows else self._order(made, relation)
            if order is None or not isinstance(made, Project):
                continue
            columns = tuple(made.input.columns[at] for at in order)
            widened = Project(made.input, tuple((column, Ref(column)) for column in columns))
            self.relations[place] = widened
            self.made[place] = self._side(side.view, widened, 0)
            names = dict(zip(order, numbered_names(widened), strict=True))
            return Scan(
                side.view,
                tuple(
                    Column(column.id, names[at], column.type)
                    for at, column in enumerate(relation.columns)
                ),
            )
        return relation

    def in_all(self, relation: Relation) -> Relation:
        """Return a relation in which every input of a join that is the same query as a side reads
        the side. What a query has twice is the same in both places then, and Spark computes it
        once."""
        views = {side.view for side in self.made if not side.rows}
        tables = [_tables(made) for made in self.relations]

        def of_side(rows: Relation) -> Relation:
            if isinstance(rows, Scan) or _tables(rows) not in tables:
                return rows
            view = self._views.get(self._sql(rows))
            return leaf_of(view, rows) if view in views else rows

        def read(node: Relation, inputs: tuple[Relation, ...]) -> Relation:
            if isinstance(node, Join):
                inputs = tuple(map(of_side, inputs))
            moved = [(a, b) for a, b in zip(node.inputs, inputs, strict=True) if a is not b]
            for before, now in moved:
                if before in self._hints and not self.is_read_by(now):
                    self._hints[now] = self._hints[before]
            return node.with_inputs(inputs) if moved else node

        return fold(relation, read) if views else relation

    def _order(self, made: Relation, relation: Relation) -> list[int] | None:
        """Return where the columns of a relation are if those that a side has of it come first, as
        they are; None if it has none of it."""
        if not isinstance(made, Project) or made.input.columns != relation.columns:
            return None
        read = [item.column for _, item in made.items if isinstance(item, Ref)]
        if len(set(read)) < len(made.items) or self._sql(made.input) != self._sql(relation):
            return None
        first = [relation.columns.index(column) for column in read]
        return [*first, *(at for at in range(len(relation.columns)) if at not in first)]

    def _side(self, view: str, relation: Relation, rows: int) -> SmallSide:
        columns = view_columns(relation)
        return SmallSide(view=view, sql=self._sql(relation), columns=columns, rows=rows)

    def _sql(self, relation: Relation) -> str:
        names = numbered_names(relation)
        return to_sql(self._written(relation), run=self._run, names=names, hints=self._hints)

    def is_read_by(self, relation: Relation) -> bool:
        """Return whether a relation is one of these views as it lies, or columns of it."""
        while isinstance(relation, Project):
            relation = relation.input
        return isinstance(relation, Scan) and any(
            relation.source == side.view for side in self.made
        )

    def are_in(self, relation: Relation) -> bool:
        """Return whether a relation is computed of one of these views that was counted."""
        counted = {side.view for side in self.made if not side.rows}
        return any(isinstance(node, Scan) and node.source in counted for node in walk(relation))


def _tables(relation: Relation) -> Counter[str]:
    return Counter(node.source for node in walk(relation) if isinstance(node, Scan))


def is_known(relation: Relation) -> bool:
    """Return whether the engine can tell the size of a relation (:func:`tells_size`)."""
    while isinstance(relation, Project):
        relation = relation.input
    return tells_size(relation)


def is_sent(relation: Relation, files: Mapping[str, Files], most: float) -> bool:
    """Return whether the engine takes a relation for less than ``most`` bytes by the files of the
    sources, so that it sends it to all workers without having counted it. Of what a run keeps or
    computes first it is told otherwise."""
    leaves = [node for node in walk(relation) if isinstance(node, Scan | StateRead)]
    if any(isinstance(node, StateRead) or node.source not in files for node in leaves):
        return False
    return fold(relation, lambda node, below: told_bytes(node, below, files)) < most
