"""Which side of a join is computed and counted before the join, so that the engine knows its size,
and which table is sent to all workers although the engine would not.

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
    """Return which side of a join is to be computed first, or None. Of a side that is ``known``
    (:func:`tells_size`), computed row by row or not, the engine can tell the size anyway. One that
    ``follows`` from a small side is as uncertain as that: it may be far smaller than estimated, and
    if it is not, it is not the larger one."""
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
    """Return which side of a join is a table as it lies that a run may send to all workers although
    the engine would not, or None. It is too large for the engine's own threshold, and its rows,
    which are known and not guessed, fit in a hash table that a run sends. Whether that is cheaper
    than to move both sides is for the price to say."""
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
