"""The search space of the temporal search: the groups in order, the snapshots that can be kept, and
the distributions that readers of each group would use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from forerun.planner.algebra.nested import has_name_twice
from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    Project,
    Relation,
    Scan,
    UnionAll,
    Version,
    Window,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import Column, ColumnId, DataType
from forerun.planner.memo.groups import Expression, GroupId, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Kept, Stamped
from forerun.planner.memo.relying import Relying
from forerun.planner.props.repeatable import Repeats
from forerun.planner.tvr.signed import WEIGHT

Key = tuple[ColumnId, ...]
"""The columns by whose hash rows are distributed, in order; empty if any distribution will do."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A snapshot that can be kept as the sum of its deltas, one partition per run.

    ``snapshot`` is the group whose rows are stored, and ``delta`` the group that each later run
    appends, None of a TVR that never changes: such a chain is one partition that later runs read;
    and of one that is kept whole (``replaced``), of which the next run reads what there was.
    ``whole`` is the group that the first partition of a chain holds: the TVR's own rows, or their
    partial states. It differs from ``snapshot`` only where the stored rows carry weights:
    reading such a chain as ``whole`` consolidates the weights, reading it as ``snapshot`` keeps
    them. ``singles`` is the delta as states of single rows, not grouped yet; ``sorts`` says that
    whoever merges the states looks at each group by a window, which sorts the rows. ``index`` is
    the position of the slot in :attr:`Space.slots`.
    """

    index: int
    tvr: Tvr
    view: View
    snapshot: GroupId
    delta: GroupId | None
    whole: GroupId
    singles: GroupId | None = None
    sorts: bool = False

    @property
    def weighted(self) -> bool:
        """Return whether the stored rows carry a weight column."""
        return self.view is View.WEIGHTED

    @property
    def replaced(self) -> bool:
        """Return whether each run that keeps it writes all of its rows."""
        return self.view is View.WHOLE


class Space:
    """The part of a memo that can take part in computing the root group.

    ``order`` lists the groups, each after its ``parts``: the groups that it can be computed from
    directly. ``place`` is the index of a group in ``order``. ``steps`` holds the groups that depend
    on both ends of the step, ``static`` those that do not change in it. ``splits`` maps a snapshot
    to the step group that gives the same rows from what there was and what came. ``stored`` maps a
    group to its :class:`Stamped` and :class:`Kept` expressions, each with the group whose stored
    rows it reads. ``replaced`` are the groups of which all rows are kept at once.
    ``wanted`` maps a group to the distributions that some reader would use, the empty key first.
    ``keys`` lists, for each slot, the keys by which it may be distributed.

    ``keeps`` restricts the views that may be kept; None allows all. ``placed_unions`` says that a
    union keeps a distribution that all of its branches have; without ``buckets``, what is kept has
    none.
    """

    def __init__(
        self,
        memo: Memo,
        root: GroupId,
        keeps: frozenset[View] | None = None,
        *,
        placed_unions: bool = False,
        buckets: bool = True,
    ) -> None:
        self._placed_unions = placed_unions
        self._buckets = buckets
        self.memo = memo
        self.root = memo.leader(root)
        self._keeps = keeps
        self.slots = tuple(_slots(memo, keeps))
        self.by_whole: dict[GroupId, list[Slot]] = {}
        self.by_snapshot: dict[GroupId, list[Slot]] = {}
        self.by_delta: dict[GroupId, list[Slot]] = {}
        for slot in self.slots:
            self.by_whole.setdefault(slot.whole, []).append(slot)
            if slot.delta is not None:
                self.by_delta.setdefault(slot.delta, []).append(slot)
            if slot.weighted:
                self.by_snapshot.setdefault(slot.snapshot, []).append(slot)
        self.splits = {
            memo.leader(tvr.new): memo.leader(tvr.edges[Version.NEW, View.SPLIT])
            for tvr in memo.tvrs
            if (Version.NEW, View.SPLIT) in tvr.edges
        }
        self.steps = frozenset(g.id for g in memo.groups if memo.group(g.id).step)
        tvrs = ((group.id, memo.tvr_of(group.id)) for group in memo.live_groups())
        self.static = frozenset(id_ for id_, tvr in tvrs if tvr is not None and not tvr.changing)
        self.stored = dict(_stored(memo))
        self.replaced = frozenset(slot.whole for slot in self.slots if slot.replaced)
        made_of: dict[GroupId, list[GroupId]] = {}
        self.order = self._ordered(made_of)
        self.place = {group: place for place, group in enumerate(self.order)}
        self.parts = {group: frozenset(made_of[group]) for group in self.order}
        self.wanted = self._wanted()
        self.keys = tuple(self._keys(slot) for slot in self.slots)

    @cached_property
    def sources(self) -> frozenset[str]:
        """The names of the sources that the query reads."""
        nodes = (one.node for group in self.order for one in self.memo.alternatives(group))
        return frozenset(node.source for node in nodes if isinstance(node, Scan))

    def slots_of(self, group: GroupId) -> Iterator[Slot]:
        """Yield the slots from which a snapshot group can be read."""
        yield from self.by_whole.get(group, ())
        yield from self.by_snapshot.get(group, ())

    def makeable_by_step(self) -> frozenset[GroupId]:
        """Return the changing snapshots that no run after the first has to recompute in full: those
        that can be kept and, where ``keeps`` is restricted, those that have a delta."""
        changing = (slot for slot in self.slots if slot.delta is not None)
        found = {group for slot in changing for group in (slot.whole, slot.snapshot)}
        found |= self.replaced
        if self._keeps is not None:
            found |= {self.memo.leader(tvr.new) for tvr in self.memo.tvrs if tvr.has_delta}
        return frozenset(found)

    def is_below(self, part: GroupId, group: GroupId) -> bool:
        """Return whether both groups are in the order and ``part`` comes before ``group``."""
        place, other = self.place.get(part), self.place.get(group)
        return place is not None and other is not None and place < other

    def place_of(self, slot: Slot) -> int:
        """Return the position in the order of the group that a slot's first partition holds; one
        past the end if that group is not in the space."""
        return self.place.get(slot.whole, len(self.order))

    def _keys(self, slot: Slot) -> tuple[Key, ...]:
        if not self._buckets or slot.replaced:
            return ((),)
        keys = dict.fromkeys(self.wanted.get(slot.whole, ((),)))
        keys |= dict.fromkeys(self.wanted.get(slot.snapshot, ((),)))
        types = {c.id: c.type for c in self.memo.group(slot.snapshot).columns}
        return tuple(key for key in keys if all(is_distributable(types[id_]) for id_ in key))

    def _ordered(self, made_of: dict[GroupId, list[GroupId]]) -> tuple[GroupId, ...]:
        """Return the groups in depth-first postorder from the root, and add what each is made of to
        ``made_of``. The memo may have cycles: an edge back to a group that is still being visited
        is ignored."""
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
                parts = made_of[group] = self._made_of(group)
                # A group with a state is being visited or done: this is where cycles are cut.
                stack.extend((g, False) for g in parts if state.get(g) is None)
        return tuple(order)

    def _made_of(self, group: GroupId) -> list[GroupId]:
        """Return the groups that a group can be computed from directly, by expressions or from
        slots."""
        found: dict[GroupId, None] = {}
        if group in self.splits:
            found[self.splits[group]] = None
        for slot in self.slots_of(group):
            found |= {part: None for part in (slot.delta, slot.singles) if part is not None}
        for expression, other in self.stored.get(group, ()):
            if isinstance(expression.node, Stamped):  # what was kept before is no part of this run
                found[other] = None
        for expression in self.memo.alternatives(group):
            found |= dict.fromkeys(self.memo.leader(i.group) for i in expression.inputs)
        found.pop(group, None)
        return list(found)

    # -- distributions ------------------------------------------------------------------------

    def _wanted(self) -> dict[GroupId, tuple[Key, ...]]:
        """Collect, from the root down, the distributions that readers of each group would use."""
        wanted: dict[GroupId, dict[Key, None]] = {group: {(): None} for group in self.order}
        for group in reversed(self.order):
            for expression in self.memo.alternatives(group):
                for below, key in self._asked(expression, tuple(wanted[group])):
                    if below in wanted:
                        wanted[below][key] = None
            for slot in self.slots_of(group):
                for part in (slot.delta, slot.whole):
                    if part in wanted:
                        wanted[part] |= wanted[group]
        return {group: tuple(keys) for group, keys in wanted.items()}

    def _asked(self, expression: Expression, keys: tuple[Key, ...]) -> Iterator[tuple[int, Key]]:
        """Yield the distributions that an expression would use of its inputs, when its own output
        is wanted by ``keys``."""
        node, inputs = expression.node, expression.inputs
        if isinstance(node, Join):
            for given, key in zip(inputs, join_keys(node), strict=True):
                yield self.memo.leader(given.group), key
        elif isinstance(node, Aggregate):
            yield self.memo.leader(inputs[0].group), aggregate_key(node)
        elif isinstance(node, Window):
            yield self.memo.leader(inputs[0].group), window_key(node)
        elif isinstance(node, UnionAll) and self._placed_unions:
            for key in keys:
                for given, placed in zip(inputs, branch_keys(node, key), strict=True):
                    yield self.memo.leader(given.group), placed
        elif isinstance(node, Filter | Project | Relying):
            for key in keys:
                below = key_below(node, key)
                if below:
                    yield self.memo.leader(inputs[0].group), below


def join_keys(join: Join) -> tuple[Key, Key]:
    """Return the equi-join columns as one key per side, ordered alike so that the sides match."""
    pairs = sorted(split_condition(join).pairs, key=lambda pair: pair[0].id)
    return tuple(left.id for left, _ in pairs), tuple(right.id for _, right in pairs)


def aggregate_key(node: Aggregate) -> Key:
    """Return the grouping columns as a key, a weight left out: rows that lie together by the others
    need not be shuffled to be grouped by it as well, and nothing is ever kept by it."""
    return tuple(sorted(key.id for key in node.keys if key.name != WEIGHT))


def window_key(node: Window) -> Key:
    """Return the columns that every call partitions by as a key; empty if the calls differ."""
    keys = {tuple(sorted(column.id for column in call.partition)) for _, call in node.calls}
    return keys.pop() if len(keys) == 1 else ()


def branch_keys(union: UnionAll, key: Key) -> tuple[Key, ...]:
    """Translate a key of a union into the keys of its branches, in order."""
    places = [[column.id for column in union.columns].index(id_) for id_ in key]
    return tuple(tuple(b.columns[place].id for place in places) for b in union.branches)


def key_below(node: Relation, key: Key) -> Key | None:
    """Translate a key of the output of an operator that hands rows on into one of its input.
    Returns None if a projection computes a key column rather than passing it through."""
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


def _stored(memo: Memo) -> Iterator[tuple[GroupId, tuple[tuple[Expression, GroupId], ...]]]:
    for group in memo.live_groups():
        found = tuple(
            (expression, memo.leader(expression.node.group))
            for expression in memo.alternatives(group.id)
            if isinstance(expression.node, Stamped | Kept)
        )
        if found:
            yield group.id, found


_MERGED = (View.STATES, View.CONTENDERS)
"""Views whose readers merge what runs have kept, and can merge single rows as well."""


def _slots(memo: Memo, keeps: frozenset[View] | None) -> Iterator[Slot]:
    count = 0
    sorted_groups = frozenset(_sorted(memo))
    for tvr in memo.tvrs:
        if not tvr.changing or memo.leader(tvr.new) != tvr.new:
            continue
        for view in (View.ROWS, View.STATES, View.LOSSES, View.CONTENDERS):
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
                if view in _MERGED and (Version.DELTA, View.SINGLES) in tvr.edges:
                    singles = memo.leader(tvr.edges[Version.DELTA, View.SINGLES])
                sorts = snapshot in sorted_groups
                yield Slot(count, tvr, kept, snapshot, memo.leader(delta), whole, singles, sorts)
                count += 1
    for tvr in _static_inputs(memo) if keeps is None or View.ROWS in keeps else ():
        yield Slot(count, tvr, View.ROWS, tvr.new, None, tvr.new)
        count += 1
    for tvr in _replaced(memo) if keeps is None or View.WHOLE in keeps else ():
        yield Slot(count, tvr, View.WHOLE, tvr.new, None, tvr.new)
        count += 1


def _replaced(memo: Memo) -> Iterator[Tvr]:
    """Yield the TVRs of which some step reads all rows that there were as they were kept."""
    leaves = (one.node for one in memo.expressions if not one.dropped)
    for group in sorted({memo.leader(leaf.group) for leaf in leaves if isinstance(leaf, Kept)}):
        tvr = memo.tvr_of(group)
        columns = memo.group(group).columns
        if tvr is not None and all(is_storable(column, grouped=False) for column in columns):
            yield tvr


def _static_inputs(memo: Memo) -> Iterator[Tvr]:
    """Yield the TVRs that never change and that something which does is computed from. Whatever is
    below them is read once, to make them."""
    for tvr in memo.tvrs:
        group = memo.group(tvr.new)
        if tvr.changing or group.id != tvr.new or tvr.repeats is Repeats.CHOSEN:
            continue
        stored = all(is_storable(column, grouped=False) for column in group.columns)
        if group.columns and stored and any(_is_read_by_changing(memo, group.id)):
            yield tvr


def _is_read_by_changing(memo: Memo, group: GroupId) -> Iterator[bool]:
    for number in memo.group(group).parents:
        reader = memo.expressions[number]
        if not reader.dropped:
            other = memo.tvr_of(reader.group)
            yield memo.group(reader.group).step or (other is not None and other.changing)


def _sorted(memo: Memo) -> Iterator[GroupId]:
    """Yield the groups whose rows a window sorts."""
    for group in memo.live_groups():
        for expression in memo.alternatives(group.id):
            if isinstance(expression.node, Window):
                yield memo.leader(expression.inputs[0].group)


def is_distributable(type_: DataType) -> bool:
    """Return whether a chain may be distributed by a column of this type. Floating-point columns
    are excluded because Spark normalizes them before it hashes them, which defeats bucketing;
    nested types are excluded too."""
    return type_.is_known and not type_.is_floating and "<" not in type_.name


def is_storable(column: Column, *, grouped: bool) -> bool:
    """Return whether Parquet can store the column and, if ``grouped``, whether Spark can group by
    it, which consolidating weighted rows requires. No struct is stored that has a name twice."""
    if has_name_twice(column.type):
        return False
    name = column.type.name.upper()
    if grouped and "MAP<" in name:
        return False
    return column.type.is_known and not name.startswith(("INTERVAL", "VOID"))
