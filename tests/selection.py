"""Tests that count what the tests before them in the same file found.

Such a test has a meaning only where all the tests that it counts were asked for. It must not judge
that by what they found: if they all found nothing, it has to fail, and not to be skipped.
"""

from __future__ import annotations

import pytest


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
