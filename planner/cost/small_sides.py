"""Choose the side of a join that is computed and counted before the join, so that the engine knows
its size, and the table that is sent to all workers although the engine would not.

The stages do it (:mod:`forerun.planner.stages.small_sides`, which says why), and own batch is
priced by it.
"""

from __future__ import annotations

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    Join,
    JoinKind,
    Relation,
    Scan,
    StateRead,
    Values,
)
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices

_MANY_ROWS = 1_000_000
"""Of the other side, so that a job more is not worth mentioning."""
_TIMES = 10
"""... and so many times the rows of the small one."""
_GUESSED = 8
"""How many times the largest side that is broadcast an estimate may be to be tried."""
_KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def tells_size(node: Relation) -> bool:
    """Return whether the engine knows the size of what an operator gives without computing it: of
    a table as it lies, of constant rows, and of the one row of an aggregate without keys."""
    if isinstance(node, Aggregate):
        return not node.keys
    return isinstance(node, Scan | StateRead | Values)


def small_side(
    join: Join,
    sizes: tuple[Size, Size],
    known: tuple[bool, bool],
    prices: Prices,
    follows: tuple[bool, bool] = (False, False),
) -> int | None:
    """Return which side of a join (0 or 1) is to be computed first, or None.

    ``known``: Spark knows the size without running it (:func:`tells_size`), so it is never
    precomputed. ``follows``: derived from a precomputed side, so its estimate may be far too high;
    it only has to be the smaller side.
    """
    side = _smaller(join, sizes)
    if side is None or known[side]:
        return None
    small, large = sizes[side], sizes[1 - side]
    times = 1 if follows[side] else _TIMES
    if large.rows < max(_MANY_ROWS, times * small.rows):
        return None
    return side if small.bytes < _GUESSED * prices.broadcast_bytes else None


def sent_table(
    join: Join, sizes: tuple[Size, Size], known: tuple[bool, bool], prices: Prices
) -> int | None:
    """Return which side of a join (0 or 1) is an unfiltered table above Spark's broadcast threshold
    but small enough for ours, or None. Its rows are known, not guessed. Whether sending it is
    cheaper than shuffling both sides is for the price to say."""
    side = _smaller(join, sizes)
    if side is None or not known[side] or not split_condition(join).pairs:
        return None
    if sizes[1 - side].rows < max(_MANY_ROWS, sizes[side].rows):
        return None
    return side if prices.broadcast_bytes <= sizes[side].bytes < prices.counted_bytes else None


def _smaller(join: Join, sizes: tuple[Size, Size]) -> int | None:
    """Return the smaller side of those that the kind of a join lets be sent, None without any."""
    if join.kind not in _KINDS:
        return None
    return 0 if join.kind is JoinKind.INNER and sizes[0].bytes < sizes[1].bytes else 1
