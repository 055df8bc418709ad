"""Some of many tests that are alike, and tests that count what those before them have found.

One that counts has a meaning only where all the tests that it counts were asked for. It must not
judge that by what they found: if they all found nothing, it has to fail, and not to be skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def need_all(request: pytest.FixtureRequest, counted: object, expected: int) -> None:
    """Skip the calling test if fewer than ``expected`` cases of the test function ``counted`` were
    selected in this session (by ``-k``, ``-m`` or a node id)."""
    function = getattr(counted, "__name__", "")
    path = request.node.path
    selected = [
        item
        for item in request.session.items
        if item.path == path and getattr(item, "originalname", item.name) == function
    ]
    if len(selected) < expected:
        pytest.skip(f"counts {expected} cases of {function}, of which {len(selected)} are selected")


def few(values: Iterable[Any], fast: int) -> list[Any]:
    """Return the values as parameters of a test of which ``fast``, spread over all of them, run
    each time, and the others with the slow tests."""
    every = list(values)
    chosen = {number * len(every) // fast for number in range(fast)}
    return [
        pytest.param(
            *_values(value),
            marks=() if number in chosen else pytest.mark.slow,
            id=value.id if isinstance(value, ParameterSet) else None,
        )
        for number, value in enumerate(every)
    ]


def _values(value: Any) -> tuple[Any, ...]:
    if isinstance(value, ParameterSet):
        return tuple(value.values)
    return value if isinstance(value, tuple) else (value,)
