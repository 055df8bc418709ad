"""The ways to compute an expression in one run: what it costs itself, and what it asks of its
inputs. Physical alternatives (Tempura's implementation rules): broadcast or shuffle a join, group
rows where they are or where their keys are."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from planner.memo.memo import Expression, GroupId, Memo
from planner.memo.reference import Reference
from planner.temporal.figures import Figures
from planner.temporal.space import Key, aggregate_key, branch_keys, join_keys, key_below


class Ask(NamedTuple):
    """An input: a group, as of the last run (``before``) or this one, distributed by ``key``."""

    group: GroupId
    key: Key
    before: bool


@dataclass(frozen=True, slots=True)
class Way:
    """``own``: millionths of a CPU second. ``gives``: the distribution of the output. ``hashes``:
    the input that is put into a hash table if the other one is in place, which then saves
    ``gain``. ``moves``: it shuffles what it is given."""

    own: int
    asks: tuple[Ask, ...]
    gives: Key = ()
    hashes: int | None = None
    gain: int = 0
    moves: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """One step: from the run ``base`` (0: the day begins) to the run ``run``."""

    base: int
    run: int


_BY_KEY = (Join, Filter, Project, UnionAll)
"""Operators that hand a distribution on: what they ask for depends on what is wanted of them."""


class Ways:
    """Lists ways, each once per expression, step and wanted distribution.

    ``eager``: groups that are made dear to compute whole after the first run, so that they are
    rather kept, and their deltas added: early work that was asked for, whatever it repays.
    """

    def __init__(
        self,
        memo: Memo,
        figures: Figures,
        eager: frozenset[GroupId] = frozenset(),
        prices: Prices = SPARK,
    ) -> None:
        self.prices = prices
        self._memo = memo
        self._figures = figures
        self._eager = eager
        self._sizes: dict[tuple[GroupId, bool, Span], Size] = {}
        self._done: dict[tuple[int, Key, bool, Span], tuple[Way, ...]] = {}

    def of(self, expression: Expression, key: Key, before: bool, span: Span) -> tuple[Way, ...]:
        """The ways to have the expression's rows, those distributed by ``key`` among them."""
        if not isinstance(expression.node, _BY_KEY):
            key = ()
        known = (expression.id, key, before, span)
        if known not in self._done:
            ways = self._ways(expression, key, before, span)
            if span.base and self._memo.leader(expression.group) in self._eager:
                ways = [replace(way, own=DEAR + way.own) for way in ways]
            self._done[known] = tuple(ways)
        return self._done[known]

    def size(self, group: GroupId, before: bool, span: Span) -> Size:
        known = (group, before, span)
        if known not in self._sizes:
            if self._memo.group(group).step:
                self._sizes[known] = self._figures.step(group, span.base, span.run)
            else:
                run = span.base if before else span.run
                self._sizes[known] = self._figures.snapshot(group, run)
        return self._sizes[known]

    def _ways(self, expression: Expression, key: Key, before: bool, span: Span) -> list[Way]:
        node = expression.node
        if isinstance(node, Scan):
            if before:
                return []  # what a source was is not to be had any more
            return [Way(round(self._scan(expression, node, span)), ())]
        output = self.size(expression.group, before, span)
        asks = tuple(self._ask(i, (), before) for i in node.inputs)
        sizes = tuple(self.size(ask.group, ask.before, span) for ask in asks)
        if isinstance(node, Join):
            return _join(node, asks, sizes, output, key, self.prices)
        own = round(operators.plain(node, sizes, output, self.prices))
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

    def _ask(self, given: Relation, key: Key, before: bool) -> Ask:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        group = self._memo.group(given.group)
        tvr = self._memo.tvr_of(group.id)
        static = tvr is not None and not tvr.changing
        return Ask(group.id, key, (given.before or before) and not group.step and not static)


def _join(
    node: Join,
    asks: tuple[Ask, ...],
    sizes: tuple[Size, ...],
    output: Size,
    key: Key,
    prices: Prices,
) -> list[Way]:
    left, right = join_keys(node)
    ways = []
    small = operators.broadcast_side(node, sizes[0], sizes[1], prices)
    if small is not None or not left:
        own = round(operators.plain(node, sizes, output, prices))
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
