"""The physical operators of one expression, over inputs of known size."""

from __future__ import annotations

from typing import NamedTuple

from forerun.planner.algebra.relational import Aggregate, Join, JoinKind, Relation
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices
from forerun.planner.cost.told_sizes import shuffled_row_bytes
from forerun.planner.memo.groups import GroupId
from forerun.planner.temporal.space import Key, aggregate_key
from forerun.planner.temporal.told_sizes import ToldSides


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
    """The part that all alternatives of an expression share in a step: requirements without
    distributions, input and output sizes, and the operator's cost without shuffles, in millionths
    of a CPU second."""

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
    small = operators.broadcast_side(node, plain.sizes[0], plain.sizes[1], prices)
    if small is None and keys[0]:
        small = counted
    alternatives = []
    if small is not None or not keys[0]:
        alternatives += _broadcast(node, plain, keys, key, prices, small)
    if keys[0]:
        alternatives += _shuffled(node, plain, keys, prices)
    return alternatives


def joined_as_told(
    node: Join,
    plain: Plain,
    keys: tuple[Key, Key],
    key: Key,
    prices: Prices,
    counted: int | None,
    told: ToldSides,
) -> list[PhysicalAlternative]:
    """Enumerate a broadcast join, if Spark takes a side for small by what it is ``told``, or it is
    ``counted`` before; else a shuffled join, of which a side that turned out to be small by then
    is broadcast, which saves the sort."""
    small = operators.broadcast_side(node, *told, prices)
    if small is not None or not keys[0]:
        return _broadcast(node, plain, keys, key, prices, small)
    alternatives = _shuffled(node, plain, keys, prices, moved=True)
    if counted is not None:
        alternatives += _broadcast(node, plain, keys, key, prices, counted)
    return alternatives


def _broadcast(
    node: Join,
    plain: Plain,
    keys: tuple[Key, Key],
    key: Key,
    prices: Prices,
    small: int | None,
) -> list[PhysicalAlternative]:
    """Enumerate a join whose ``small`` side is sent to all workers; None: the join has no key by
    which rows could be moved."""
    requirements, (one, other), output, own = plain
    if keys[0]:
        own = round(operators.joined(one, other, output.rows, broadcast=True, prices=prices))
    alternatives = [PhysicalAlternative(own, requirements)]
    probe = None if small is None else 1 - small
    columns = {c.id for c in node.inputs[probe].columns} if probe is not None else set()
    if probe is not None and key and set(key) <= columns:
        placed = list(requirements)
        placed[probe] = Requirement(requirements[probe].group, key, requirements[probe].before)
        alternatives.append(PhysicalAlternative(own, tuple(placed), key))
    return alternatives


def _shuffled(
    node: Join, plain: Plain, keys: tuple[Key, Key], prices: Prices, *, moved: bool = False
) -> list[PhysicalAlternative]:
    """Enumerate a join of two sides that are where they must be. If both were just ``moved``,
    Spark knows by then whether one is small."""
    requirements, (one, other), output, _ = plain
    left, right = keys
    required = tuple(
        Requirement(a.group, k, a.before) for a, k in zip(requirements, (left, right), strict=True)
    )
    sides = _as_moved(one, node.left), _as_moved(other, node.right)
    known = moved and operators.broadcast_side(node, *sides, prices) is not None
    own = round(operators.joined(one, other, output.rows, broadcast=known, prices=prices))
    side = None if known else operators.hash_side(node, one, other, prices)
    hash_gain = 0
    if side is not None:
        build, probe = (one, other) if side == 0 else (other, one)
        hashed = operators.hashed(node, build, probe, output.rows, prices)
        hash_gain = max(0, own - round(hashed))
    delivers = [left] if node.kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI) else []
    delivers += [left] if node.kind is JoinKind.ANTI else []
    delivers += [right] if node.kind is JoinKind.INNER else []
    hashed_input = side if hash_gain else None
    return [
        PhysicalAlternative(own, required, given, hashed_input, hash_gain)
        for given in delivers or [()]
    ]


def _as_moved(size: Size, rows: Relation) -> Size:
    """Return the size of a side as Spark counts it once it was shuffled."""
    return Size(size.rows, max(size.width, shuffled_row_bytes(rows)))


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
    moved = round(operators.exchange(partial, prices, output.rows))
    return [PhysicalAlternative(own + moved, requirements, key, shuffles=True), whole]
