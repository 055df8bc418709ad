"""Let Python look for cycles less often while a plan is made.

Planning makes hundreds of thousands of small values, almost none in a cycle, that live as long as
the plan does. Python counts what is made and not yet freed, and looks for cycles among it after
every 700; that takes a third of the time to plan, and finds nothing. With a hundred times as many,
what is in cycles waits a little longer: megabytes, not more.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 20)


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for cycles more seldom, and as before afterwards. Whoever has switched it off, or made
    it more seldom, keeps that. Of two threads that plan at once the last one to end may leave it
    as the other one had it, which only costs the megabytes above."""
    before = gc.get_threshold()
    if 0 < before[0] < THRESHOLDS[0]:
        gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
