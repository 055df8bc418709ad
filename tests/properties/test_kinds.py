"""Days of queries of one kind each, that :mod:`tests.properties.generate` makes by name: on the row
interpreter, and on Spark, which reads the texts itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.properties.chunks import check_chunk, starts
from tests.properties.engines import InterpreterEngine, PlainSparkEngine
from tests.properties.sessions import spark_session
from tests.selection import few

CHUNK = 20
KINDS = {
    "chosen": (66_000, 0.9, 0.3, 15),
    "counted": (64_000, 0.9, 0.1, 15),
    "mixed": (96_000, 0.7, 0.2, 8),
    "readers": (98_000, 0.9, 0.2, 15),
    "turned": (68_000, 0.9, 0.2, 15),
    "typed": (92_000, 0.9, 0.2, 10),
    "worded": (90_000, 0.7, 0.2, 0),
    "zoned": (94_000, 0.9, 0.2, 0),
}
"""By kind: its first seed; the shares of a chunk that are planned, and that keep something early;
of how many the row interpreter knows at least what Spark has to give."""
BY_THE_CLOCK = ("zoned",)
"""Kinds that the row interpreter, whose clock is UTC, does not know."""


def _chunks(after: int, days: int, fast: int) -> list[Any]:
    """The first seeds of the chunks of every kind, so many after its first one."""
    return [
        pytest.param(kind, *start.values, marks=start.marks, id=f"{kind}-{start.values[0]}")
        for kind, (first, *_) in KINDS.items()
        for start in starts(first + after, days, CHUNK, fast=fast)
    ]


@pytest.mark.parametrize(
    ("kind", "start"), [one for one in _chunks(0, 400, CHUNK) if one.values[0] not in BY_THE_CLOCK]
)
def test_what_is_kept_equals_batch(kind: str, start: int) -> None:
    engine, (_, planned, kept, _) = InterpreterEngine(), KINDS[kind]
    with engine.recording():
        seeds = range(start, start + CHUNK)
        outcomes = check_chunk(engine, seeds, every_time_point=2, family=kind)
    assert len(outcomes) >= planned * CHUNK
    assert sum(outcome.kept > 0 for outcome in outcomes) >= kept * CHUNK


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kind", "start"), few(_chunks(1_000, 100, 100), 3))
def test_and_on_spark(kind: str, start: int) -> None:
    engine, oracle = PlainSparkEngine(spark_session()), InterpreterEngine()
    seeds = range(start, start + CHUNK)
    judged = KINDS[kind][-1]
    outcomes = check_chunk(
        engine, seeds, every_time_point=100, oracle=oracle if judged else None, family=kind
    )
    assert len(outcomes) >= 0.7 * CHUNK
    assert sum(outcome.judged for outcome in outcomes) >= judged
