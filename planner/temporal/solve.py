"""The temporal search: dynamic programming over (group, distribution, time point).

For a given set of opened runs and of kept snapshots, the cheapest way to have every group in
every run, each from the cheapest ways to have what it is made of (Tempura 6.2, equation 6). A
snapshot can be had as of this run or the last one; what is kept of it can be read in every later
run. The cost of a way is a weighted sum over the runs in which its parts are computed; with weights
that grow faster than any cost, the sum compares as the reverse-lexicographic vector does, so one
search serves both cost functions. Costs are integers.

Reading what is kept costs the making of its partitions too, but for those of which the caller says
that they are *shared*: made anyway, and paid for once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.cost import operators
from planner.memo.memo import Expression, GroupId
from planner.memo.reference import Stamped
from planner.temporal.space import Key, Slot, Space
from planner.temporal.store_costs import StoreCosts
from planner.temporal.tables import Cell, How, Kept, Link, Partition, Solution
from planner.temporal.ways import Span, Way, Ways

_SPENT = Link(0, 0, False, 0)
"""What earlier runs have committed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """``keeping``: whether anything may be kept; without, the query is taken as it was written, as
    batch does it. ``late``: whether a chain may start in an early run that is not the first one.
    ``stage_cost``: of writing a partition, beside its rows."""

    keeping: bool = True
    late: bool = True
    stage_cost: int = 0


class Solver:
    """``weights``: of the opened runs, integers. ``committed``: chains that the base run has, whose
    cost is spent. ``twins``: which chain holds the rows of another one too (a table that the query
    reads twice)."""

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
        self._store = StoreCosts(ways, spans, terms.stage_cost)
        self._weights = weights
        self._committed = committed
        self._twins = twins
        self._terms = terms
        self._tryable: dict[
            tuple[int, GroupId, bool], tuple[tuple[Expression, Way | None], ...]
        ] = {}
        self._allowed: frozenset[Kept] | None = None
        self.evaluations = 0

    def solve(
        self,
        shared: frozenset[Partition] = frozenset(),
        near: Solution | None = None,
        allowed: frozenset[Kept] | None = None,
    ) -> Solution:
        """Fill the tables, run by run, groups in order. With a solution of other shared partitions
        at hand, only what lies above the difference is costed again. ``allowed``: the only chains
        that may be kept, beside the committed ones; None for any."""
        solution = Solution(self._spans, shared, allowed)
        if near is not None and near.allowed != allowed:
            near = None
        self._allowed = None if allowed is None else allowed | self._committed
        again = frozenset[GroupId]()
        for index in range(len(self._spans)):
            if near is None:
                for group in self._space.order:
                    self._fill(solution, index, group, shared)
                continue
            again = self._touched(index, near.shared ^ shared, again)
            if not again:
                solution.cells[index] = near.cells[index]
                solution.made[index] = near.made[index]
                solution.links[index] = near.links[index]
                solution.longer[index] = near.longer[index]
                continue
            # Without what is filled again: a way that is gone must not stay behind.
            cells, made = near.cells[index], near.made[index]
            solution.cells[index] = {p: c for p, c in cells.items() if p[0] not in again}
            solution.made[index] = {p: c for p, c in made.items() if p[0] not in again}
            solution.links[index] = self._outside(near.links[index], again)
            solution.longer[index] = self._outside(near.longer[index], again)
            for group in self._space.order:
                if group in again:
                    self._fill(solution, index, group, shared)
        return solution

    def _outside(self, links: dict[Kept, Link], again: frozenset[GroupId]) -> dict[Kept, Link]:
        slots = self._space.slots
        return {kept: link for kept, link in links.items() if slots[kept[0]].whole not in again}

    def _touched(
        self, index: int, changed: frozenset[Partition], before: frozenset[GroupId]
    ) -> frozenset[GroupId]:
        """Groups whose cells in a run may differ: those of slots with a changed partition by then,
        or with a group that differs in the run before; and all that is made of them."""
        kept = {kept for kept, at in changed if at <= index}
        touched: set[GroupId] = set()
        for slot in self._space.slots:
            if (
                slot.whole in before
                or slot.delta in before
                or any(chain in kept for _, chain in self._chains(slot))
            ):
                touched |= {slot.whole, slot.snapshot, slot.delta}
        if touched:
            for group in self._space.order:
                if group not in touched and not touched.isdisjoint(self._space.parts[group]):
                    touched.add(group)
        return frozenset(touched)

    # -- one group in one run -----------------------------------------------------------------

    def _fill(self, at: Solution, index: int, group: GroupId, shared: frozenset[Partition]) -> None:
        span = self._spans[index]
        if self._memo.group(group).step:
            if span.base:
                self._fill_step(at, index, group)
            return
        tvr = self._memo.tvr_of(group)
        for before in (False, True):
            if before and (not span.base or (tvr is not None and not tvr.changing)):
                continue
            made = self._made(at, index, group, before)
            at.made[index].update({(group, key, before): cell for key, cell in made.items()})
            if not before:
                self._fill_links(at, index, group, shared)
            best = dict(made)
            for slot in self._space.slots_of(group):
                self._read(at, index, slot, group, before, best)
            if not before:
                self._split(at, index, group, best)
            self._move(index, group, before, best)
            at.cells[index].update({(group, key, before): cell for key, cell in best.items()})

    def _split(self, at: Solution, index: int, group: GroupId, best: dict[Key, Cell]) -> None:
        step = self._space.splits.get(group)
        parts = at.cells[index].get((step, (), False)) if step is not None else None
        if parts is not None and step is not None:
            _better(best, (), Cell(parts.cost, How.SPLIT, added=step))

    def _fill_step(self, at: Solution, index: int, group: GroupId) -> None:
        made = self._made(at, index, group, False)
        at.made[index].update({(group, key, False): cell for key, cell in made.items()})
        best = dict(made)
        for slot in self._space.by_delta.get(group, ()):
            self._read_appended(at, index, slot, made, best)
        at.cells[index].update({(group, key, False): cell for key, cell in best.items()})

    def _read_appended(
        self, at: Solution, index: int, slot: Slot, made: dict[Key, Cell], best: dict[Key, Cell]
    ) -> None:
        """A delta that was put in place to be kept, from this run's partition of the chain: several
        readers need not shuffle it again."""
        size = self._ways.size(slot.delta, False, self._spans[index])
        read = round(operators.read(size, self._ways.prices))
        weight = self._weights[self._spans[index].run]
        for key, kept in self._chains(slot):
            change, chain = made.get(key), self._chain(at, index - 1, kept)
            if change is None or chain is None:
                continue
            mine = change.cost + weight * self._store.written(slot.delta, index)
            charge = chain.charge + (0 if (kept, index) in at.shared else mine)
            cell = Cell(
                charge + weight * read, How.READ, read, kept=kept, placed=bool(key), slot=slot
            )
            _better(best, key, cell)

    def _made(self, at: Solution, index: int, group: GroupId, before: bool) -> dict[Key, Cell]:
        """The best cells from expressions alone."""
        best: dict[Key, Cell] = {}
        known = (index, group, before)
        if known not in self._tryable:
            self._tryable[known] = tuple(self._list(index, group, before))
        for expression, way in self._tryable[known]:
            if way is not None:
                self._try(at, index, expression, way, best)
            elif isinstance(expression.node, Stamped):
                self._stamped(at, index, expression, expression.node, best)
        self._move(index, group, before, best)
        return best

    def _list(
        self, index: int, group: GroupId, before: bool
    ) -> Iterator[tuple[Expression, Way | None]]:
        """Expressions with their ways, each once; None for what only the store has."""
        for expression in self._memo.alternatives(group):
            if expression.origin and not self._terms.keeping:
                continue
            if isinstance(expression.node, Stamped):
                yield expression, None
                continue
            ways: dict[Way, None] = {}
            for key in self._space.wanted[group]:
                of_key = self._ways.of(expression, key, before, self._spans[index])
                ways |= dict.fromkeys(of_key)
            for way in ways:
                yield expression, way

    def _try(
        self, at: Solution, index: int, expression: Expression, way: Way, best: dict[Key, Cell]
    ) -> None:
        self.evaluations += 1
        cells = at.cells[index]
        cost, own = 0, way.own
        inputs = []
        for ask in way.asks:
            cell = cells.get(ask)
            if cell is None:
                return
            inputs.append(cell)
            cost += cell.cost
        hashed = way.hashes is not None and inputs[1 - way.hashes].placed
        if hashed:
            own -= way.gain
        cost += self._weights[self._spans[index].run] * own
        if not _is_better(best, way.gives, cost):
            return
        placed = way.gives != () and not way.moves and all(cell.placed for cell in inputs)
        for key in _with_anyhow(way.gives):
            known = best.get(key)
            if known is None or cost < known.cost:
                in_place = placed and bool(inputs) and key != ()
                best[key] = Cell(cost, How.EXPRESSION, own, expression, way, hashed, None, in_place)

    def _move(self, index: int, group: GroupId, before: bool, best: dict[Key, Cell]) -> None:
        """Shuffle where that is cheaper than what gives the distribution by itself."""
        anyhow, wanted = best.get(()), self._space.wanted[group]
        if anyhow is None or len(wanted) < 2:
            return
        own = self._store.moved(group, index, before)
        cost = anyhow.cost + self._weights[self._spans[index].run] * own
        for key in wanted:
            known = best.get(key)
            if key and (known is None or cost < known.cost):
                best[key] = Cell(cost, How.MOVED, own, moved=anyhow)

    # -- what is kept -------------------------------------------------------------------------

    def _chains(self, slot: Slot) -> Iterator[tuple[Key, Kept]]:
        """The chains that hold a slot's rows, by key."""
        if self._terms.keeping:
            for key in self._space.keys[slot.index]:
                kept = (slot.index, key)
                kept = self._twins.get(kept, kept)
                if self._allowed is None or kept in self._allowed:
                    yield key, kept

    def _fill_links(
        self, at: Solution, index: int, group: GroupId, shared: frozenset[Partition]
    ) -> None:
        """This run's partition of every chain of the snapshot: its delta, or the whole."""
        span = self._spans[index]
        weight = self._weights[span.run]
        for slot in self._space.by_whole.get(group, ()):
            for key, kept in self._chains(slot):
                if kept[0] != slot.index:
                    continue
                best: Link | None = None
                whole = at.made[index].get((slot.whole, key, False))
                if whole is not None and (self._terms.late or index in (0, len(self._spans) - 1)):
                    own = self._store.written(slot.snapshot, index)
                    cost = whole.cost + weight * own
                    best = Link(cost, 0 if (kept, index) in shared else cost, True, own)
                chain = self._chain(at, index - 1, kept)
                change = at.made[index].get((slot.delta, key, False))
                if chain is not None and change is not None:
                    own = self._store.written(slot.delta, index)
                    mine = change.cost + weight * own
                    charge = chain.charge + (0 if (kept, index) in shared else mine)
                    # What is shared of the chain is spent; starting anew would not save it.
                    longer = Link(chain.charge + mine, charge, False, own)
                    if best is None or longer.cost < best.cost:
                        best = longer
                    else:
                        at.longer[index][kept] = longer
                if best is not None:
                    at.links[index][kept] = best

    def _chain(self, at: Solution, index: int, kept: Kept) -> Link | None:
        """A chain up to a run; None if there is none."""
        if index < 0:
            return _SPENT if kept in self._committed else None
        return at.links[index].get(kept)

    def _read(
        self,
        at: Solution,
        index: int,
        slot: Slot,
        group: GroupId,
        before: bool,
        best: dict[Key, Cell],
    ) -> None:
        """Whole from the chain; or what earlier runs kept, and this run's delta in place."""
        span = self._spans[index]
        weight = self._weights[span.run]
        own, extra = self._store.read(slot, group, index, before)
        added = () if before or not span.base else self._store.added(slot, group, index)
        for key, kept in self._chains(slot):
            chain = self._chain(at, index - 1 if before else index, kept)
            gives = () if extra else key
            if chain is not None and _is_better(best, gives, chain.charge + weight * own):
                cost = chain.charge + weight * own
                placed = bool(key) and not extra
                cell = Cell(cost, How.READ, own, kept=kept, placed=placed, slot=slot)
                _better(best, gives, cell)
            chain = self._chain(at, index - 1, kept) if added else None
            if chain is None:
                continue
            for change, mine in added:
                came = at.cells[index].get((change, (), False))
                if came is None:
                    continue
                cost = chain.charge + came.cost + weight * mine
                if _is_better(best, (), cost):
                    best[()] = Cell(cost, How.ADDED, mine, kept=kept, slot=slot, added=change)

    def _stamped(
        self,
        at: Solution,
        index: int,
        expression: Expression,
        node: Stamped,
        best: dict[Key, Cell],
    ) -> None:
        span = self._spans[index]
        for slot in self._space.by_whole.get(self._memo.leader(node.group), ()):
            for key, kept in self._chains(slot):
                link = at.appended(index, kept)
                if link is None:
                    continue
                own = self._store.stamped(slot, index)
                cost = link.charge + self._weights[span.run] * own
                cell = Cell(cost, How.READ, own, expression, kept=kept, placed=bool(key), slot=slot)
                _better(best, key, cell)


def _with_anyhow(key: Key) -> tuple[Key, ...]:
    """What rows that are distributed by a key are good for."""
    return ((), key) if key else ((),)


def _is_better(best: dict[Key, Cell], key: Key, cost: int) -> bool:
    """Whether something that costs so much is cheaper than the best one of its distribution, or
    than the best one at all."""
    for at in _with_anyhow(key):
        known = best.get(at)
        if known is None or cost < known.cost:
            return True
    return False


def _better(best: dict[Key, Cell], key: Key, cell: Cell) -> None:
    for at in _with_anyhow(key):
        known = best.get(at)
        if known is None or cell.cost < known.cost:
            best[at] = cell
