"""Texts over Spark's grammar: nothing is planned and read otherwise, nor planned and refused."""

from __future__ import annotations

import pytest

from tests.properties.judged_texts import judged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COUNT = 2000
"""By hand: ``python -m tests.properties.judged_texts --count 100000``."""
LEAST_READ = 0.3
"""Texts are made without looking at types, so that many are refused by both."""


def test_generated_texts_are_read_as_spark_reads_them(spark):
    found = judged(spark, COUNT, seed=20)
    assert not found.otherwise, found.otherwise[:3]
    assert found.counts["same"] >= LEAST_READ * COUNT
