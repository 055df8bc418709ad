"""While a plan is made Python looks for cycles more seldom; afterwards as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from planner.gc_pause import seldom_collecting


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_seldom_inside_and_as_before_outside() -> None:
    gc.set_threshold(700, 9, 8)
    with seldom_collecting():
        inside = gc.get_threshold()
        with seldom_collecting():
            assert gc.get_threshold() == inside
        assert gc.get_threshold() == inside
    assert inside[0] > 700
    assert gc.get_threshold() == (700, 9, 8)


def test_as_before_after_an_error() -> None:
    gc.set_threshold(700, 9, 8)
    with pytest.raises(RuntimeError), seldom_collecting():
        raise RuntimeError
    assert gc.get_threshold() == (700, 9, 8)


@pytest.mark.parametrize("first", [0, 10_000_000])
def test_what_is_more_seldom_already_stays(first: int) -> None:
    gc.set_threshold(first, 9, 8)
    with seldom_collecting():
        assert gc.get_threshold() == (first, 9, 8)
    assert gc.get_threshold() == (first, 9, 8)
