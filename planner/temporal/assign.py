"""The temporal choice: per operator between early and final, by cost.

For a given set of opened runs, every operator is planned in up to three ways, inputs first, each
with the cheapest way of its inputs (Tempura 6.2, over two classes of time: every opened run, or
the final one):

* *early*: its delta is made in every opened run and flows on;
* *kept*: early, and its output is saved run by run, distributed by a key (rows, or the states of a
  keyed view);
* *final*: its whole output is made in the final run, from inputs that are kept or final.

A static operator is computed where it is read. Costs are per opened run, so that the final run
alone can be looked at; weights are applied when ways are compared. What the runs before the base
cost is spent and counts for nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from planner.algebra.predicates import split_condition
from planner.algebra.relational import Aggregate, Join, JoinKind
from planner.algebra.types import Column, DataType
from planner.cost import operators
from planner.cost.operators import Size
from planner.rules.incremental.rule import Need
from planner.temporal.annotate import Operator
from planner.temporal.sizes import Sizes


class Mode(StrEnum):
    STATIC = "static"
    EARLY = "early"
    KEPT = "kept"
    FINAL = "final"


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How an operator is computed. ``own`` is its cost in each opened run, without its inputs'.

    ``key``: how a kept output is distributed. ``total`` is the weighted cost with all inputs.
    """

    operator: Operator
    mode: Mode
    key: tuple[Column, ...]
    own: tuple[float, ...]
    inputs: tuple[Choice, ...]
    total: float

    def by_run(self) -> list[float]:
        """The cost of the whole cone in each opened run."""
        costs = list(self.own)
        stack = list(self.inputs)
        while stack:
            choice = stack.pop()
            costs = [a + b for a, b in zip(costs, choice.own, strict=True)]
            stack.extend(choice.inputs)
        return costs


Available = Callable[[Operator, tuple[Column, ...]], bool]


class Assignment:
    """Plans one query for one set of opened runs (indices, the last one is the final run).

    ``base`` is the run that the first opened one goes on from. ``available`` says whether a kept
    output can be gone on with: always at base 0, later only if the committed runs kept it.
    ``eager`` prefers early and kept wherever there is a rule, whatever it costs.
    """

    def __init__(
        self,
        sizes: Sizes,
        weights: tuple[float, ...],
        opened: tuple[int, ...],
        base: int,
        available: Available,
        *,
        eager: bool = False,
    ) -> None:
        self._sizes = sizes
        self._weights = tuple(weights[run - 1] for run in opened)
        self._spans = tuple(zip((base, *opened[:-1]), opened, strict=True))
        self._final = opened[-1]
        self._available = available
        self._eager = eager
        self._early: dict[int, Choice | None] = {}
        self._kept: dict[tuple[int, tuple[Column, ...]], Choice | None] = {}
        self._finals: dict[int, Choice] = {}

    def best(self, root: Operator) -> Choice:
        """The cheapest way to have the whole output in the final run."""
        return self._cheapest(root, (), exchange=False)[0]

    def _choice(
        self,
        operator: Operator,
        mode: Mode,
        own: tuple[float, ...],
        inputs: tuple[Choice, ...],
        key: tuple[Column, ...] = (),
    ) -> Choice:
        total = sum(w * cost for w, cost in zip(self._weights, own, strict=True))
        return Choice(operator, mode, key, own, inputs, total + sum(i.total for i in inputs))

    def _per_run(self, cost: Callable[[int, int], float]) -> tuple[float, ...]:
        return tuple(cost(base, run) for base, run in self._spans)

    def _only_final(self, cost: float) -> tuple[float, ...]:
        return (*(0.0 for _ in self._spans[:-1]), cost)

    # -- static ------------------------------------------------------------------------------

    def _static(self, operator: Operator, *, every_run: bool) -> Choice:
        """A static operator costs what it costs wherever it is read."""
        inputs = tuple(self._static(i, every_run=every_run) for i in operator.inputs)
        size = self._sizes.snapshot
        sizes = tuple(size(i, self._final) for i in operator.inputs)
        cost = operators.plain(operator.relation, sizes, size(operator, self._final))
        own = self._per_run(lambda _b, _r: cost) if every_run else self._only_final(cost)
        return self._choice(operator, Mode.STATIC, own, inputs)

    # -- early -------------------------------------------------------------------------------

    def _flow(self, operator: Operator) -> Choice | None:
        """The operator's delta in every opened run; None if it has no rule or lacks a state."""
        if operator.index not in self._early:
            self._early[operator.index] = self._make_flow(operator)
        return self._early[operator.index]

    def _make_flow(self, operator: Operator) -> Choice | None:
        if not operator.changing:
            return self._static(operator, every_run=True)
        if not operator.inputs:
            own = self._per_run(lambda b, r: operators.read(self._sizes.delta(operator, b, r)))
            return self._choice(operator, Mode.EARLY, own, ())
        view = operator.view
        if view is not None:
            kept = self._keep(operator, view.keys(operator.relation))
            if view.delta is None or kept is None:
                return None
            own = self._per_run(lambda _b, r: self._merge_cost(operator, r))
            return self._choice(operator, Mode.EARLY, own, (kept,))
        inputs = self._inputs_of_rule(operator)
        if inputs is None:
            return None
        own = self._per_run(lambda b, r: self._delta_cost(operator, b, r))
        return self._choice(operator, Mode.EARLY, own, inputs)

    def _inputs_of_rule(self, operator: Operator) -> tuple[Choice, ...] | None:
        if operator.applies is None:
            return None
        needs: dict[int, Need] = {need.input: need for need in operator.applies.needs}
        chosen = []
        for position, given in enumerate(operator.inputs):
            need = needs.get(position)
            if need is not None and given.view is not None and given.view.delta is None:
                return None  # its states can be kept, but a rule reads its delta too
            choice = self._flow(given) if need is None else self._keep(given, need.key)
            if choice is None:
                return None
            chosen.append(choice)
        return tuple(chosen)

    def _delta_cost(self, operator: Operator, base: int, run: int) -> float:
        """Of the operator's delta rule in one run."""
        sizes, node = self._sizes, operator.relation
        output = sizes.delta(operator, base, run)
        deltas = tuple(sizes.delta(i, base, run) for i in operator.inputs)
        if not isinstance(node, Join):
            return operators.plain(node, deltas, output)
        left, right = operator.inputs
        if not (left.changing and right.changing) and (base == 0 or node.kind is JoinKind.INNER):
            whole = tuple(
                delta if i.changing else sizes.snapshot(i, run)
                for i, delta in zip(operator.inputs, deltas, strict=True)
            )
            return operators.plain(node, whole, output) + self._shuffles(node, whole)
        if not right.changing:
            whole = (deltas[0], sizes.snapshot(right, run))
            return operators.plain(node, whole, output) + self._shuffles(node, whole)
        new = sizes.snapshot(right, run)
        cost = operators.hashed(deltas[0], new, output.rows)
        cost += operators.read(new) + operators.read(deltas[0])
        if base:
            old = sizes.snapshot(left, base)
            cost += operators.hashed(deltas[1], old, output.rows)
            cost += operators.read(old) + operators.read(deltas[1])
            if node.kind is not JoinKind.INNER:
                cost += operators.group(new.rows, deltas[1].rows, (), 1)
        return cost

    def _merge_cost(self, operator: Operator, run: int) -> float:
        """Read the states kept up to a run and merge them. Every run left a state per group that
        it touched."""
        states = 0.0
        before = 0
        for _, until in self._spans:
            if until <= run:
                states += self._sizes.groups(operator, before, until).rows
                before = until
        size = Size(states, self._sizes.snapshot(operator, run).width)
        output = self._sizes.snapshot(operator, run).rows
        count = len(operator.relation.calls) if isinstance(operator.relation, Aggregate) else 1
        return operators.read(size) + operators.group(states, output, (), count)

    # -- kept --------------------------------------------------------------------------------

    def _keep(self, operator: Operator, key: tuple[Column, ...]) -> Choice | None:
        """The operator early, and its output saved; distributed by ``key`` where that can be."""
        key = self._distribution(operator, key)
        if (operator.index, key) not in self._kept:
            self._kept[operator.index, key] = self._make_keep(operator, key)
        return self._kept[operator.index, key]

    def _distribution(self, operator: Operator, key: tuple[Column, ...]) -> tuple[Column, ...]:
        view = operator.view
        if view is None:
            return key if all(_is_distributable(column.type) for column in key) else ()
        groups = view.keys(operator.relation)
        key = key if key and set(key) <= set(groups) else groups
        key = key if all(_is_distributable(column.type) for column in key) else ()
        few = self._sizes.snapshot(operator, self._final).rows < _FEW_GROUPS
        # What an earlier run kept stays as it is, also if there are more groups than it looked.
        wanted, other = ((), key) if few else (key, ())
        if not self._available(operator, wanted) and self._available(operator, other):
            return other
        return wanted

    def _make_keep(self, operator: Operator, key: tuple[Column, ...]) -> Choice | None:
        if not operator.changing or not self._available(operator, key):
            return None
        grouped = operator.signed and operator.view is None
        if not all(_is_storable(c.type, grouped=grouped) for c in operator.relation.columns):
            return None
        if operator.view is not None:
            inputs = self._inputs_of_rule(operator)
            if inputs is None:
                return None
            own = self._per_run(lambda b, r: self._state_cost(operator, key, b, r))
            return self._choice(operator, Mode.KEPT, own, inputs, key)
        flow = self._flow(operator)
        if flow is None:
            return None

        def saved(base: int, run: int) -> float:
            if run == self._final and not key:
                return 0.0
            size = self._sizes.delta(operator, base, run)
            return operators.write(size) + (operators.exchange(size) if key else 0.0)

        own = tuple(a + b for a, b in zip(flow.own, self._per_run(saved), strict=True))
        return self._choice(operator, Mode.KEPT, own, flow.inputs, key)

    def _state_cost(
        self, operator: Operator, key: tuple[Column, ...], base: int, run: int
    ) -> float:
        states = self._sizes.groups(operator, base, run)
        rows = self._sizes.delta(operator.inputs[0], base, run)
        cost = operators.plain(operator.relation, (rows,), states)
        if key:
            cost += operators.exchange(states)
        return cost if run == self._final and not key else cost + operators.write(states)

    # -- final -------------------------------------------------------------------------------

    def _whole(self, operator: Operator) -> Choice:
        """The whole output in the final run, from inputs that are kept or final."""
        if operator.index not in self._finals:
            self._finals[operator.index] = self._make_whole(operator)
        return self._finals[operator.index]

    def _make_whole(self, operator: Operator) -> Choice:
        if not operator.changing:
            return self._static(operator, every_run=False)
        size, last = self._sizes.snapshot, self._final
        sizes = tuple(size(i, last) for i in operator.inputs)
        cost = operators.plain(operator.relation, sizes, size(operator, last))
        chosen = []
        keys, moved = self._wanted(operator, sizes)
        gains = self._gains(operator, sizes)
        for given, key, exchange, gain in zip(operator.inputs, keys, moved, gains, strict=True):
            choice, extra = self._cheapest(given, key, exchange=exchange, gain=gain)
            cost += extra
            if choice.mode is Mode.KEPT and given.signed and given.view is None:
                cost += 0.0 if takes_weights(operator) else self._plain_bag_cost(given)
            chosen.append(choice)
        return self._choice(operator, Mode.FINAL, self._only_final(cost), tuple(chosen))

    def _wanted(
        self, operator: Operator, sizes: tuple[Size, ...]
    ) -> tuple[tuple[tuple[Column, ...], ...], tuple[bool, ...]]:
        """How the operator wants its inputs distributed, and which it would have to shuffle."""
        node = operator.relation
        if isinstance(node, Join):
            pairs, _ = split_condition(node)
            keys = (tuple(left for left, _ in pairs), tuple(right for _, right in pairs))
            alone = operators.broadcast_side(node, *sizes) is not None or not pairs
            return keys, (not alone, not alone)
        if isinstance(node, Aggregate) and node.keys:
            many = self._sizes.snapshot(operator, self._final).rows > 0.2 * sizes[0].rows
            return (node.keys,), (many,)
        return tuple(() for _ in operator.inputs), tuple(False for _ in operator.inputs)

    def _gains(self, operator: Operator, sizes: tuple[Size, ...]) -> tuple[float, ...]:
        """What is saved if an input is kept by the key: with the big side of a join in place, the
        small one is hashed, and nothing is sorted (:func:`hash_hint` asks Spark for it)."""
        node = operator.relation
        none = tuple(0.0 for _ in sizes)
        if not isinstance(node, Join) or not split_condition(node)[0]:
            return none
        side = operators.hash_side(node, *sizes)
        if side is None or operators.broadcast_side(node, *sizes) is not None:
            return none
        sort = operators.joined(sizes[0], sizes[1], 0.0, broadcast=False)
        gain = sort - operators.hashed(sizes[side], sizes[1 - side], 0.0)
        return (0.0, gain) if side == 0 else (gain, 0.0)

    def _shuffles(self, node: Join, sizes: tuple[Size, ...]) -> float:
        if operators.broadcast_side(node, *sizes) is not None:
            return 0.0
        return sum(operators.exchange(size) for size in sizes)

    def _cheapest(
        self, given: Operator, key: tuple[Column, ...], *, exchange: bool, gain: float = 0.0
    ) -> tuple[Choice, float]:
        """The best way to have an input whole, and what its consumer pays to read and move it."""
        size = self._sizes.snapshot(given, self._final)
        moving = operators.exchange(size) if exchange else 0.0
        whole = self._whole(given)
        options = [(whole, moving)]
        for wanted in dict.fromkeys((key, ())):
            kept = self._keep(given, wanted)
            if kept is not None:
                placed = bool(kept.key) and kept.key == key
                moved = -gain if placed else moving
                options.append((kept, self._read_cost(given) + moved))
        if self._eager and len(options) > 1:
            options = options[1:]
        weight = self._weights[-1]
        return min(options, key=lambda option: option[0].total + weight * option[1])

    def _read_cost(self, given: Operator) -> float:
        if given.view is not None:
            return self._merge_cost(given, self._final)
        return operators.read(self._sizes.snapshot(given, self._final))

    def _plain_bag_cost(self, given: Operator) -> float:
        """Consolidating a signed bag is a grouping by all columns."""
        rows = self._sizes.snapshot(given, self._final)
        return operators.group(rows.rows, rows.rows, (), 1) + operators.exchange(rows)


def takes_weights(operator: Operator) -> bool:
    """Whether the operator can read a signed bag as it is: its states follow what is taken back."""
    applies = operator.applies
    return operator.view is not None and applies is not None and not applies.needs


_FEW_GROUPS = 10_000
"""Below this many groups, states are merged in one task sooner than by bucket."""


def _is_distributable(type_: DataType) -> bool:
    """Spark hashes these as they are; floats it normalizes first, which defeats bucketing."""
    return type_.is_known and not type_.is_floating and "<" not in type_.name


def _is_storable(type_: DataType, *, grouped: bool) -> bool:
    """Parquet takes it; and, where a signed bag will be consolidated, GROUP BY takes it."""
    if grouped and "MAP<" in type_.name.upper():
        return False
    return type_.is_known and not type_.name.startswith(("INTERVAL", "VOID"))
