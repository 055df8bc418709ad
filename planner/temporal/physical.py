"""The physical operators of one expression, over inputs of known size."""

from __future__ import annotations

from typing import NamedTuple

from planner.algebra.relational import Aggregate, Join, JoinKind
from planner.cost import operators
from planner.cost.operators import Size
from planner.cost.prices import Prices
from planner.memo.groups import GroupId
from planner.temporal.space import Key, aggregate_key


class Requirement(NamedTuple):
    """An input of an alternative: a group with its rows distributed by ``key``, as of the beginning
    of the step (``before``) or its end."""

    group: GroupId
    key: Key
    before: bool


class PhysicalAlternative(NamedTuple):
    """One way to compute an expression: its own cost in millionths of a CPU second (``own``), its
    input requirements, and the distribution of its output (``delivers``).

    ``hashed_input`` is the index of the input that Spark builds a hash table from if the other
    input needs no shuffle, which then saves ``hash_gain``. ``shuffles`` says that the alternative
    shuffles its input itself. ``penalized`` says that it recomputes a group that is forced to be
    kept.
    """

    own: int
    requirements: tuple[Requirement, ...]
    delivers: Key = ()
    hashed_input: int | None = None
    hash_gain: int = 0
    shuffles: bool = False
    penalized: bool = False


class Plain(NamedTuple):
    """What all alternatives of an expression share in a step: requirements without distributions,
    input and output sizes, and the operator's cost without shuffles, in millionths of a CPU second.
    """

    requirements: tuple[Requirement, ...]
    sizes: tuple[Size, ...]
    output: Size
    own: int


def joined(
    node: Join,
    plain: Plain,
    keys: tuple[Key, Key],
    key: Key,
    prices: Prices,
    counted: int | None,
) -> list[PhysicalAlternative]:
    """Enumerate a broadcast join, if a side is small enough, is ``counted`` before or there is no
    equi-join key, and a shuffled join for each distribution that its output has."""
    requirements, sizes, output, own = plain
    left, right = keys
    alternatives = []
    small = operators.broadcast_side(node, sizes[0], sizes[1], prices)
    if small is None and left and counted is not None:
        small = counted
        rows = output.rows
        own = round(operators.joined(sizes[0], sizes[1], rows, broadcast=True, prices=prices))
    if small is not None or not left:
        alternatives.append(PhysicalAlternative(own, requirements))
        probe = None if small is None else 1 - small
        columns = {c.id for c in node.inputs[probe].columns} if probe is not None else set()
        if probe is not None and key and set(key) <= columns:
            placed = list(requirements)
            placed[probe] = Requirement(requirements[probe].group, key, requirements[probe].before)
            alternatives.append(PhysicalAlternative(own, tuple(placed), key))
    if not left:
        return alternatives
    own = round(operators.joined(sizes[0], sizes[1], output.rows, broadcast=False, prices=prices))
    placed_required = tuple(
        Requirement(a.group, k, a.before) for a, k in zip(requirements, (left, right), strict=True)
    )
    side = operators.hash_side(node, sizes[0], sizes[1], prices)
    hash_gain = 0
    if side is not None:
        hashed = operators.hashed(node, sizes[side], sizes[1 - side], output.rows, prices)
        hash_gain = max(0, own - round(hashed))
    delivers = [left] if node.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI) else []
    delivers += [left] if node.kind is JoinKind.ANTI else []
    delivers += [right] if node.kind is JoinKind.INNER else []
    hashed_input = side if hash_gain else None
    return alternatives + [
        PhysicalAlternative(own, placed_required, given, hashed_input, hash_gain)
        for given in delivers or [()]
    ]


def aggregated(
    node: Aggregate,
    requirements: tuple[Requirement, ...],
    sizes: tuple[Size, ...],
    output: Size,
    own: int,
    prices: Prices,
) -> list[PhysicalAlternative]:
    """Enumerate two-phase aggregation, which shuffles partial results itself, and one-phase
    aggregation over an input that is distributed by the grouping columns."""
    key = aggregate_key(node)
    whole = PhysicalAlternative(
        own, (Requirement(requirements[0].group, key, requirements[0].before),), key
    )
    if not prices.partial_tasks:
        return [whole]
    partial = Size(min(sizes[0].rows, output.rows * prices.partial_tasks), output.width)
    moved = round(operators.exchange(partial, prices))
    return [PhysicalAlternative(own + moved, requirements, key, shuffles=True), whole]
