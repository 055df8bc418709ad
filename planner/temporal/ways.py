"""The ways to compute an expression in one run: what it costs itself, and what it asks of its
inputs. Physical alternatives (Tempura's implementation rules): broadcast or shuffle a join, group
rows where they are or where their keys are."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

from planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from planner.cost import operators
from planner.cost.operators import Size
from planner.cost.prices import SPARK, Prices
from planner.memo.memo import Expression, GroupId
from planner.memo.reference import Reference, Shared, Stamped
from planner.temporal.figures import Figures
from planner.temporal.space import (
    Dated,
    Key,
    Space,
    aggregate_key,
    branch_keys,
    dated,
    join_keys,
    key_below,
)


class Ask(NamedTuple):
    """An input: a group, as of the last run (``before``) or this one, distributed by ``key``."""

    group: GroupId
    key: Key
    before: bool


class Way(NamedTuple):
    """``own``: millionths of a CPU second. ``gives``: the distribution of the output. ``hashes``:
    the input that is put into a hash table if the other one is in place, which then saves
    ``gain``. ``moves``: it shuffles what it is given."""

    own: int
    asks: tuple[Ask, ...]
    gives: Key = ()
    hashes: int | None = None
    gain: int = 0
    moves: bool = False


class Span(NamedTuple):
    """One step: from the run ``base`` (0: the day begins) to the run ``run``."""

    base: int
    run: int


_HANDS_ON = (Join, Filter, Project, UnionAll)
"""Operators that hand a distribution on: what they ask for depends on what is wanted of them."""


class Try(NamedTuple):
    """A way, and the cells that it asks for."""

    way: Way
    expression: Expression
    asks: tuple[tuple[Dated, Key], ...]


class _Plain(NamedTuple):
    """What all ways of an expression at a moment have in common: what they ask for, how much that
    is, and what the operator costs over it where nothing is moved."""

    asks: tuple[Ask, ...]
    sizes: tuple[Size, ...]
    output: Size
    own: int


class Ways:
    """Lists ways, each once per expression, moment and wanted distribution. The moment of a
    snapshot is one instant, whatever span it is the end or the beginning of.

    ``eager``: groups that are made dear to compute whole after the first run, so that they are
    rather kept, and their deltas added: early work that was asked for, whatever it repays.
    """

    def __init__(
        self,
        space: Space,
        figures: Figures,
        eager: frozenset[GroupId] = frozenset(),
        prices: Prices = SPARK,
    ) -> None:
        self.prices = prices
        self._space = space
        self._memo = space.memo
        self._figures = figures
        self.eager = eager
        self._sizes: dict[tuple[GroupId, int, int], Size] = {}
        self._asks: dict[tuple[int, bool], tuple[Ask, ...]] = {}
        self._plain: dict[tuple[int, int, int], tuple[tuple[Size, ...], Size, int]] = {}
        self._keys: dict[int, tuple[Key, Key]] = {}
        self._done: dict[tuple[int, Key, bool, int, int], tuple[Way, ...]] = {}
        self._tries: dict[tuple[Dated, int, int, bool, bool], tuple[Try, ...]] = {}

    def eagerly(self, eager: frozenset[GroupId]) -> Ways:
        """The same ways, with these groups dear; what one has listed the other one knows."""
        other = copy.copy(self)
        other.eager = eager
        return other

    def of(self, expression: Expression, key: Key, before: bool, span: Span) -> tuple[Way, ...]:
        """The ways to have the expression's rows, those distributed by ``key`` among them."""
        if not isinstance(expression.node, _HANDS_ON):
            key = ()
        known = (expression.id, key, before, *self.moment(expression.group, before, span))
        ways = self._done.get(known)
        if ways is None:
            ways = self._done[known] = tuple(self._ways(expression, key, before, span))
        if self._is_dear(expression.group, span):
            return tuple(way._replace(own=DEAR + way.own) for way in ways)
        return ways

    def tries(
        self, group: GroupId, before: bool, span: Span, *, keeping: bool = True
    ) -> tuple[Try, ...]:
        """All ways to compute a group from others that come before it in the order of the space.
        ``keeping``: not only the query's own expressions."""
        moment, dear = self.moment(group, before, span), self._is_dear(group, span)
        known = (dated(group, before), *moment, dear, keeping)
        tries = self._tries.get(known)
        if tries is None:
            found: list[Try] = []
            for expression in self._memo.alternatives(group):
                if (keeping or not expression.origin) and not isinstance(expression.node, Stamped):
                    found += self._of_expression(expression, group, before, span)
            tries = self._tries[known] = tuple(found)
        return tries

    def _of_expression(
        self, expression: Expression, group: GroupId, before: bool, span: Span
    ) -> Iterator[Try]:
        """Each way once. One that asks for what comes later is left out: it is never there yet."""
        below = self._space.is_below
        wanted = self._space.wanted[group] if isinstance(expression.node, _HANDS_ON) else ((),)
        ways: dict[Way, None] = {}
        for key in wanted:
            ways |= dict.fromkeys(self.of(expression, key, before, span))
        for way in ways:
            if all(below(ask.group, group) for ask in way.asks):
                asks = tuple((dated(ask.group, ask.before), ask.key) for ask in way.asks)
                yield Try(way, expression, asks)

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        """How much there is of a group."""
        known = (group, *self.moment(group, before, span))
        size = self._sizes.get(known)
        if size is None:
            if group in self._space.steps:
                size = self._figures.step(group, span.base, span.run)
            else:
                size = self._figures.snapshot(group, span.base if before else span.run)
            self._sizes[known] = size
        return size

    def moment(self, group: GroupId, before: bool, span: Span) -> tuple[int, int]:
        """What the ways and the size of a group depend on: of a step its span, of a snapshot the
        run it is as of, after a -1."""
        if group in self._space.steps:
            return span.base, span.run
        return -1, span.base if before else span.run

    def _is_dear(self, group: GroupId, span: Span) -> bool:
        return bool(span.base and self.eager) and self._memo.leader(group) in self.eager

    def _ways(self, expression: Expression, key: Key, before: bool, span: Span) -> list[Way]:
        node = expression.node
        if isinstance(node, Scan):
            if before:
                return []  # what a source was is not to be had any more
            return [Way(round(self._scan(expression, node, span)), ())]
        if isinstance(node, Shared):
            if node.run != (span.base if before else span.run):
                return []  # it is of another instant
            return [Way(self._shared(expression, node, before, span), (), node.key)]
        plain = self._in_common(expression, before, span)
        asks, sizes, output, own = plain
        if isinstance(node, Join):
            if expression.id not in self._keys:
                self._keys[expression.id] = join_keys(node)
            return _join(node, plain, self._keys[expression.id], key, self.prices)
        if isinstance(node, Aggregate) and node.keys:
            return _aggregate(node, asks, sizes, output, own, self.prices)
        if isinstance(node, Filter | Project) and key:
            below = key_below(node, key)
            if below is not None:
                return [Way(own, (Ask(asks[0].group, below, asks[0].before),), key)]
            return []
        if isinstance(node, UnionAll) and key and self.prices.placed_unions:
            placed = zip(asks, branch_keys(node, key), strict=True)
            return [Way(own, tuple(ask._replace(key=below) for ask, below in placed), key)]
        return [Way(own, asks)]

    def _scan(self, expression: Expression, node: Scan, span: Span) -> float:
        size = self.size(expression.group, False, span)
        cost = operators.read(size, self.prices)
        if node.source in self._memo.retracting and not self._memo.group(expression.group).step:
            # What is there of a changelog has to be added up, by whole rows.
            cost += operators.exchange(size, self.prices)
            cost += operators.group(size.rows, size.rows, (), 1, self.prices)
        return cost

    def _shared(self, expression: Expression, node: Shared, before: bool, span: Span) -> int:
        size = self.size(expression.group, before, span)
        cost = operators.read(size, self.prices)
        if node.plain:
            cost += operators.exchange(size, self.prices)
            cost += operators.group(size.rows, size.rows, (), 1, self.prices)
        return round(cost)

    def _in_common(self, expression: Expression, before: bool, span: Span) -> _Plain:
        asks = self._asks.get((expression.id, before))
        if asks is None:
            asks = tuple(self._ask(i, (), before) for i in expression.node.inputs)
            self._asks[expression.id, before] = asks
        known = (expression.id, *self.moment(expression.group, before, span))
        figures = self._plain.get(known)
        if figures is None:
            output = self.size(expression.group, before, span)
            sizes = tuple(self.size(ask.group, ask.before, span) for ask in asks)
            own = round(operators.plain(expression.node, sizes, output, self.prices))
            figures = self._plain[known] = sizes, output, own
        return _Plain(asks, *figures)

    def _ask(self, given: Relation, key: Key, before: bool) -> Ask:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        group = self._memo.group(given.group)
        tvr = self._memo.tvr_of(group.id)
        static = tvr is not None and not tvr.changing
        return Ask(group.id, key, (given.before or before) and not group.step and not static)


def _join(node: Join, plain: _Plain, keys: tuple[Key, Key], key: Key, prices: Prices) -> list[Way]:
    asks, sizes, output, own = plain
    left, right = keys
    ways = []
    small = operators.broadcast_side(node, sizes[0], sizes[1], prices)
    if small is not None or not left:
        ways.append(Way(own, asks))
        probe = None if small is None else 1 - small
        columns = {c.id for c in node.inputs[probe].columns} if probe is not None else set()
        if probe is not None and key and set(key) <= columns:
            placed = list(asks)
            placed[probe] = Ask(asks[probe].group, key, asks[probe].before)
            ways.append(Way(own, tuple(placed), key))
    if not left:
        return ways
    own = round(operators.joined(sizes[0], sizes[1], output.rows, broadcast=False, prices=prices))
    placed_asks = tuple(Ask(a.group, k, a.before) for a, k in zip(asks, (left, right), strict=True))
    side = operators.hash_side(node, sizes[0], sizes[1], prices)
    gain = 0
    if side is not None:
        hashed = operators.hashed(sizes[side], sizes[1 - side], output.rows, prices)
        gain = max(0, own - round(hashed))
    gives = [left] if node.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI) else []
    gives += [left] if node.kind is JoinKind.ANTI else []
    gives += [right] if node.kind is JoinKind.INNER else []
    hashes = side if gain else None
    return ways + [Way(own, placed_asks, given, hashes, gain) for given in gives or [()]]


def _aggregate(
    node: Aggregate,
    asks: tuple[Ask, ...],
    sizes: tuple[Size, ...],
    output: Size,
    own: int,
    prices: Prices,
) -> list[Way]:
    """Partly where the rows are, then moved and merged; or whole where equal keys are together."""
    key = aggregate_key(node)
    whole = Way(own, (Ask(asks[0].group, key, asks[0].before),), key)
    if not prices.partial_tasks:
        return [whole]
    partial = Size(min(sizes[0].rows, output.rows * prices.partial_tasks), output.width)
    moved = round(operators.exchange(partial, prices))
    return [Way(own + moved, asks, key, moves=True), whole]


DEAR = 10**12
"""More than any plan that is worth making: eleven days of CPU."""
