"""One group in one run: the cheapest cells of it, from those of what it is made of.

What does not depend on what is shared, the ways and what reading and writing cost, is listed once
for all the solutions of a solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from planner.cost import operators
from planner.memo.memo import Expression, GroupId
from planner.temporal.space import Dated, Key, Slot, Space, dated
from planner.temporal.store_costs import StoreCosts
from planner.temporal.tables import Cell, How, Kept, Link, Solution
from planner.temporal.ways import Span, Try, Ways

_SPENT = Link(0, 0, False, 0)
"""What earlier runs have committed."""
_ANYHOW: Key = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """``keeping``: whether anything may be kept; without, the query is taken as it was written, as
    batch does it. ``late``: whether a chain may start in an early run that is not the first one.
    ``stage_cost``: of writing a partition, beside its rows. ``lent``: of the committed chains those
    that are another report's to go on with."""

    keeping: bool = True
    late: bool = True
    stage_cost: int = 0
    lent: frozenset[Kept] = frozenset()


class _Chain(NamedTuple):
    """A chain that holds a slot's rows by a key. ``now``: this run's partition is known by the time
    the group is filled."""

    slot: Slot
    key: Key
    kept: Kept
    now: bool


class _Read(NamedTuple):
    """A chain to read a group from: ``gives``: the distribution of what is read, for ``own``;
    ``added``: the groups that may be added to what earlier runs kept, each with what that costs."""

    chain: _Chain
    gives: Key
    own: int
    placed: bool
    added: tuple[tuple[GroupId, int], ...]


class _Lists(NamedTuple):
    """Of a group in a run: all that may be tried."""

    tries: tuple[Try, ...]
    stamped: tuple[tuple[Expression, tuple[_Chain, ...]], ...]
    reads: tuple[_Read, ...]


class Filler:
    """Fills the tables of solutions, one group in one run at a time. ``evaluations``: how often a
    way was costed. See :class:`planner.temporal.solve.Solver` for what it is given."""

    def __init__(
        self,
        space: Space,
        ways: Ways,
        spans: tuple[Span, ...],
        weights: Mapping[int, int],
        committed: frozenset[Kept],
        twins: Mapping[Kept, Kept],
        terms: Terms,
    ) -> None:
        self._space = space
        self._memo = space.memo
        self._ways = ways
        self._spans = spans
        self._weights = [weights[span.run] for span in spans]
        self._committed = dict.fromkeys(committed, _SPENT)
        self._own = dict.fromkeys(committed - terms.lent, _SPENT)
        self._twins = twins
        self._terms = terms
        self.evaluations = 0
        self.forget()

    def forget(self) -> None:
        """Begin with empty lists."""
        self._store = StoreCosts(self._ways, self._spans, self._terms.stage_cost)
        self._lists: dict[tuple[int, Dated], _Lists] = {}
        self._chains_of: dict[tuple[int, GroupId], tuple[_Chain, ...]] = {}

    def fill(self, at: Solution, index: int, group: GroupId) -> None:
        """Find the cells of a group in a run, and of the chains that hold it."""
        span = self._spans[index]
        if group in self._space.steps:
            if span.base:
                self._fill_step(at, index, group)
            return
        tvr = self._memo.tvr_of(group)
        self._fill_snapshot(at, index, group, before=False)
        if span.base and (tvr is None or tvr.changing):
            self._fill_snapshot(at, index, group, before=True)

    def owned(self, group: GroupId) -> Iterator[_Chain]:
        """The chains whose first partition is the group itself."""
        for slot in self._space.by_whole.get(group, ()):
            for chain in self._chains(slot, group):
                if chain.kept[0] == slot.index:
                    yield chain

    def _fill_snapshot(self, at: Solution, index: int, group: GroupId, *, before: bool) -> None:
        version = dated(group, before)
        lists = self._listed(index, group, before=before)
        made = self._made(at, index, lists)
        self._move(index, group, before, made)
        at.made[index].of[version] = made
        if not before:
            self._fill_links(at, index, group, made)
        split = None if before else self._space.splits.get(group)
        if not lists.reads and split is None:
            at.cells[index].of[version] = made
            return
        best = dict(made)
        for read in lists.reads:
            self._read(at, index, read, before, best)
        if split is not None:
            self._split(at, index, group, split, best)
        self._move(index, group, before, best)
        at.cells[index].of[version] = best

    def _fill_step(self, at: Solution, index: int, group: GroupId) -> None:
        made = self._made(at, index, self._listed(index, group, before=False))
        self._move(index, group, False, made)
        at.made[index].of[group] = at.cells[index].of[group] = made
        slots = self._space.by_delta.get(group)
        if slots:
            best = dict(made)
            for slot in slots:
                # In a cycle of groups the delta may come after the rows: no run appends it then.
                if self._space.is_below(group, slot.whole):
                    self._read_appended(at, index, slot, made, best)
            at.cells[index].of[group] = best

    # -- what may be tried --------------------------------------------------------------------

    def _listed(self, index: int, group: GroupId, *, before: bool) -> _Lists:
        known = (index, dated(group, before))
        lists = self._lists.get(known)
        if lists is None:
            keeping = self._terms.keeping
            lists = self._lists[known] = _Lists(
                self._ways.tries(group, before, self._spans[index], keeping=keeping),
                tuple(self._stamped_in(group)) if keeping else (),
                tuple(self._reads(index, group, before)) if keeping else (),
            )
        return lists

    def _stamped_in(self, group: GroupId) -> Iterator[tuple[Expression, tuple[_Chain, ...]]]:
        for expression, other in self._space.stamped.get(group, ()):
            slots = self._space.by_whole.get(other, ())
            yield expression, tuple(c for slot in slots for c in self._chains(slot, group) if c.now)

    def _reads(self, index: int, group: GroupId, before: bool) -> Iterator[_Read]:
        span = self._spans[index]
        for slot in self._space.slots_of(group):
            own, extra = self._store.read(slot, group, index, before)
            added = () if before or not span.base else self._store.added(slot, group, index)
            added = tuple((one, cost) for one, cost in added if self._space.is_below(one, group))
            for chain in self._chains(slot, group):
                gives = _ANYHOW if extra else chain.key
                yield _Read(chain, gives, own, bool(chain.key) and not extra, added)

    def _chains(self, slot: Slot, group: GroupId) -> tuple[_Chain, ...]:
        """The chains that hold a slot's rows, as a group reads them."""
        known = (slot.index, group)
        if known not in self._chains_of:
            self._chains_of[known] = tuple(self._list_chains(slot, group))
        return self._chains_of[known]

    def _list_chains(self, slot: Slot, group: GroupId) -> Iterator[_Chain]:
        if self._terms.keeping:
            for key in self._space.keys[slot.index]:
                kept = self._twins.get((slot.index, key), (slot.index, key))
                owner = self._space.slots[kept[0]].whole
                yield _Chain(slot, key, kept, owner == group or self._space.is_below(owner, group))

    # -- made ---------------------------------------------------------------------------------

    def _made(self, at: Solution, index: int, lists: _Lists) -> dict[Key, Cell]:
        """The best cells from expressions alone."""
        best: dict[Key, Cell] = {}
        cells, weight = at.cells[index].of, self._weights[index]
        self.evaluations += len(lists.tries)
        for way, expression, asks in lists.tries:
            own, total = way.own, 0
            inputs = []
            for version, key in asks:
                cell = cells[version].get(key) if version in cells else None
                if cell is None:
                    break
                inputs.append(cell)
                total += cell.cost
            else:
                hashed = way.hashes is not None and inputs[1 - way.hashes].placed
                if hashed:
                    own -= way.gain
                cost = total + weight * own
                if not _is_better(best, way.gives, cost):
                    continue
                placed = bool(inputs) and not way.moves and all(cell.placed for cell in inputs)
                for key in _with_anyhow(way.gives):
                    known = best.get(key)
                    if known is None or cost < known.cost:
                        in_place = placed and key != _ANYHOW
                        best[key] = Cell(
                            cost, How.EXPRESSION, own, expression, way, hashed, None, in_place
                        )
        for expression, chains in lists.stamped:
            self._stamped(at, index, expression, chains, best)
        return best

    def _move(self, index: int, group: GroupId, before: bool, best: dict[Key, Cell]) -> None:
        """Shuffle where that is cheaper than what gives the distribution by itself."""
        anyhow, wanted = best.get(_ANYHOW), self._space.wanted[group]
        if anyhow is None or len(wanted) < 2:
            return
        own = self._store.moved(group, index, before)
        cost = anyhow.cost + self._weights[index] * own
        for key in wanted:
            known = best.get(key)
            if key and (known is None or cost < known.cost):
                best[key] = Cell(cost, How.MOVED, own, moved=anyhow)

    def _split(
        self, at: Solution, index: int, group: GroupId, step: GroupId, best: dict[Key, Cell]
    ) -> None:
        parts = at.cells[index].of.get(step, {}).get(_ANYHOW)
        if parts is not None and self._space.is_below(step, group):
            _better(best, _ANYHOW, Cell(parts.cost, How.SPLIT, added=step))

    # -- what is kept -------------------------------------------------------------------------

    def _before(self, at: Solution, index: int) -> Mapping[Kept, Link]:
        """Chains up to the last run."""
        return at.links[index - 1] if index else self._committed

    def _extendable(self, at: Solution, index: int) -> Mapping[Kept, Link]:
        """Those of them to which this run may append a partition."""
        return at.links[index - 1] if index else self._own

    def _may_keep(self, at: Solution, kept: Kept) -> bool:
        return at.allowed is None or kept in at.allowed or kept in self._committed

    def _fill_links(
        self, at: Solution, index: int, group: GroupId, made: Mapping[Key, Cell]
    ) -> None:
        """This run's partition of every chain of the snapshot: its delta, or the whole."""
        weight, before = self._weights[index], self._extendable(at, index)
        may_start = self._terms.late or index in (0, len(self._spans) - 1)
        for slot, key, kept, _ in self.owned(group):
            if not self._may_keep(at, kept):
                continue
            shared = (kept, index) in at.shared
            best: Link | None = None
            whole = made.get(key)
            if whole is not None and may_start:
                own = self._store.written(slot.snapshot, index)
                cost = whole.cost + weight * own
                best = Link(cost, 0 if shared else cost, True, own)
            chain, change = before.get(kept), None
            if chain is not None and self._space.is_below(slot.delta, group):
                change = at.made[index].of.get(slot.delta, {}).get(key)
            if chain is not None and change is not None:
                own = self._store.written(slot.delta, index)
                mine = change.cost + weight * own
                charge = chain.charge + (0 if shared else mine)
                # What is shared of the chain is spent; starting anew would not save it.
                longer = Link(chain.charge + mine, charge, False, own)
                if best is None or longer.cost < best.cost:
                    best = longer
                else:
                    at.longer[index][kept] = longer
            if best is not None:
                at.links[index][kept] = best

    def _read(
        self, at: Solution, index: int, read: _Read, before: bool, best: dict[Key, Cell]
    ) -> None:
        """Whole from the chain; or what earlier runs kept, and this run's delta in place."""
        (slot, _, kept, now), gives, own, placed, added = read
        if not self._may_keep(at, kept):
            return
        weight, earlier = self._weights[index], self._before(at, index).get(kept)
        chain = earlier if before else at.links[index].get(kept) if now else None
        if chain is not None:
            cost = chain.charge + weight * own
            if _is_better(best, gives, cost):
                cell = Cell(cost, How.READ, own, kept=kept, placed=placed, slot=slot)
                _better(best, gives, cell)
        if earlier is None:
            return
        for change, mine in added:
            came = at.cells[index].of.get(change, {}).get(_ANYHOW)
            if came is None:
                continue
            cost = earlier.charge + came.cost + weight * mine
            if _is_better(best, _ANYHOW, cost):
                best[_ANYHOW] = Cell(cost, How.ADDED, mine, kept=kept, slot=slot, added=change)

    def _read_appended(
        self, at: Solution, index: int, slot: Slot, made: dict[Key, Cell], best: dict[Key, Cell]
    ) -> None:
        """A delta that was put in place to be kept, from this run's partition of the chain: several
        readers need not shuffle it again."""
        size = self._ways.size(slot.delta, False, self._spans[index])
        read = round(operators.read(size, self._ways.prices))
        weight, before = self._weights[index], self._extendable(at, index)
        for _, key, kept, _ in self._chains(slot, slot.delta):
            change, chain = made.get(key), before.get(kept)
            if change is None or chain is None or not self._may_keep(at, kept):
                continue
            mine = change.cost + weight * self._store.written(slot.delta, index)
            charge = chain.charge + (0 if (kept, index) in at.shared else mine)
            cost = charge + weight * read
            if _is_better(best, key, cost):
                cell = Cell(cost, How.READ, read, kept=kept, placed=bool(key), slot=slot)
                _better(best, key, cell)

    def _stamped(
        self,
        at: Solution,
        index: int,
        expression: Expression,
        chains: tuple[_Chain, ...],
        best: dict[Key, Cell],
    ) -> None:
        for slot, key, kept, _ in chains:
            link = at.appended(index, kept) if self._may_keep(at, kept) else None
            if link is None:
                continue
            own = self._store.stamped(slot, index)
            cost = link.charge + self._weights[index] * own
            cell = Cell(cost, How.READ, own, expression, kept=kept, placed=bool(key), slot=slot)
            _better(best, key, cell)


def _with_anyhow(key: Key) -> tuple[Key, ...]:
    """What rows that are distributed by a key are good for."""
    return (_ANYHOW, key) if key else (_ANYHOW,)


def _is_better(best: dict[Key, Cell], key: Key, cost: int) -> bool:
    """Whether something that costs so much is cheaper than the best one of its distribution, or
    than the best one at all."""
    known = best.get(_ANYHOW)
    if known is None or cost < known.cost:
        return True
    if not key:
        return False
    known = best.get(key)
    return known is None or cost < known.cost


def _better(best: dict[Key, Cell], key: Key, cell: Cell) -> None:
    for at in _with_anyhow(key):
        known = best.get(at)
        if known is None or cell.cost < known.cost:
            best[at] = cell
