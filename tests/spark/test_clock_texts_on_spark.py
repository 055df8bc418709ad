"""Which functions read a text as a moment: Spark's analyzer casts it to DATE or TIMESTAMP, and by
the clock that may be another one each time. Asked of its whole registry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from forerun.planner.algebra import signatures
from forerun.planner.algebra.aggregates.functions import is_aggregate
from forerun.planner.algebra.clock_texts import taken_as
from tests.spark.typed_columns import TYPES, analyzed, make_table

pytestmark = pytest.mark.spark

_CAST = re.compile(r"cast\(s#\d+ as (date|timestamp)(?:_ntz)?\)")
_OTHERS = ("v", "i", "s", "d", "t", "m", "w")
"""Kinds that stand beside the text: those that functions of moments take."""
CASTS = ("date", "timestamp")
"""Read as the casts that they are."""
FUNCTIONS = sorted(
    name for name in {*signatures.of_one(), *signatures.of_two()} if not is_aggregate(name)
)


@pytest.fixture(scope="module")
def session(spark) -> Any:
    make_table(spark.session)
    return spark.session


def _calls(name: str) -> Iterator[str]:
    numbers = signatures.numbers().get(name, ())
    if 1 in numbers:
        yield f"{name}(s)"
    if 2 in numbers:
        yield from (f"{name}({pair})" for o in _OTHERS for pair in (f"s, {o}", f"{o}, s"))
    if 3 in numbers:
        yield from (f"{name}({three})" for three in ("s, s, s", "s, t, t", "t, s, t", "i, i, s"))


@pytest.mark.slow
def test_every_function_that_reads_a_text_as_a_moment_is_known(session):
    missing = {}
    calls = [(name, call) for name in FUNCTIONS for call in _calls(name)]
    shown = analyzed(session, [call for _, call in calls])
    for (name, call), text in zip(calls, shown, strict=True):
        found = _CAST.search(text)
        if found and not taken_as(name) and name not in CASTS:
            missing[name] = f"{call} casts to {found[1].upper()}"
    assert not missing


@pytest.mark.parametrize(
    ("call", "kind"),
    [("year(s)", "date"), ("hour(s)", "timestamp"), ("date_add(s, i)", "date"),
     ("months_between(s, t)", "timestamp"), ("upper(s)", "")],
)  # fmt: skip
def test_it_would_be_found(session, call, kind):
    found = _CAST.search(analyzed(session, [call])[0])
    assert (found[1] if found else "") == kind
    assert bool(taken_as(call.partition("(")[0])) == bool(kind)
    assert "s" in TYPES
