"""Shorter waits for what libraries wait for without need: nobody else is served meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

SHORTER = 20


@contextmanager
def shorter_sleeps(module: str) -> Iterator[None]:
    """``time.sleep`` takes a twentieth where this module calls it, elsewhere what it took."""
    sleep = time.sleep

    def shorter(seconds: float) -> None:
        caller = sys._getframe(1).f_globals["__name__"]
        sleep(seconds / SHORTER if caller == module else seconds)

    with mock.patch("time.sleep", shorter):
        yield
