"""Which side of a join is computed and counted before the join, so that the engine knows its size.

The stages do it (:mod:`planner.stages.small_sides`, which says why), and own batch is priced by it.
"""

from __future__ import annotations

from planner.algebra.relational import (
    Aggregate,
    Join,
    JoinKind,
    Relation,
    Scan,
    StateRead,
    Values,
)
from planner.cost.operators import Size
from planner.cost.prices import Prices

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
    join: Join, sizes: tuple[Size, Size], known: tuple[bool, bool], prices: Prices
) -> int | None:
    """Return which side of a join is to be computed first, or None. Of a side that is ``known``
    (:func:`tells_size`), computed row by row or not, the engine can tell the size anyway."""
    if join.kind not in _KINDS:
        return None
    side = 1
    if join.kind is JoinKind.INNER and sizes[0].bytes < sizes[1].bytes:
        side = 0
    small, large = sizes[side], sizes[1 - side]
    if large.rows < max(_MANY_ROWS, _TIMES * small.rows) or known[side]:
        return None
    return side if small.bytes < _GUESSED * prices.broadcast_bytes else None
