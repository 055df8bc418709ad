"""Limit how deeply a query may be nested, and make the room that the planner needs to read it.

Chains (AND, OR, UNION ALL, joins) are flat lists or are walked without recursion, so
:data:`MOST_CHAINED` may follow one another, which is what the engines still read. What is nested in
the text (subqueries, parentheses, CASE, calls) is read by functions that call themselves: sqlglot's
parser needs about 45 Python frames for a subquery, our binder 15. Python stops at 1,000 frames by
default, whoever has used them, which is 15 levels in a worker that is 100 frames deep already. So
nesting is counted before it is read, more than :data:`MOST_LEVELS` is refused, and for what is read
the planner makes room.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from forerun.planner.errors import TooDeepError

MOST_LEVELS = 150
"""Parentheses, brackets, CASE and prefix operators that may be open at one place of the text."""
MOST_CHAINED = 10_000
"""ANDs, ORs, set operations or joins that may follow one another at one level of the text. The
planner would read more; the parsers of the engines call themselves for each."""
FRAMES = 20_000
"""Python frames from here on. Frames of Python code take no C stack, and the places where a C
function calls back are bounded by :data:`forerun.planner.algebra.scalar.MOST_NESTED` and by what
the text may nest."""


@contextmanager
def room_for_nesting() -> Iterator[None]:
    """Let functions call themselves more deeply than Python does by default, and as before
    afterwards. What is deeper still is a :class:`TooDeepError`. Of two threads that plan at once
    the last one to end may leave the room of the other one, which costs nothing."""
    before = sys.getrecursionlimit()
    needed = _depth() + FRAMES
    if before < needed:
        sys.setrecursionlimit(needed)
    try:
        yield
    except RecursionError:
        raise TooDeepError("the query") from None
    finally:
        if before < needed:
            _restore(before)


def _restore(limit: int) -> None:
    """Python refuses a limit below the depth at which it is set."""
    sys.setrecursionlimit(max(limit, _depth() + 50))


def _depth() -> int:
    frame, depth = inspect.currentframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
