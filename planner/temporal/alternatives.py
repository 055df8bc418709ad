"""The physical alternatives of an expression in one run, with what each costs by itself and what it
requires of its inputs.

They correspond to Tempura's implementation rules: broadcast or shuffle a join, aggregate before or
after the shuffle.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
)
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.exact.sums import ExactSums
from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.memo.reference import Kept, Reference, Stamped
from forerun.planner.memo.relying import Relying
from forerun.planner.temporal.as_of import AsOf, GroupVersion, Span, group_version
from forerun.planner.temporal.counted_sides import counted_side
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.physical import (
    PhysicalAlternative,
    Plain,
    Requirement,
    aggregated,
    joined,
    joined_as_told,
)
from forerun.planner.temporal.space import (
    Key,
    Space,
    branch_keys,
    join_keys,
    key_below,
    window_key,
)
from forerun.planner.temporal.told_sizes import ToldSizes
from forerun.planner.temporal.unchanged import Unchanged
from forerun.planner.temporal.window_order import is_in_order, is_read_in_order

_HANDS_ON = (Join, Filter, Project, UnionAll, Relying)
"""Operators that can preserve an input's distribution: what they require of their inputs depends on
the distribution that is wanted of them."""


class ResolvedAlternative(NamedTuple):
    """A physical alternative of an expression, with the DP entries that it reads."""

    alternative: PhysicalAlternative
    expression: Expression
    requirements: tuple[tuple[GroupVersion, Key], ...]


class AlternativeEnumerator:
    """Enumerates physical alternatives and caches them by expression, wanted distribution and
    :class:`AsOf`, so a snapshot is looked at once per instant, whatever steps begin or end there.

    Every alternative that recomputes one of the ``forced`` groups after the first run is penalized,
    so that the search keeps these groups and adds their deltas.
    """

    def __init__(
        self,
        space: Space,
        group_sizes: GroupSizes,
        forced: frozenset[GroupId] = frozenset(),
        prices: Prices = SPARK,
        sums: ExactSums | None = None,
    ) -> None:
        """``sums`` tell what aggregates are computed as at prices with exact sums. What steps leave
        as it was is in :attr:`unchanged`."""
        self.prices = prices
        self._sums = sums
        self._space = space
        self._memo = space.memo
        self._group_sizes = group_sizes
        self.unchanged = Unchanged(space, group_sizes)
        self.forced = forced
        self._as_ofs: dict[Span, tuple[AsOf, AsOf, AsOf]] = {}
        self._sizes: dict[tuple[GroupId, int, int], Size] = {}
        self._required: dict[tuple[int, bool], tuple[Requirement, ...]] = {}
        self._plain: dict[tuple[int, int, int], tuple[tuple[Size, ...], Size, int]] = {}
        self._keys: dict[int, tuple[Key, Key]] = {}
        self._told: dict[int, ToldSizes] = {}
        self._done: dict[tuple[int, Key, bool, int, int], tuple[PhysicalAlternative, ...]] = {}
        self._resolved: dict[
            tuple[GroupVersion, int, int, bool, bool], tuple[ResolvedAlternative, ...]
        ] = {}
        self.early: AlternativeEnumerator | None = None
        self.early_runs: frozenset[int] = frozenset()

    def forcing(self, forced: frozenset[GroupId]) -> AlternativeEnumerator:
        """Return an enumerator with these groups forced. It shares the caches of this one."""
        other = copy.copy(self)
        other.forced = forced
        other.early = None if self.early is None else self.early.forcing(forced)
        return other

    def with_early(self, runs: frozenset[int], prices: Prices) -> AlternativeEnumerator:
        """Return the same enumerator, but for these runs, which another engine does at its own
        prices."""
        other = copy.copy(self)
        other.early, other.early_runs = self.at_prices(prices).forcing(self.forced), runs
        return other

    def without_starts(self) -> AlternativeEnumerator:
        """Return an enumerator with nothing forced, to which starting stages and joins is free."""
        free = self.at_prices(self.prices.without_starts())
        if self.early is None:
            return free
        return free.with_early(self.early_runs, self.early.prices.without_starts())

    def is_read_in_order(self, group: GroupId) -> bool:
        """Return whether windows read rows of a group in an order that those below left."""
        return is_read_in_order(self._memo, group)

    def prices_of(self, run: int) -> Prices:
        """Return the prices of a run."""
        return self._of_run(run).prices

    def _of_run(self, run: int) -> AlternativeEnumerator:
        return self.early if self.early is not None and run in self.early_runs else self

    def at_prices(self, prices: Prices) -> AlternativeEnumerator:
        """Return an enumerator with nothing forced at these prices. It shares the caches of what
        does not depend on prices, and all of them where the prices are the same."""
        if prices == self.prices:
            return self.forcing(frozenset())
        other = AlternativeEnumerator(
            self._space, self._group_sizes, prices=prices, sums=self._sums
        )
        other._sizes, other._required = self._sizes, self._required
        other._keys, other.unchanged = self._keys, self.unchanged
        return other

    def of(
        self, expression: Expression, key: Key, before: bool, span: Span
    ) -> tuple[PhysicalAlternative, ...]:
        """Return the alternatives of an expression in a step. For operators that preserve
        distributions they include those that deliver ``key``; other operators ignore ``key``."""
        if (elsewhere := self._of_run(span.run)) is not self:
            return elsewhere.of(expression, key, before, span)
        if not isinstance(expression.node, _HANDS_ON):
            key = ()
        known = (expression.id, key, before, *self.as_of(expression.group, before, span))
        alternatives = self._done.get(known)
        if alternatives is None:
            alternatives = self._done[known] = tuple(
                self._alternatives(expression, key, before, span)
            )
        if self._is_forced(expression.group, span):
            return tuple(one._replace(penalized=True) for one in alternatives)
        return alternatives

    def resolved(
        self, group: GroupId, before: bool, span: Span, *, rewrites: bool = True
    ) -> tuple[ResolvedAlternative, ...]:
        """Return the alternatives of a group whose inputs all come before it in the order of the
        space. Without ``rewrites``, only the query's own expressions count, not those that rules
        have added."""
        if (elsewhere := self._of_run(span.run)) is not self:
            return elsewhere.resolved(group, before, span, rewrites=rewrites)
        as_of, forced = self.as_of(group, before, span), self._is_forced(group, span)
        known = (group_version(group, before), *as_of, forced, rewrites)
        resolved = self._resolved.get(known)
        if resolved is None:
            found: list[ResolvedAlternative] = []
            for expression in self._memo.alternatives(group):
                stored = isinstance(expression.node, Stamped | Kept)
                if (rewrites or not expression.origin) and not stored:
                    found += self._of_expression(expression, group, before, span)
            resolved = self._resolved[known] = tuple(found)
        return resolved

    def _of_expression(
        self, expression: Expression, group: GroupId, before: bool, span: Span
    ) -> Iterator[ResolvedAlternative]:
        """Yield each alternative once. One whose input comes later in the order is left out,
        because the DP table has no entry for it yet."""
        below = self._space.is_below
        for alternative in self._for_wanted(expression, group, before, span):
            versions = []
            for needed, key, needed_before in alternative.requirements:
                if not below(needed, group):
                    break
                versions.append((group_version(needed, needed_before), key))
            else:
                yield ResolvedAlternative(alternative, expression, tuple(versions))

    def _for_wanted(
        self, expression: Expression, group: GroupId, before: bool, span: Span
    ) -> Iterable[PhysicalAlternative]:
        """Return the alternatives for all distributions that are wanted of the group, each once."""
        wanted = self._space.wanted[group]
        if len(wanted) == 1 or not isinstance(expression.node, _HANDS_ON):
            return self.of(expression, wanted[0], before, span)
        alternatives: dict[PhysicalAlternative, None] = {}
        for key in wanted:
            alternatives |= dict.fromkeys(self.of(expression, key, before, span))
        return alternatives

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        """Return the estimated size of a group at the beginning of a step (``before``) or its end;
        of a group that depends on the step, its size for that step."""
        known = (group, *self.as_of(group, before, span))
        size = self._sizes.get(known)
        if size is None:
            size = self._sizes[known] = self._group_sizes.at(group, AsOf(*known[1:]))
        return size

    def as_of(self, group: GroupId, before: bool, span: Span) -> AsOf:
        """Return what the alternatives and the size of a group depend on in a step."""
        known = self._as_ofs.get(span)
        if known is None:
            instants = span.instant(before=False), span.instant(before=True)
            known = self._as_ofs[span] = (*instants, span.step())
        return known[2] if group in self._space.steps else known[before]

    def _is_forced(self, group: GroupId, span: Span) -> bool:
        return bool(span.base and self.forced) and self._memo.leader(group) in self.forced

    def _alternatives(
        self, expression: Expression, key: Key, before: bool, span: Span
    ) -> list[PhysicalAlternative]:
        node = expression.node
        if isinstance(node, Scan):
            if before:
                return []  # a source cannot be read as of an earlier run
            return [PhysicalAlternative(round(self._scan(expression, node, span)), ())]
        plain = self._in_common(expression, before, span)
        requirements, sizes, output, own = plain
        if isinstance(node, Join):
            return self._joined(expression, node, plain, key, span)
        if isinstance(node, Aggregate) and node.keys:
            return aggregated(node, requirements, sizes, output, own, self.prices)
        if isinstance(node, Window) and (together := window_key(node)):
            return [PhysicalAlternative(own, (requirements[0]._replace(key=together),), together)]
        if isinstance(node, Filter | Project | Relying) and key:
            below = key_below(node, key)
            if below is not None:
                return [
                    PhysicalAlternative(
                        own,
                        (Requirement(requirements[0].group, below, requirements[0].before),),
                        key,
                    )
                ]
            return []
        if isinstance(node, UnionAll) and key:
            return self._placed_union(node, plain, key, span)
        return [PhysicalAlternative(own, requirements)]

    def _placed_union(
        self, node: UnionAll, plain: Plain, key: Key, span: Span
    ) -> list[PhysicalAlternative]:
        """Enumerate the union of branches that are where they must be: one that has all the rows is
        handed on as it is, and several are where the engine's unions keep their places."""
        rows, asked = self._with_rows(node, span), list(plain.requirements)
        if not self.prices.placed_unions and len(rows) != 1:
            return [PhysicalAlternative(plain.own, plain.requirements)]
        keys = branch_keys(node, key)
        for place in rows:
            asked[place] = asked[place]._replace(key=keys[place])
        return [PhysicalAlternative(plain.own, tuple(asked), key)]

    def _with_rows(self, union: UnionAll, span: Span) -> list[int]:
        """Return the places of the branches of a union that may have rows in a step."""
        groups = (one.group for one in union.branches if isinstance(one, Reference))
        empty = [self.unchanged.is_empty(self._memo.leader(group), span) for group in groups]
        return [place for place, without in enumerate(empty) if not without]

    def _joined(
        self, expression: Expression, node: Join, plain: Plain, key: Key, span: Span
    ) -> list[PhysicalAlternative]:
        if expression.id not in self._keys:
            self._keys[expression.id] = join_keys(node)
        keys = self._keys[expression.id]
        groups = [requirement.group for requirement in plain.requirements]
        counted = counted_side(self._memo, node, groups, plain.sizes, self.prices)
        if self.prices.by_files:
            told = self._told_at(span.run).sides(node)
            return joined_as_told(node, plain, keys, key, self.prices, counted, told)
        return joined(node, plain, keys, key, self.prices, counted)

    def _scan(self, expression: Expression, node: Scan, span: Span) -> float:
        size = self.size(expression.group, False, span)
        cost = operators.scan(node, (), size, self.prices)
        step = self._memo.group(expression.group).step
        if not step and self._group_sizes.is_added_up(node.source):
            # The rows of a changelog are consolidated: shuffled and grouped by all columns.
            cost += operators.exchange(size, self.prices)
            cost += operators.group(size.rows, size.rows, self.prices)
        return cost

    def _own(self, node: Relation, sizes: tuple[Size, ...], output: Size, span: Span) -> float:
        if isinstance(node, Relying):
            return sum(self._lookup(one, span) for one in node.on)
        if isinstance(node, UnionAll) and len(self._with_rows(node, span)) == 1:
            return 0.0
        if isinstance(node, Window) and is_in_order(self._memo, node):
            return operators.window_in_order(sizes[0].rows, self.prices)
        return operators.plain(node, sizes, output, self.prices)

    def _lookup(self, one: ReliedForeignKey, span: Span) -> float:
        """Return what it costs to verify a foreign key: the keys of the parents that come are
        looked up among the children that were there."""
        if not span.base:
            return 0.0  # no children were there
        sizes, key = self._group_sizes, one.key
        there = sizes.of_source(one.source, key.columns, 0, span.base)
        read = Size(there.rows * sizes.overlap(one), there.width)
        came = sizes.of_source(key.parent, key.parent_columns, span.base, span.run)
        return operators.lookup(came, read, self.prices)

    def _in_common(self, expression: Expression, before: bool, span: Span) -> Plain:
        requirements = self._required.get((expression.id, before))
        if requirements is None:
            requirements = tuple(self._requirement(i, (), before) for i in expression.node.inputs)
            self._required[expression.id, before] = requirements
        known = (expression.id, *self.as_of(expression.group, before, span))
        group_sizes = self._plain.get(known)
        if group_sizes is None:
            output = self.size(expression.group, before, span)
            sizes = tuple(
                self.size(requirement.group, requirement.before, span)
                for requirement in requirements
            )
            node = self._as_computed(expression.node, sizes[0].rows if sizes else 0.0, output.rows)
            own = round(self._own(node, sizes, output, span))
            group_sizes = self._plain[known] = sizes, output, own
        return Plain(requirements, *group_sizes)

    def _as_computed(self, node: Relation, rows: float, groups: float) -> Relation:
        """Return the node, or of an aggregate the one that a stage computes in place of it, which
        sees through a projection below."""
        if self._sums is None or not self.prices.exact_sums or not isinstance(node, Aggregate):
            return node
        below = node.input
        if isinstance(below, Reference):
            made = (one.node for one in self._memo.alternatives(below.group))
            below = next((one for one in made if isinstance(one, Project)), below)
        return self._sums.computed(replace(node, input=below), rows, groups)

    def _told_at(self, run: int) -> ToldSizes:
        if run not in self._told:
            self._told[run] = ToldSizes(
                self._memo,
                self._group_sizes.files(run),
                self.prices.broadcast_bytes if self.prices.as_written else 0.0,
            )
        return self._told[run]

    def _requirement(self, given: Relation, key: Key, before: bool) -> Requirement:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        group = self._memo.group(given.group)
        tvr = self._memo.tvr_of(group.id)
        static = tvr is not None and not tvr.changing
        return Requirement(
            group.id, key, (given.before or before) and not group.step and not static
        )


FORCED_PENALTY = 1 << 1100
"""A number above every cost estimate: estimates are rounded floating-point numbers, hence below
2**1024."""


def forced_penalty(weights: Mapping[int, int]) -> int:
    """Return what the search adds for each penalized alternative: more than any sum of weighted
    costs. Reported plan costs do not contain it."""
    return FORCED_PENALTY * max(weights.values())
