"""Keep Python from looking for cycles while a plan is made.

Planning makes hundreds of thousands of small values that live as long as the plan does, none of
them in a cycle: what is dropped on the way is freed at once. Python counts what is made and not yet
freed, and looks for cycles among it after every 700. That takes a third of the time to plan, and
finds nothing; the memory that planning takes at most is the same without.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Look for no cycles meanwhile. Whoever has switched that off already keeps it off. Of two
    threads that do so at once, the first to end may switch it on for both, which costs time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
