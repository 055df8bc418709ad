"""What the temporal search is over: groups in order, what can be kept, and wanted distributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.algebra.predicates import split_condition
from planner.algebra.relational import Aggregate, Filter, Join, Project, Relation, UnionAll, Version
from planner.algebra.scalar import Ref
from planner.algebra.types import Column, ColumnId, DataType
from planner.memo.memo import Expression, GroupId, Memo, Tvr, View
from planner.memo.reference import Stamped

Key = tuple[ColumnId, ...]
"""Columns by whose hash rows are distributed, in order; empty: anyhow."""

Dated = int
"""A group as of this run; or, inverted (``~group``), as of the last one."""


def dated(group: GroupId, before: bool) -> Dated:
    """The group as of this run, or (``before``) as of the last one."""
    return ~group if before else group


@dataclass(frozen=True, slots=True)
class Slot:
    """A snapshot that can be kept as the sum of its deltas, run by run.

    ``whole``: the TVR's own rows, or the states of them: what the first partition of a chain is.
    Where the kept rows carry weights, reading them as ``whole`` consolidates; ``snapshot`` is the
    same with the weights. ``singles``: the delta as states of single rows.
    """

    index: int
    tvr: Tvr
    view: View
    snapshot: GroupId
    delta: GroupId
    whole: GroupId
    singles: GroupId | None = None

    @property
    def weighted(self) -> bool:
        return self.view is View.WEIGHTED


class Space:
    """The part of a memo that a root group can be made of.

    ``splits``: step groups that give a snapshot's rows. ``order``: groups, each after all that it
    is made of (``parts``). ``steps``: groups that depend on the step; ``stamped``: expressions of a
    group that read what another one keeps, with the runs that wrote it. ``wanted``: the
    distributions that some reader of a group would like, the empty one first. ``keys``: how each
    slot may be distributed.
    """

    def __init__(
        self,
        memo: Memo,
        root: GroupId,
        keeps: frozenset[View] | None = None,
        *,
        placed_unions: bool = False,
    ) -> None:
        self._placed_unions = placed_unions
        self.memo = memo
        self.root = memo.leader(root)
        self._keeps = keeps
        self.slots = tuple(_slots(memo, keeps))
        self.by_whole: dict[GroupId, list[Slot]] = {}
        self.by_snapshot: dict[GroupId, list[Slot]] = {}
        self.by_delta: dict[GroupId, list[Slot]] = {}
        for slot in self.slots:
            self.by_whole.setdefault(slot.whole, []).append(slot)
            self.by_delta.setdefault(slot.delta, []).append(slot)
            if slot.weighted:
                self.by_snapshot.setdefault(slot.snapshot, []).append(slot)
        self.splits = {
            memo.leader(tvr.new): memo.leader(tvr.edges[Version.NEW, View.SPLIT])
            for tvr in memo.tvrs
            if (Version.NEW, View.SPLIT) in tvr.edges
        }
        self.steps = frozenset(g.id for g in memo.groups if memo.group(g.id).step)
        self.stamped = dict(_stamped(memo))
        self.order = self._ordered()
        self.place = {group: place for place, group in enumerate(self.order)}
        self.parts = {group: frozenset(self._made_of(group)) for group in self.order}
        self.wanted = self._wanted()
        self.keys = tuple(self._keys(slot) for slot in self.slots)

    def slots_of(self, group: GroupId) -> Iterator[Slot]:
        """What may be kept of the rows of a snapshot group."""
        yield from self.by_whole.get(group, ())
        yield from self.by_snapshot.get(group, ())

    def makeable_by_step(self) -> frozenset[GroupId]:
        """Snapshots that need not be computed whole after the first run: they can be kept; or, of
        what may not be kept, their deltas go into something that can."""
        found = {group for slot in self.slots for group in (slot.whole, slot.snapshot)}
        if self._keeps is not None:
            found |= {self.memo.leader(tvr.new) for tvr in self.memo.tvrs if tvr.has_delta}
        return frozenset(found)

    def is_below(self, part: GroupId, group: GroupId) -> bool:
        """Whether a group comes before another one in the order."""
        place, other = self.place.get(part), self.place.get(group)
        return place is not None and other is not None and place < other

    def place_of(self, slot: Slot) -> int:
        """When in the order a slot can be made; after all else if it is of no use."""
        return self.place.get(slot.whole, len(self.order))

    def _keys(self, slot: Slot) -> tuple[Key, ...]:
        keys = dict.fromkeys(self.wanted.get(slot.whole, ((),)))
        keys |= dict.fromkeys(self.wanted.get(slot.snapshot, ((),)))
        types = {c.id: c.type for c in self.memo.group(slot.snapshot).columns}
        return tuple(key for key in keys if all(is_distributable(types[id_]) for id_ in key))

    def _ordered(self) -> tuple[GroupId, ...]:
        order: list[GroupId] = []
        state: dict[GroupId, int] = {}
        stack: list[tuple[GroupId, bool]] = [(self.root, False)]
        while stack:
            group, ready = stack.pop()
            if ready:
                state[group] = 2
                order.append(group)
            elif group not in state:
                state[group] = 1
                stack.append((group, True))
                # A group on the stack is being made: what would need it to make it is left out.
                stack.extend((g, False) for g in self._made_of(group) if state.get(g) is None)
        return tuple(order)

    def _made_of(self, group: GroupId) -> list[GroupId]:
        found: dict[GroupId, None] = {}
        if group in self.splits:
            found[self.splits[group]] = None
        for slot in self.slots_of(group):
            found[slot.delta] = None
            if slot.singles is not None:
                found[slot.singles] = None
        found |= dict.fromkeys(other for _, other in self.stamped.get(group, ()))
        for expression in self.memo.alternatives(group):
            found |= dict.fromkeys(self.memo.leader(i.group) for i in expression.inputs)
        found.pop(group, None)
        return list(found)

    # -- distributions ------------------------------------------------------------------------

    def _wanted(self) -> dict[GroupId, tuple[Key, ...]]:
        wanted: dict[GroupId, dict[Key, None]] = {group: {(): None} for group in self.order}
        for group in reversed(self.order):
            for expression in self.memo.alternatives(group):
                for below, key in self._asked(expression, tuple(wanted[group])):
                    if below in wanted:
                        wanted[below][key] = None
            for slot in self.slots_of(group):
                if slot.delta in wanted:
                    wanted[slot.delta] |= wanted[group]
                if slot.whole in wanted:
                    wanted[slot.whole] |= wanted[group]
        return {group: tuple(keys) for group, keys in wanted.items()}

    def _asked(self, expression: Expression, keys: tuple[Key, ...]) -> Iterator[tuple[int, Key]]:
        node, inputs = expression.node, expression.inputs
        if isinstance(node, Join):
            for given, key in zip(inputs, join_keys(node), strict=True):
                yield self.memo.leader(given.group), key
        elif isinstance(node, Aggregate):
            yield self.memo.leader(inputs[0].group), aggregate_key(node)
        elif isinstance(node, UnionAll) and self._placed_unions:
            for key in keys:
                for given, placed in zip(inputs, branch_keys(node, key), strict=True):
                    yield self.memo.leader(given.group), placed
        elif isinstance(node, Filter | Project):
            for key in keys:
                below = key_below(node, key)
                if below:
                    yield self.memo.leader(inputs[0].group), below


def join_keys(join: Join) -> tuple[Key, Key]:
    """The equalities of a join as a key of each side, in one order for both."""
    pairs = sorted(split_condition(join).pairs, key=lambda pair: pair[0].id)
    return tuple(left.id for left, _ in pairs), tuple(right.id for _, right in pairs)


def aggregate_key(node: Aggregate) -> Key:
    return tuple(sorted(key.id for key in node.keys))


def branch_keys(union: UnionAll, key: Key) -> tuple[Key, ...]:
    """A distribution of a union as one of each branch."""
    places = [[column.id for column in union.columns].index(id_) for id_ in key]
    return tuple(tuple(b.columns[place].id for place in places) for b in union.branches)


def key_below(node: Relation, key: Key) -> Key | None:
    """A distribution of the output as one of the input; None if the operator makes a key column."""
    if not isinstance(node, Project):
        return key
    names = {column.id: value for column, value in node.items}
    below = []
    for id_ in key:
        value = names[id_]
        if not isinstance(value, Ref):
            return None
        below.append(value.column.id)
    return tuple(below)


def _stamped(memo: Memo) -> Iterator[tuple[GroupId, tuple[tuple[Expression, GroupId], ...]]]:
    for group in memo.live_groups():
        found = tuple(
            (expression, memo.leader(expression.node.group))
            for expression in memo.alternatives(group.id)
            if isinstance(expression.node, Stamped)
        )
        if found:
            yield group.id, found


def _slots(memo: Memo, keeps: frozenset[View] | None) -> Iterator[Slot]:
    count = 0
    for tvr in memo.tvrs:
        if not tvr.changing or memo.leader(tvr.new) != tvr.new:
            continue
        for view in (View.ROWS, View.STATES, View.LOSSES):
            delta = tvr.edges.get((Version.DELTA, view))
            if delta is None:
                continue
            signed = view is View.ROWS and tvr.weight is not None
            kept = View.WEIGHTED if signed else view
            if keeps is not None and kept not in keeps:
                continue
            snapshot = memo.leader(tvr.edges[Version.NEW, kept])
            columns = memo.group(snapshot).columns
            if all(is_storable(c, grouped=signed) for c in columns):
                whole = memo.leader(tvr.new) if signed else snapshot
                singles = None
                if view is View.STATES and (Version.DELTA, View.SINGLES) in tvr.edges:
                    singles = memo.leader(tvr.edges[Version.DELTA, View.SINGLES])
                yield Slot(count, tvr, kept, snapshot, memo.leader(delta), whole, singles)
                count += 1


def is_distributable(type_: DataType) -> bool:
    """Spark hashes these as they are; floats it normalizes first, which defeats bucketing."""
    return type_.is_known and not type_.is_floating and "<" not in type_.name


def is_storable(column: Column, *, grouped: bool) -> bool:
    """Parquet takes it; and, where a signed bag will be consolidated, GROUP BY takes it."""
    name = column.type.name.upper()
    if grouped and "MAP<" in name:
        return False
    return column.type.is_known and not name.startswith(("INTERVAL", "VOID"))
