"""The pause and the bound of a compare-and-swap loop.

Whoever loses a conditional put reads again what is there now and tries once more. Without a pause
many losers only disturb each other, and without a bound a store that never lets anyone win keeps a
task busy for ever.
"""

from __future__ import annotations

import random
import time

from forerun.include.stores.store import StoreDownError

_TRIES = 40
_FIRST_S = 0.002
_LONGEST_S = 0.5


class ContendedError(StoreDownError):
    """A record was changed by others each time that it was to be changed. A retry may succeed."""


class Backoff:
    """Counts the lost tries to change ``key``, and waits after each of them."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._lost = 0

    def wait(self) -> None:
        """Sleep after a lost try: a random time below 2 ms, doubled with each try up to 0.5 s.

        Raises :class:`ContendedError` when the try was the fortieth (after some 8 seconds).
        """
        self._lost += 1
        if self._lost >= _TRIES:
            raise ContendedError(
                f"{self._key} was changed by others {_TRIES} times in a row",
                hint="Retry the task later. If nobody else writes there, the store answers "
                "conditional puts wrongly: run forerun doctor.",
            )
        longest = min(_LONGEST_S, _FIRST_S * 2 ** min(self._lost, 10))
        time.sleep(random.uniform(0, longest))
