"""Texts over Spark's grammar: nothing is planned and read otherwise, nor planned and refused."""

from __future__ import annotations

import pytest

from tests.properties.judged_texts import judged

pytestmark = pytest.mark.spark

LEAST_READ = 0.2
"""Many texts are made to be wrong, and are refused by both."""


def check(spark, count: int, seed: int) -> None:
    found = judged(spark, count, seed=seed)
    assert not found.faults, found.faults[:3]
    assert found.counts["same"] >= LEAST_READ * count


def test_generated_texts_are_read_as_spark_reads_them(spark):
    check(spark, 150, seed=20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_many_more_texts(spark, seed):
    """100,000 are judged by hand: ``python -m tests.properties.judged_texts``."""
    check(spark, 500, seed=1000 + seed)
