"""Airflow's connections in loops that must not wait: a look runs in a thread beside the loop.

What connections are asked by belongs to the loop, of the triggerer or of the API server. So the
thread lets the loop ask, and waits for its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from airflow.sdk import Connection

from forerun.include.machine.connections import asking

_ANSWER_S = 60.0
_Found = TypeVar("_Found")


async def in_thread(look: Callable[..., _Found], *arguments: Any) -> _Found:
    """Look at something beside the loop."""
    loop = asyncio.get_running_loop()

    def ask(name: str) -> Connection:
        asked = asyncio.run_coroutine_threadsafe(Connection.async_get(name), loop)
        return asked.result(_ANSWER_S)

    def asked() -> _Found:
        with asking(ask):
            return look(*arguments)

    return await asyncio.to_thread(asked)
