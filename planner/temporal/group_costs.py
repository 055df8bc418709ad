"""Computes the DP entries of one group in one run from the entries of its inputs.

What does not depend on the shared partitions, such as the alternatives and the costs of reading and
writing, is listed once for all solutions of a solver, and of solvers that begin with equal runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.memo.reference import Kept
from forerun.planner.temporal.alternatives import AlternativeEnumerator, forced_penalty
from forerun.planner.temporal.as_of import Span, group_version
from forerun.planner.temporal.entries import (
    ANY_DISTRIBUTION,
    distributions_served,
    is_better,
    keep_better,
)
from forerun.planner.temporal.listed import ChainRead, GroupLists, HeldChain, Listed
from forerun.planner.temporal.solution import (
    ChainCost,
    ChainId,
    ChainTerms,
    DpEntry,
    How,
    Solution,
)
from forerun.planner.temporal.space import Key, Slot, Space
from forerun.planner.temporal.store_costs import StoreCosts

_SPENT = ChainCost(0, 0, False, 0)
"""The cost of a committed chain: nothing is left to pay."""
_NO_ROWS = DpEntry(0, How.EMPTY, placed=True)
"""The way to have a group of a step in which it has no rows, by whatever key."""


@dataclass(frozen=True, slots=True)
class DpProblem:
    """The input of the dynamic program: one set of opened runs, given as ``spans``.

    ``weights`` has an integer for each opened run. ``committed`` are the chains that exist already
    and cost nothing but the reading. ``twins`` maps a chain to another one that holds the same
    rows, as for a table that the query reads twice.
    """

    space: Space
    alternatives: AlternativeEnumerator
    spans: tuple[Span, ...]
    weights: Mapping[int, int]
    committed: frozenset[ChainId] = frozenset()
    twins: Mapping[ChainId, ChainId] = field(default_factory=dict)
    terms: ChainTerms = field(default_factory=ChainTerms)


class GroupCosts:
    """Fills the DP tables of solutions, one group in one run at a time. ``evaluations`` counts how
    many alternatives were costed. ``near`` is what was listed for other opened runs."""

    def __init__(self, problem: DpProblem, near: Listed | None = None) -> None:
        self._space = problem.space
        self._alternatives = problem.alternatives
        self._spans = problem.spans
        self._weights = [problem.weights[span.run] for span in problem.spans]
        self._penalty = forced_penalty(problem.weights)
        self._committed = dict.fromkeys(problem.committed, _SPENT)
        self._own = dict.fromkeys(problem.committed - problem.terms.read_only, _SPENT)
        self._twins = problem.twins
        self._terms = problem.terms
        self._unchanged = problem.alternatives.unchanged
        self.evaluations = 0
        self.forget()
        if near is not None:
            self.listed = near.going_on(self._spans)

    def forget(self) -> None:
        """Empty the cached lists. They are made again when they are needed."""
        self._store = StoreCosts(self._alternatives, self._spans)
        self.listed = Listed(self._spans)

    def fill(self, at: Solution, index: int, group: GroupId) -> None:
        """Compute the entries of a group in the run at this index, and the costs of the chains
        whose first partition holds it. Groups later in the order have no entries yet and are not
        used."""
        span = self._spans[index]
        if group in self._space.steps:
            if span.base and self._unchanged.is_empty(group, span):
                nothing = dict.fromkeys(self._space.wanted[group], _NO_ROWS)
                at.made[index].of[group] = at.entries[index].of[group] = nothing
            elif span.base:
                self._fill_step(at, index, group)
            return
        self._fill_snapshot(at, index, group, before=False)
        if span.base and group not in self._space.static:
            self._fill_snapshot(at, index, group, before=True)

    def owned(self, group: GroupId) -> Iterator[HeldChain]:
        """Yield the chains whose first partition is the group itself, without those that have a
        twin."""
        for slot in self._space.by_whole.get(group, ()):
            for chain in self._chains(slot, group):
                if chain.kept[0] == slot.index:
                    yield chain

    def _fill_snapshot(self, at: Solution, index: int, group: GroupId, *, before: bool) -> None:
        version = group_version(group, before)
        lists = self._listed(index, group, before=before)
        split = None if before else self._space.splits.get(group)
        if before and self._unchanged.is_same(group, self._spans[index]):
            made = at.made[index].of[group]  # as of the end of the step
        else:
            made = self._made(at, index, lists)
            if split is not None and group in self._space.replaced:
                self._split(at, index, group, split, made)
            self._move(index, group, before, made)
        at.made[index].of[version] = made
        if not before:
            self._fill_chain_costs(at, index, group, made)
        if not lists.reads and split is None:
            at.entries[index].of[version] = made
            return
        best = dict(made)
        for read in lists.reads:
            self._read(at, index, read, before, best)
        if split is not None:
            self._split(at, index, group, split, best)
        self._move(index, group, before, best)
        at.entries[index].of[version] = best

    def _fill_step(self, at: Solution, index: int, group: GroupId) -> None:
        made = self._made(at, index, self._listed(index, group, before=False))
        self._move(index, group, False, made)
        at.made[index].of[group] = at.entries[index].of[group] = made
        slots = self._space.by_delta.get(group)
        if slots:
            best = dict(made)
            for slot in slots:
                # In a cycle of groups the delta may come after the rows: no run appends it then.
                appends = not self._unchanged.goes_on(slot, self._spans[index])
                if appends and self._space.is_below(group, slot.whole):
                    self._read_appended(at, index, slot, made, best)
            at.entries[index].of[group] = best

    # -- what may be tried --------------------------------------------------------------------

    def _listed(self, index: int, group: GroupId, *, before: bool) -> GroupLists:
        known, listed = group_version(group, before), self.listed.runs[index]
        lists = listed.get(known)
        if lists is None:
            keeping, rewrites, span = self._terms.keeping, self._terms.rewrites, self._spans[index]
            lists = listed[known] = GroupLists(
                ()
                if before and self._unchanged.is_same(group, span)
                else self._alternatives.resolved(group, before, span, rewrites=rewrites),
                tuple(self._stored_in(group)) if keeping else (),
                tuple(self._reads(index, group, before)) if keeping else (),
            )
        return lists

    def _stored_in(self, group: GroupId) -> Iterator[tuple[Expression, tuple[HeldChain, ...]]]:
        for expression, other in self._space.stored.get(group, ()):
            before = isinstance(expression.node, Kept)
            slots = (one for one in self._space.by_whole.get(other, ()) if one.replaced is before)
            chains = (chain for slot in slots for chain in self._chains(slot, group))
            yield expression, tuple(chain for chain in chains if before or chain.now)

    def _reads(self, index: int, group: GroupId, before: bool) -> Iterator[ChainRead]:
        span = self._spans[index]
        for slot in self._space.slots_of(group):
            own, extra = self._store.read(slot, group, index, before)
            adds = not before and span.base and not self._unchanged.goes_on(slot, span)
            added = self._store.added(slot, group, index) if adds else ()
            added = tuple((one, cost) for one, cost in added if self._space.is_below(one, group))
            for chain in self._chains(slot, group):
                delivers = ANY_DISTRIBUTION if extra else chain.key
                yield ChainRead(chain, delivers, own, bool(chain.key) and not extra, added)

    def _chains(self, slot: Slot, group: GroupId) -> tuple[HeldChain, ...]:
        """Return the chains that hold a slot's rows, as a group reads them; cached."""
        known = (slot.index, group)
        chains = self.listed.chains
        if known not in chains:
            chains[known] = tuple(self._list_chains(slot, group))
        return chains[known]

    def _list_chains(self, slot: Slot, group: GroupId) -> Iterator[HeldChain]:
        if self._terms.keeping:
            for key in self._space.keys[slot.index]:
                kept = self._twins.get((slot.index, key), (slot.index, key))
                owner = self._space.slots[kept[0]].whole
                yield HeldChain(
                    slot, key, kept, owner == group or self._space.is_below(owner, group)
                )

    # -- made ---------------------------------------------------------------------------------

    def _made(self, at: Solution, index: int, lists: GroupLists) -> dict[Key, DpEntry]:
        """Return the cheapest entries that compute an expression of the group, by distribution."""
        best: dict[Key, DpEntry] = {}
        entries, weight = at.entries[index].of, self._weights[index]
        self.evaluations += len(lists.resolved)
        for alternative, expression, requirements in lists.resolved:
            own, total, placed = alternative.own, 0, bool(requirements)
            inputs = []
            for version, key in requirements:
                entry = entries[version].get(key) if version in entries else None
                if entry is None:
                    break
                inputs.append(entry)
                total += entry.cost
                placed = placed and entry.placed
            else:
                hashed = (
                    alternative.hashed_input is not None
                    and inputs[1 - alternative.hashed_input].placed
                )
                if hashed:
                    own -= alternative.hash_gain
                cost = total + weight * own
                if alternative.penalized:
                    cost += self._penalty
                if not is_better(best, alternative.delivers, cost):
                    continue
                placed = placed and not alternative.shuffles
                for key in distributions_served(alternative.delivers):
                    known = best.get(key)
                    if known is None or cost < known.cost:
                        in_place = placed and key != ANY_DISTRIBUTION
                        best[key] = DpEntry(
                            cost,
                            How.EXPRESSION,
                            own,
                            expression,
                            alternative,
                            hashed,
                            None,
                            in_place,
                        )
        for expression, chains in lists.stored:
            self._stored(at, index, expression, chains, best)
        return best

    def _move(self, index: int, group: GroupId, before: bool, best: dict[Key, DpEntry]) -> None:
        """Shuffle the cheapest entry wherever that is cheaper than what delivers a wanted
        distribution."""
        wanted = self._space.wanted[group]
        cheapest = best.get(ANY_DISTRIBUTION) if len(wanted) > 1 else None
        if cheapest is None:
            return
        own = self._store.moved(group, index, before)
        cost = cheapest.cost + self._weights[index] * own
        for key in wanted:
            known = best.get(key)
            if key and (known is None or cost < known.cost):
                best[key] = DpEntry(cost, How.MOVED, own, moved=cheapest)

    def _split(
        self, at: Solution, index: int, group: GroupId, step: GroupId, best: dict[Key, DpEntry]
    ) -> None:
        parts = at.entries[index].of.get(step, {}).get(ANY_DISTRIBUTION)
        if parts is not None and self._space.is_below(step, group):
            keep_better(best, ANY_DISTRIBUTION, DpEntry(parts.cost, How.SPLIT, added=step))

    # -- what is kept -------------------------------------------------------------------------

    def _before(self, at: Solution, index: int) -> Mapping[ChainId, ChainCost]:
        """Return the costs of all chains up to the previous run."""
        return at.chain_costs[index - 1] if index else self._committed

    def _extendable(self, at: Solution, index: int) -> Mapping[ChainId, ChainCost]:
        """Return those of the previous run's chains to which this run may append a partition."""
        return at.chain_costs[index - 1] if index else self._own

    def _may_keep(self, at: Solution, kept: ChainId) -> bool:
        return at.allowed is None or kept in at.allowed or kept in self._committed

    def _fill_chain_costs(
        self, at: Solution, index: int, group: GroupId, made: Mapping[Key, DpEntry]
    ) -> None:
        """Cost this run's partition of every chain that the group owns: it starts with the whole
        snapshot, or appends the delta; or there is none, where the step adds nothing."""
        weight, before = self._weights[index], self._extendable(at, index)
        span = self._spans[index]
        may_start = self._terms.late or index in (0, len(self._spans) - 1)
        for slot, key, kept, _ in self.owned(group):
            if not self._may_keep(at, kept):
                continue
            shared = (kept, index) in at.shared
            best: ChainCost | None = None
            whole = made.get(key)
            if whole is not None and (may_start or slot.replaced):
                own = self._store.written(slot, slot.snapshot, index)
                cost = whole.cost + weight * own
                best = ChainCost(cost, 0 if shared else cost, True, own)
            extended: ChainCost | None = None
            chain = before.get(kept)
            if chain is not None and self._unchanged.goes_on(slot, span):
                extended = ChainCost(chain.charge, chain.charge, False, 0, goes_on=True)
            elif chain is not None:
                extended = self._appended(at, index, slot, key, chain, shared=shared)
            if extended is not None and (best is None or extended.cost < best.cost):
                best = extended
            elif extended is not None:
                at.extended[index][kept] = extended
            if best is not None:
                at.chain_costs[index][kept] = best

    def _appended(
        self, at: Solution, index: int, slot: Slot, key: Key, chain: ChainCost, *, shared: bool
    ) -> ChainCost | None:
        """Return the cost of a chain with this run's delta appended; None where that cannot be had
        yet."""
        delta = slot.delta
        if delta is None or not self._space.is_below(delta, slot.whole):
            return None
        change = at.made[index].of.get(delta, {}).get(key)
        if change is None:
            return None
        own = self._store.written(slot, delta, index)
        mine = change.cost + self._weights[index] * own
        # Shared partitions are paid for: starting anew would not save their cost.
        return ChainCost(chain.charge + mine, chain.charge + (0 if shared else mine), False, own)

    def _read(
        self, at: Solution, index: int, read: ChainRead, before: bool, best: dict[Key, DpEntry]
    ) -> None:
        """Try to read the group from a chain: whole, or what earlier runs kept with this run's
        delta added."""
        (slot, _, kept, now), delivers, own, placed, added = read
        if not self._may_keep(at, kept):
            return
        weight, earlier = self._weights[index], self._before(at, index).get(kept)
        chain = earlier if before else at.chain_costs[index].get(kept) if now else None
        if chain is not None:
            cost = chain.charge + weight * own
            if is_better(best, delivers, cost):
                entry = DpEntry(cost, How.READ, own, kept=kept, placed=placed, slot=slot)
                keep_better(best, delivers, entry)
        if earlier is None:
            return
        for change, mine in added:
            came = at.entries[index].of.get(change, {}).get(ANY_DISTRIBUTION)
            if came is None:
                continue
            cost = earlier.charge + came.cost + weight * mine
            if is_better(best, ANY_DISTRIBUTION, cost):
                best[ANY_DISTRIBUTION] = DpEntry(
                    cost, How.ADDED, mine, kept=kept, slot=slot, added=change
                )

    def _read_appended(
        self,
        at: Solution,
        index: int,
        slot: Slot,
        made: dict[Key, DpEntry],
        best: dict[Key, DpEntry],
    ) -> None:
        """Try to read a delta from the partition that this run appends to a chain: its rows are
        distributed already, so several readers need not shuffle them again."""
        delta = slot.delta
        if delta is None:
            return
        read = self._store.appended(slot, delta, index)
        weight, before = self._weights[index], self._extendable(at, index)
        for _, key, kept, _ in self._chains(slot, delta):
            change, chain = made.get(key), before.get(kept)
            if change is None or chain is None or not self._may_keep(at, kept):
                continue
            mine = change.cost + weight * self._store.written(slot, delta, index)
            charge = chain.charge + (0 if (kept, index) in at.shared else mine)
            cost = charge + weight * read
            if is_better(best, key, cost):
                entry = DpEntry(cost, How.READ, read, kept=kept, placed=bool(key), slot=slot)
                keep_better(best, key, entry)

    def _stored(
        self,
        at: Solution,
        index: int,
        expression: Expression,
        chains: tuple[HeldChain, ...],
        best: dict[Key, DpEntry],
    ) -> None:
        """Try to read a chain with the runs that wrote its rows, if this run appends to it; or what
        the run before has kept."""
        before = isinstance(expression.node, Kept)
        for slot, key, kept, _ in chains:
            if not self._may_keep(at, kept):
                continue
            chain_cost = self._before(at, index).get(kept) if before else at.appended(index, kept)
            if chain_cost is None:
                continue
            own = self._store.stored(slot, index, before=before)
            cost = chain_cost.charge + self._weights[index] * own
            entry = DpEntry(cost, How.READ, own, expression, kept=kept, placed=bool(key), slot=slot)
            keep_better(best, key, entry)
