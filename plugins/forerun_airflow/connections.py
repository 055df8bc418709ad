"""The Airflow connection for S3 in loops that must not wait: it is asked for before a look begins.

A look runs in a thread beside the loop of the triggerer, and what Airflow's connections are asked
by belongs to that loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from airflow.sdk import Connection

from forerun.include.machine.aws_connection import is_kept, remember, wanted_connection

_LOG = logging.getLogger(__name__)
_Found = TypeVar("_Found")


async def in_thread(look: Callable[..., _Found], *arguments: Any) -> _Found:
    """Look at something beside the loop, by a connection that is fresh."""
    name = wanted_connection()
    if name and not is_kept(name):
        try:
            remember(name, await Connection.async_get(name))
        except Exception as error:  # noqa: BLE001 - whatever backend of secrets there is
            # The look itself says what is wrong, as with a store that is away for a while.
            _LOG.warning("the connection %s cannot be read: %s", name, type(error).__name__)
    return await asyncio.to_thread(look, *arguments)
