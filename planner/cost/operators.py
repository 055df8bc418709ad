"""Cost of one operator over inputs of known size, at the prices of an engine."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.algebra.aggregates.record import Mean
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.predicates import is_null_safe, null_aware_pair, split_condition
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Window,
)
from forerun.planner.algebra.scalar import Call, Scalar, walk
from forerun.planner.cost.constants import (
    BUCKET_BYTES,
    HASHED,
    LEAST_BUCKETS,
    LEAST_TASKS,
    MOST_BUCKETS,
    PARTITION_BYTES,
    SPLIT_BYTES,
    STAGE_PARTITIONS,
    TEXT_PARTITIONS,
    WIDE_KEY,
)
from forerun.planner.cost.prices import Prices

INTEGER_BYTES = {"TINYINT": 1, "SMALLINT": 2, "INT": 4, "BIGINT": 8}
"""Bytes of the types that Spark packs."""
PACKED_BYTES = 8
"""The most bytes of a key that Spark packs into a long."""
_PATTERNS = frozenset({"like", "ilike", "rlike", "regexp", "regexp_like", "regexp_extract"})

_IN_ORDER = 0.25
"""What a window costs over rows that lie in its order, as a part of one that sorts them. Of 20
million rows, in one warm JVM, µs a row: 0.56 with the sort, 0.18 for a second one in that order."""
_MOST_OBJECTS = 128
"""Spark's ``spark.sql.objectHashAggregate.sortBased.fallbackThreshold``."""
_OBJECT = 1.5
"""What a state costs that is an object, in updates of states that are bytes of a row."""
_CHOICES = frozenset({"case", "coalesce"})
"""What gives one of its arguments computes no DECIMAL."""
_IN_LONGS = frozenset({"cast", "neg"})
"""What is computed in longs where the digits allow it. Products and sums are not."""
_LONG_DIGITS = 18
LONG_SUM_DIGITS = 8
"""DECIMALs of so many digits Spark adds up as longs (its rule ``DecimalAggregates``)."""


@dataclass(frozen=True, slots=True)
class Size:
    """Rows and mean bytes of a row."""

    rows: float
    width: float

    @property
    def bytes(self) -> float:
        return self.rows * self.width


def scalar_cost(scalars: tuple[Scalar, ...], prices: Prices) -> float:
    """Return the cost of evaluating the scalars for one row. A scalar that reads no column is
    computed once, and costs nothing here."""
    nodes = (node for scalar in scalars for node in walk(scalar))
    calls = (node for node in nodes if isinstance(node, Call) and node.references)
    return sum(_call_cost(call, prices) for call in calls)


def _call_cost(call: Call, prices: Prices) -> float:
    if call.name in _PATTERNS:
        return prices.pattern_row
    if call.type.name == "BOOLEAN":
        return prices.condition_row
    if call.type.name != "DECIMAL":
        return prices.expression_row
    long = call.name in _IN_LONGS and call.type.precision <= _LONG_DIGITS
    return prices.narrow_decimal_row if long or call.name in _CHOICES else prices.decimal_row


def bucket_count(size: Size) -> int:
    """Return in how many buckets rows are kept by a key: the fewest, as a power of two, of which
    each fits the memory of a task, since every bucket costs a task and a file in every run."""
    wanted = max(1.0, size.bytes / BUCKET_BYTES)
    return max(LEAST_BUCKETS, int(min(MOST_BUCKETS, 2 ** math.ceil(math.log2(wanted)))))


def read(size: Size, prices: Prices, buckets: int = 0, partitions: int = 1) -> float:
    """Read rows from Parquet: of a source, or of a family, of which each bucket has a file in every
    partition. The first few tasks and files are in the price of starting a stage."""
    rows = size.rows * prices.scan_row + size.bytes * prices.scan_byte
    if buckets <= LEAST_BUCKETS:
        return rows
    return rows + (buckets - LEAST_BUCKETS) * (prices.task + partitions * prices.file_read)


def write(size: Size, prices: Prices, buckets: int = 0) -> float:
    """Write a partition of a family, in a stage of its own, which starts with the first few
    files: every other bucket is charged."""
    rows = prices.stage_start + size.rows * prices.write_row + size.bytes * prices.write_byte
    if prices.kept_byte:
        rows += size.bytes * prices.kept_byte
    if buckets <= LEAST_BUCKETS:
        return rows
    return rows + (buckets - LEAST_BUCKETS) * (prices.task + prices.file_write)


def exchange(size: Size, prices: Prices, keys: float = math.inf) -> float:
    """Move rows to where their key is, of which there are so many values: apart into more
    partitions than they need, where prices say so."""
    rows = size.rows * prices.exchange_row + size.bytes * prices.exchange_byte
    return rows + more_blocks(size, keys) * prices.block if prices.spread else rows


def more_blocks(size: Size, keys: float = math.inf) -> float:
    """Return how many more blocks there are, one for each task and partition that has rows of it,
    if rows are shuffled as the user's own text is and not as a stage."""
    tasks = max(LEAST_TASKS, size.bytes / SPLIT_BYTES)
    filled = min(TEXT_PARTITIONS, keys, size.rows / tasks)
    return tasks * max(0.0, filled - max(STAGE_PARTITIONS, size.bytes / PARTITION_BYTES))


def group(
    rows: float, groups: float, prices: Prices, evaluated: float | None = None, wide: int = 0
) -> float:
    """Aggregate rows into groups, where functions and their arguments cost ``evaluated`` a row; by
    default what a single function does. ``wide`` of them add up DECIMALs as big integers."""
    per_row = prices.aggregate_row + (prices.expression_row if evaluated is None else evaluated)
    return rows * per_row + groups * (prices.group + wide * prices.wide_group)


def is_broadcast(size: Size, prices: Prices) -> bool:
    return size.bytes < prices.broadcast_bytes


def joined(left: Size, right: Size, output: float, *, broadcast: bool, prices: Prices) -> float:
    """Match the rows of two inputs that are already where they must be."""
    if broadcast:
        probe, build = (left, right) if left.rows >= right.rows else (right, left)
        return (
            prices.join_start
            + probe.rows * prices.probe_row
            + build.rows * prices.join_row
            + output * prices.output_row
        )
    matched = (left.rows + right.rows) * prices.join_row + output * prices.output_row
    return prices.join_start + matched


def lookup(keys: Size, among: Size, prices: Prices) -> float:
    """Read keys and look them up in the rows that they may occur in, which are read, too. Keys that
    are too many to be sent to every task are shuffled, and so are the rows."""
    cost = read(keys, prices) + read(among, prices)
    broadcast = keys.bytes < prices.counted_bytes
    if not broadcast:
        cost += exchange(keys, prices) + exchange(among, prices)
    return cost + joined(among, keys, 0.0, broadcast=broadcast, prices=prices)


def hash_side(join: Join, left: Size, right: Size, prices: Prices) -> int | None:
    """Return which input of a partitioned join is better hashed than sorted: the smaller one, if it
    is small for sure and the kind of join lets Spark build from it."""
    sides = [0, 1] if join.kind in (JoinKind.INNER, JoinKind.LEFT) else [1]
    if join.kind is JoinKind.FULL:
        sides = []
    side = min(sides, key=lambda s: (left, right)[s].bytes, default=None)
    if side is None or (left, right)[side].bytes > prices.hash_side_bytes:
        return None
    return side if (left, right)[side].bytes <= (right, left)[side].bytes else None


def hashed(join: Join, build: Size, probe: Size, output: float, prices: Prices) -> float:
    """Match rows that are already where they must be, by a hash table of one side."""
    built = build.rows * prices.build_row * (1.0 if is_one_long(join) else WIDE_KEY)
    looked_up = probe.rows * prices.join_row * HASHED
    return prices.join_start + built + looked_up + output * prices.output_row


def is_one_long(join: Join) -> bool:
    """Return whether Spark packs the key of a join into one long: integers of 8 bytes in all
    (``HashJoin.rewriteKeyExpr``)."""
    pairs, _ = split_condition(join)
    widths = [INTEGER_BYTES.get(left.type.name, PACKED_BYTES + 1) for left, _ in pairs]
    return sum(widths) <= PACKED_BYTES


def broadcast_side(join: Join, left: Size, right: Size, prices: Prices) -> int | None:
    """Return which input Spark would broadcast: the smaller one that its kind lets it build."""
    sides = [1] if join.kind is not JoinKind.INNER else [0, 1]
    if join.kind is JoinKind.FULL:
        sides = []
    small = [s for s in sides if is_broadcast((left, right)[s], prices)]
    return min(small, key=lambda s: (left, right)[s].bytes) if small else None


def _computed(call: AggregateCall) -> tuple[AggregateCall, ...]:
    """Return the calls that Spark computes for a call, once for all calls that share them."""
    names = function(call.name).computed_of
    return tuple(replace(call, name=name) for name in names) or (call,)


Sizes = tuple[Size, ...]


@operator_pass("cost")
def plain(node: Relation, inputs: Sizes, output: Size, prices: Prices) -> float:
    """The operator over whole inputs, without the exchanges it asks for."""
    raise NotImplementedError


@plain.register(Scan)
def scan(node: Scan, _: Sizes, output: Size, prices: Prices) -> float:
    """Read rows of a source, and what the engine reads of them beside what is asked for."""
    beside = sum(width for source, width in prices.beside if source == node.source)
    return read(output, prices) + output.rows * beside * prices.scan_byte


@plain.register(Filter)
def _filter(node: Filter, inputs: Sizes, _: Size, prices: Prices) -> float:
    return inputs[0].rows * scalar_cost((node.predicate,), prices)


@plain.register(Project)
def _project(node: Project, inputs: Sizes, _: Size, prices: Prices) -> float:
    return inputs[0].rows * scalar_cost(tuple(scalar for _, scalar in node.items), prices)


@plain.register(Generate)
def _generate(node: Generate, inputs: Sizes, output: Size, prices: Prices) -> float:
    made = output.rows * prices.output_row
    return made + inputs[0].rows * scalar_cost((node.call,), prices)


@plain.register(Aggregate)
def _aggregate(node: Aggregate, inputs: Sizes, output: Size, prices: Prices) -> float:
    calls = dict.fromkeys(part for _, call in node.calls for part in _computed(call))
    arguments = tuple(dict.fromkeys(arg for call in calls for arg in call.args))
    evaluated = scalar_cost(arguments, prices)
    evaluated += sum(function(call.name).work * _state_cost(call, prices) for call in calls)
    evaluated += _objects(calls, output, prices)
    wide = sum(_adds_wide(call) for call in calls)
    return group(inputs[0].rows, output.rows, prices, evaluated, wide)


def _objects(calls: Collection[AggregateCall], output: Size, prices: Prices) -> float:
    """Return what a row costs besides where Spark keeps states as objects, outside of its rows of
    bytes: each such state is looked up by itself, and for more than a few groups in a task the rows
    are sorted by their groups instead (``ObjectHashAggregateExec``). Of 21 million rows in 35,000
    groups and in 7, in one warm JVM, µs a row: a median 0.46 and 0.10, a second one 0.19 and 0.04,
    a mode 0.43 and 0.10, a list 0.26 and 0.30, a set 0.31 and 0.14."""
    objects = sum(function(call.name).in_objects for call in calls)
    if not objects:
        return 0.0
    by_groups = prices.join_row if output.rows > _MOST_OBJECTS else 0.0
    return by_groups + objects * _OBJECT * prices.aggregate_row


def _state_cost(call: AggregateCall, prices: Prices) -> float:
    """Return the cost of taking a row into the state of an aggregate function, per expression that
    it evaluates."""
    if not any(arg.type.name == "DECIMAL" for arg in call.args):
        return prices.expression_row
    return prices.decimal_row if _adds_wide(call) else prices.narrow_decimal_row


def _adds_wide(call: AggregateCall) -> bool:
    """Return whether the function adds up DECIMALs as big integers: its state then is an object,
    made, moved and read for each group."""
    decimals = (arg.type for arg in call.args if arg.type.name == "DECIMAL")
    added = function(call.name).mean is Mean.SUM
    return added and any(type_.precision > LONG_SUM_DIGITS for type_ in decimals)


@plain.register(Join)
def _join(node: Join, inputs: Sizes, output: Size, prices: Prices) -> float:
    pairs, _ = split_condition(node)
    if not pairs and null_aware_pair(node) is not None:
        return joined(inputs[0], inputs[1], output.rows, broadcast=True, prices=prices)
    if not pairs and is_null_safe(node):
        sent = broadcast_side(node, inputs[0], inputs[1], prices) is not None
        moved = 0.0 if sent else sum(exchange(size, prices) for size in inputs)
        return moved + joined(inputs[0], inputs[1], output.rows, broadcast=sent, prices=prices)
    if not pairs:
        compared = max(prices.condition_row, scalar_cost((node.condition,), prices))
        met = inputs[0].rows * max(1.0, inputs[1].rows)
        return met * compared + output.rows * prices.output_row
    broadcast = broadcast_side(node, inputs[0], inputs[1], prices) is not None
    return joined(inputs[0], inputs[1], output.rows, broadcast=broadcast, prices=prices)


@plain.register(Sort, Window)
def _sorted(_: Relation, inputs: Sizes, __: Size, prices: Prices) -> float:
    return sort(inputs[0].rows, prices)


@plain.register(Limit)
def _limit(*_: object) -> float:
    return 0.0


@plain.register(SetOperation)
def _set_operation(_: SetOperation, inputs: Sizes, __: Size, prices: Prices) -> float:
    return sum(size.rows for size in inputs) * (prices.aggregate_row + prices.exchange_row)


def sort(rows: float, prices: Prices) -> float:
    """Sort rows, or compute a window over rows in any order."""
    return rows * prices.sort_row


def window_in_order(rows: float, prices: Prices) -> float:
    """Compute a window over rows that lie in its order."""
    return rows * prices.sort_row * _IN_ORDER


_STEPS = 10
"""So many steps are imagined of a recursion."""


@plain.register(Recursion)
def _recursion(_: Recursion, inputs: Sizes, output: Size, prices: Prices) -> float:
    """Each step is a job that reads the tables again; how many there are is not known."""
    read = sum(size.rows for size in inputs) * (prices.join_row + prices.exchange_row)
    return _STEPS * read + output.rows * prices.output_row


@plain.register(UnionAll, Values, Repeat, StateRead)
def _output(_: Relation, __: Sizes, output: Size, prices: Prices) -> float:
    return output.rows * prices.output_row
