"""Cost of one operator over inputs of known size."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.algebra.predicates import split_condition
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    Window,
)
from planner.algebra.scalar import Call, Scalar, walk
from planner.cost import constants as c

_PATTERNS = frozenset({"like", "ilike", "rlike", "regexp", "regexp_like", "regexp_extract"})


@dataclass(frozen=True, slots=True)
class Size:
    """Rows and mean bytes of a row."""

    rows: float
    width: float

    @property
    def bytes(self) -> float:
        return self.rows * self.width


def scalar_cost(scalars: tuple[Scalar, ...]) -> float:
    """Of one row."""
    cost = 0.0
    for scalar in scalars:
        for node in walk(scalar):
            if isinstance(node, Call):
                cost += c.PATTERN_ROW if node.name in _PATTERNS else c.EXPRESSION_ROW
    return cost


def read(size: Size) -> float:
    """Read rows from Parquet, of a source or of a family."""
    return size.rows * c.SCAN_ROW + size.bytes * c.SCAN_BYTE


def write(size: Size) -> float:
    """Write a partition of a family."""
    return size.rows * c.WRITE_ROW + size.bytes * c.WRITE_BYTE


def exchange(size: Size) -> float:
    return size.rows * c.EXCHANGE_ROW + size.bytes * c.EXCHANGE_BYTE


def group(rows: float, groups: float, calls: tuple[Scalar, ...], count: int) -> float:
    """Aggregate rows into groups by ``count`` functions over the given arguments."""
    per_row = c.AGGREGATE_ROW + count * c.EXPRESSION_ROW + scalar_cost(calls)
    return rows * per_row + groups * c.GROUP


def is_broadcast(size: Size) -> bool:
    return size.bytes < c.BROADCAST_BYTES


def joined(left: Size, right: Size, output: float, *, broadcast: bool) -> float:
    """Match the rows of two inputs that are already where they must be."""
    if broadcast:
        probe, build = (left, right) if left.rows >= right.rows else (right, left)
        return probe.rows * c.PROBE_ROW + build.rows * c.JOIN_ROW + output * c.OUTPUT_ROW
    return (left.rows + right.rows) * c.JOIN_ROW + output * c.OUTPUT_ROW


def hash_side(join: Join, left: Size, right: Size) -> int | None:
    """Which input of a partitioned join is better hashed than sorted: the smaller one, if it is
    small for sure and the kind of join lets Spark build from it."""
    sides = [0, 1] if join.kind in (JoinKind.INNER, JoinKind.LEFT) else [1]
    if join.kind is JoinKind.FULL:
        sides = []
    side = min(sides, key=lambda s: (left, right)[s].bytes, default=None)
    if side is None or (left, right)[side].bytes > c.HASH_SIDE_BYTES:
        return None
    return side if (left, right)[side].bytes <= (right, left)[side].bytes else None


def hashed(build: Size, probe: Size, output: float) -> float:
    """Match rows that are already where they must be, by a hash table of one side."""
    return build.rows * c.BUILD_ROW + probe.rows * c.PROBE_ROW + output * c.OUTPUT_ROW


def broadcast_side(join: Join, left: Size, right: Size) -> int | None:
    """Which input Spark would broadcast: the smaller one that its kind lets it build."""
    sides = [1] if join.kind is not JoinKind.INNER else [0, 1]
    if join.kind is JoinKind.FULL:
        sides = []
    small = [s for s in sides if is_broadcast((left, right)[s])]
    return min(small, key=lambda s: (left, right)[s].bytes) if small else None


def _computed(call: AggregateCall) -> tuple[AggregateCall, ...]:
    """What Spark computes for a call, once for all calls that share it."""
    if call.name != "avg":
        return (call,)
    return replace(call, name="sum"), replace(call, name="count")


def plain(node: Relation, inputs: tuple[Size, ...], output: Size) -> float:
    """The operator over whole inputs, without the exchanges it asks for."""
    if isinstance(node, Scan):
        return read(output)
    if isinstance(node, Filter):
        return inputs[0].rows * scalar_cost((node.predicate,))
    if isinstance(node, Project):
        return inputs[0].rows * scalar_cost(tuple(scalar for _, scalar in node.items))
    if isinstance(node, Aggregate):
        calls = dict.fromkeys(part for _, call in node.calls for part in _computed(call))
        arguments = tuple(dict.fromkeys(arg for call in calls for arg in call.args))
        count = sum(call.name != "count" for call in calls)  # to count is next to nothing
        return group(inputs[0].rows, output.rows, arguments, count)
    if isinstance(node, Join):
        pairs, _ = split_condition(node)
        if not pairs:
            return inputs[0].rows * max(1.0, inputs[1].rows) * c.OUTPUT_ROW
        broadcast = broadcast_side(node, *inputs) is not None
        return joined(inputs[0], inputs[1], output.rows, broadcast=broadcast)
    if isinstance(node, (Sort, Window)):
        return inputs[0].rows * c.SORT_ROW
    if isinstance(node, Limit):
        return 0.0
    if isinstance(node, SetOperation):
        return sum(size.rows for size in inputs) * (c.AGGREGATE_ROW + c.EXCHANGE_ROW)
    return output.rows * c.OUTPUT_ROW
