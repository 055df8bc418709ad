"""Stages of one run: what is kept first, each after what it reads of this run, then the result.

A kept snapshot becomes a stage that writes this run's partition of its family. What is chosen is
extracted as a relation over sources and families, and printed; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from forerun.planner.algebra.relational import (
    Aggregate,
    Join,
    Project,
    Relation,
    Scan,
    StateRead,
    UnionAll,
    Values,
    Version,
    walk,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.contract.plan_v1 import (
    RUN_COLUMN,
    ArtifactOutput,
    Family,
    FamilyInput,
    SourceInput,
    Stage,
    stated,
)
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices
from forerun.planner.cost.small_sides import sent_table, small_side
from forerun.planner.cost.work import stated_work
from forerun.planner.exact.keys import with_packed_key
from forerun.planner.exact.sums import ExactSums
from forerun.planner.materialize.artifacts import ArtifactFamilies
from forerun.planner.materialize.checkpoints import NO_CHECKPOINTS, Checkpoints
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.reference import Stamped
from forerun.planner.memo.relying import Relying
from forerun.planner.props.emptiness import is_without_rows, union_of
from forerun.planner.sql.frontend import Query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.sql.printing.views import has_panes, view_name
from forerun.planner.stages.flawed import result_output, written_for
from forerun.planner.stages.in_run import in_run
from forerun.planner.stages.shapes import smaller_first
from forerun.planner.stages.small_sides import SmallSides, is_known, is_sent
from forerun.planner.stages.views import checkpoint_family, numbered_names
from forerun.planner.temporal.extraction import ExtractedPlan, inputs_of, start_of
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.solution import ChainId, DpEntry, EntryKey, How
from forerun.planner.temporal.space import Slot, Space
from forerun.planner.tvr.signed import ColumnIds, Signed, consolidate, integer, plus, with_weight

HASH = "SHUFFLE_HASH"
"""Spark sorts both sides of a join of two bucketed tables, because a bucket has a file per run.
Where one side fits in memory for sure, hashing it spares both sorts."""


@dataclass(frozen=True, slots=True)
class StageContext:
    """The context that all runs of a plan share; ``prices`` and ``small_sides`` are those of the
    engine that does a run."""

    space: Space
    chosen: ExtractedPlan
    families: ArtifactFamilies
    group_sizes: GroupSizes
    ids: ColumnIds
    sums: ExactSums
    prices: Prices
    small_sides: bool
    sums_in: int
    """The run whose files ``sums`` has the bounds of. Later ones are planned again."""
    counted: Callable[[int], int]
    """Gives the number by which what is kept knows a run."""
    checkpoints: Mapping[int, Checkpoints]
    """Where the results of runs are cut, by the index of the run."""


class StageBuilder:
    """Builds the stages of the ``index``-th opened run. ``used`` are the families that they read
    and write, ``added`` is what checkpoints cost besides what the search has counted."""

    def __init__(self, context: StageContext, index: int) -> None:
        self._space = context.space
        self._chosen = context.chosen
        self._families = context.families
        self._ids = context.ids
        self._context = context
        self._index = index
        self._run = context.chosen.solution.spans[index].run
        self._counted = context.counted(self._run)
        self._hints: dict[Relation, str] = {}
        self._written = partial(written_for, context.prices, context.ids)
        self._sides: SmallSides
        self._begin_stage()
        self._stored: list[Stage] = []
        self._cuts = NO_CHECKPOINTS
        self.added = 0.0
        self.used: dict[str, Family] = {}

    def build(self, query: Query) -> tuple[Stage, ...]:
        """All stages of the run, in order."""
        stages = [
            self._keep(number, kept, place)
            for number, (kept, place) in enumerate(self._ordered(), 1)
        ]
        chosen = self._chosen
        if self._index in chosen.results:
            early = self._index != chosen.results[-1]
            start = round(self._context.prices.stage_start)
            self._begin_stage()
            self._cuts = self._context.checkpoints.get(self._index, NO_CHECKPOINTS)
            self.added, self._charged = self._cuts.added, dict(self._cuts.costs)
            relation = self._relation(chosen.root, chosen.entry(self._index, chosen.root))
            stages += self._stored
            whole = chosen.result_costs.get(self._index, 0)
            cost = start + (self._cuts.result if self._stored else whole)
            stages.append(
                Stage(
                    id="result",
                    title="the report so far" if early else "the report",
                    sql=self._sql(relation, query.names),
                    inputs=self._inputs(relation),
                    small_sides=tuple(self._sides.made),
                    output=result_output(query, self._context.prices),
                    estimated_rows=self._rows(chosen.root[0]),
                    estimated_cost=stated(cost),
                    work=stated_work(cost),
                )
            )
        return tuple(stages)

    def _ordered(self) -> list[tuple[ChainId, EntryKey]]:
        """This run's partitions, each after those it reads."""
        mine = {k: place for (k, at), place in self._chosen.partitions.items() if at == self._index}
        done: dict[ChainId, EntryKey] = {}
        stack = sorted(mine, reverse=True)
        while stack:
            kept = stack[-1]
            read = [k for k in self._reads(kept, mine[kept]) if k in mine and k not in done]
            if kept in done or not read:
                stack.pop()
                done.setdefault(kept, mine[kept])
            else:
                stack.extend(read)
        return list(done.items())

    def _reads(self, kept: ChainId, place: EntryKey) -> list[ChainId]:
        """The families of which the rows of a partition read this run's partition."""
        found: dict[ChainId, None] = {}
        waiting = [(place, self._chosen.entry(self._index, place, made=True))]
        while waiting:
            at, entry = waiting.pop()
            places, partitions = inputs_of(entry, at, self._index)
            found |= {k: None for k, until in partitions if until == self._index}
            waiting += [(p, entry.moved or self._chosen.entry(self._index, p)) for p in places]
        found.pop(kept, None)
        return list(found)

    def _keep(self, number: int, kept: ChainId, place: EntryKey) -> Stage:
        slot, family = self._space.slots[kept[0]], self._family(kept)
        self._begin_stage()
        rows = self._relation(place, self._chosen.entry(self._index, place, made=True))
        if slot.weighted and place[0] == slot.whole:
            rows = self._with_weight(rows, slot)
        cost = self._chosen.partition_costs[kept, self._index]
        return self._storing(f"keep-{number}", family, rows, place[0], cost)

    def _storing(
        self, name: str, family: Family, rows: Relation, group: GroupId, cost: float
    ) -> Stage:
        """Return the stage that stores rows of a group."""
        return Stage(
            id=name,
            title=family.title,
            sql=self._sql(rows, tuple(column.name for column in family.columns)),
            inputs=self._inputs(rows),
            small_sides=tuple(self._sides.made),
            output=ArtifactOutput(family=family.id),
            estimated_rows=self._rows(group),
            estimated_cost=stated(cost),
            work=stated_work(cost),
        )

    def _checkpoint(self, place: EntryKey, entry: DpEntry) -> Relation:
        """Have a stage of its own store rows of a group, and return the leaf that reads them."""
        above, (group, _, before) = self._sides, place
        self._begin_stage()
        rows = self._computed(place, entry)
        names, title = numbered_names(rows), self._families.title_of(group, rows)
        family = checkpoint_family(title, rows, self._sql(rows, names), tuple(self._sides.made))
        cost = self._cuts.costs[group, before]
        self.added -= self._charged.pop((group, before), 0.0)
        if family.id not in self.used:  # else the same rows are read once more
            self.added += cost
            self.used[family.id] = family
            name = f"checkpoint-{len(self._stored) + 1}"
            self._stored.append(self._storing(name, family, rows, group, cost))
        self._sides = above
        return StateRead(family.id, rows.columns, names, Version.NEW)

    def _rows(self, group: GroupId) -> int:
        """The estimated rows of a group in this run: of a step group, what the step changes."""
        span = self._chosen.solution.spans[self._index]
        as_of = span.step() if group in self._space.steps else span.instant(before=False)
        return stated(self._context.group_sizes.at(group, as_of).rows)

    def _with_weight(self, rows: Relation, slot: Slot) -> Relation:
        weighted = with_weight(Signed(rows), self._ids)
        if weighted.weight is None:
            raise ValueError("with_weight made no weight")
        order = (*self._families.columns(slot)[:-1], weighted.weight)
        return Project(weighted.relation, tuple((c, Ref(c)) for c in order))

    def _sql(self, relation: Relation, names: tuple[str, ...]) -> str:
        relation = self._written(self._sides.in_all(relation))
        return to_sql(relation, run=self._counted, names=names, hints=self._hints)

    def _begin_stage(self) -> None:
        """Forget what only the stage before has."""
        self._sides = SmallSides(self._counted, self._hints, written=self._written)

    def _inputs(self, relation: Relation) -> tuple[SourceInput | FamilyInput, ...]:
        """Return the sources and families that the texts of the stage read, in a fixed order."""
        views: dict[str, SourceInput | FamilyInput] = {}
        texts = (self._sides.in_all(relation), *self._sides.relations)
        for node in (n for text in texts for n in walk(text)):
            if isinstance(node, StateRead):
                views[node.family] = FamilyInput(family=node.family)
            elif isinstance(node, Scan) and not self._sides.is_read_by(node):
                view = view_name(node)
                views[view] = SourceInput(
                    view=view,
                    source=node.source,
                    version="delta" if node.version is Version.DELTA else "snapshot",
                    by_pane=has_panes(node),
                )
        return tuple(views[name] for name in sorted(views))

    # -- extraction ---------------------------------------------------------------------------

    def _relation(self, place: EntryKey, entry: DpEntry) -> Relation:
        """The rows of a group as they were chosen to be had in this run."""
        group, _, before = place
        if entry.moved is not None:
            return self._relation((group, (), before), entry.moved)
        if entry.how is How.EXPRESSION:
            is_cut = (group, before) in self._cuts.costs
            return self._checkpoint(place, entry) if is_cut else self._computed(place, entry)
        if entry.how is How.EMPTY:
            return Values(self._space.memo.group(group).columns, ())
        if entry.how is How.SPLIT:
            parts = (entry.added, (), False)
            return self._relation(parts, self._chosen.entry(self._index, parts))
        if entry.kept is None:
            raise ValueError(f"{place} reads nothing that is kept")
        slot = entry.slot
        if slot is None:
            raise ValueError(f"{place} is read of no slot")
        if entry.expression is not None and isinstance(entry.expression.node, Stamped):
            return self._stamped(entry.kept, slot, entry.expression.node)
        if entry.reads_before and entry.expression is not None:
            names = entry.expression.node.columns
            rows = self._read(entry.kept, slot, Version.OLD, self._index - 1)
            return Project(
                rows, tuple((c, Ref(r)) for c, r in zip(names, rows.columns, strict=True))
            )
        if entry.how is How.READ and group == slot.delta:
            return self._read(entry.kept, slot, Version.DELTA, self._index)
        until = self._index - 1 if before or entry.how is How.ADDED else self._index
        version = Version.NEW if until == self._index else Version.OLD
        rows = self._read(entry.kept, slot, version, until)
        if entry.how is How.ADDED:
            delta = (entry.added, (), False)
            rows = self._added(
                slot, rows, self._relation(delta, self._chosen.entry(self._index, delta))
            )
        if slot.weighted and group == slot.whole:
            weight = self._families.columns(slot)[-1]
            return consolidate(Signed(rows, weight), self._ids)
        return rows

    def _computed(self, place: EntryKey, entry: DpEntry) -> Relation:
        if entry.expression is None or entry.alternative is None:
            raise ValueError("an expression has a way")
        below = [(r.group, r.key, r.before) for r in entry.alternative.requirements]
        inputs = [self._relation(at, self._chosen.entry(self._index, at)) for at in below]
        node = entry.expression.node
        if isinstance(node, Relying):
            return inputs[0]
        if isinstance(node, UnionAll):
            return union_of(node, inputs)
        if isinstance(node, Join):
            inputs = [self._of_side(*one) for one in zip(inputs, below, strict=True)]
        first = self._small_side(node, inputs, below)
        if first is not None:
            rows = self._size(below[first]).rows if is_known(inputs[first]) else 0
            inputs[first] = self._sides.first(inputs[first], stated(rows))
        elif entry.hashed and entry.alternative.hashed_input is not None:
            self._hints[inputs[entry.alternative.hashed_input]] = HASH
        node = in_run(node.with_inputs(tuple(inputs)) if inputs else node, self._counted)
        if isinstance(node, Join) and self._context.prices.hashes_first:
            return smaller_first(node, *map(self._size, below))
        if self._run != self._context.sums_in:
            return node
        if isinstance(node, Aggregate):
            rows, groups = self._size(below[0]).rows, self._size(place).rows
            return self._context.sums.rewritten(node, rows, groups)
        if isinstance(node, Join) and first is not None:
            return with_packed_key(node, self._context.sums.narrowing)
        return node

    def _of_side(self, rows: Relation, at: EntryKey) -> Relation:
        """One side of a join, read from a small side that has columns of the same rows; as it is
        where it lies by its key, or with all its columns would be too large to be sent."""
        placed = at[1] and self._chosen.entry(self._index, at).placed
        large = self._size(at).bytes >= self._context.prices.counted_bytes
        return rows if placed or large else self._sides.whole(rows)

    def _small_side(
        self, node: Relation, inputs: list[Relation], below: list[EntryKey]
    ) -> int | None:
        """Return which input is to be computed first; none where the other one is not moved
        anyway."""
        if not isinstance(node, Join) or not self._context.small_sides:
            return None
        if any(map(is_without_rows, inputs)):
            return None
        joined = replace(node, left=inputs[0], right=inputs[1])
        sizes = self._size(below[0]), self._size(below[1])
        known = is_known(inputs[0]), is_known(inputs[1])
        follows = self._sides.are_in(inputs[0]), self._sides.are_in(inputs[1])
        side = small_side(joined, sizes, known, self._context.prices, follows)
        if side is None:
            side = sent_table(joined, sizes, known, self._context.prices)
            # Where it is wanted by its key, moving both sides was cheaper; what is computed before
            # has been counted.
            if side is None or below[side][1] or self._sides.is_read_by(inputs[side]):
                return None
            return side
        large, files = below[1 - side], self._context.group_sizes.files(self._index)
        if large[1] and self._chosen.entry(self._index, large).placed:
            return None
        return None if is_sent(inputs[side], files, self._context.prices.broadcast_bytes) else side

    def _size(self, place: EntryKey) -> Size:
        group, _, before = place
        span = self._chosen.solution.spans[self._index]
        of_step = group in self._space.steps
        as_of = span.step() if of_step else span.instant(before=before)
        return self._context.group_sizes.at(group, as_of)

    def _added(self, slot: Slot, old: Relation, change: Relation) -> Relation:
        columns = self._families.columns(slot)
        weight = columns[-1] if slot.weighted else None
        data = columns[:-1] if slot.weighted else columns
        total = plus((Signed(old, weight), Signed(change, weight)), data, self._ids)
        if total.weight is None or weight is None:
            return total.relation
        items = (*((c, Ref(c)) for c in data), (weight, Ref(total.weight)))
        return Project(total.relation, items)

    def _read(self, kept: ChainId, slot: Slot, version: Version, until: int) -> Relation:
        family = self._family(kept, until)
        columns = self._families.columns(slot)
        names = tuple(column.name for column in family.columns)
        if slot.weighted and not family.signed:  # plain rows: each counts once
            data, weight = columns[:-1], columns[-1]
            rows = StateRead(family.id, data, names, version)
            return Project(rows, (*((c, Ref(c)) for c in data), (weight, integer(1))))
        return StateRead(family.id, columns, names, version)

    def _stamped(self, kept: ChainId, slot: Slot, node: Stamped) -> Relation:
        family = self._family(kept)
        names = {
            column.id: spec.name
            for column, spec in zip(self._families.columns(slot), family.columns, strict=True)
        }
        stored = (*(names[column.id] for column in node.given), RUN_COLUMN)
        return StateRead(family.id, node.columns, stored, Version.NEW)

    def _family(self, kept: ChainId, until: int | None = None) -> Family:
        at = self._index if until is None else until
        start = start_of(self._chosen, kept, at)
        if start is None:
            start = self._families.committed_start(kept)
        if start is not None:
            family = self._families.family(kept, start)
        else:
            family = self._families.read_only[kept]
        self.used[family.id] = family
        return family
