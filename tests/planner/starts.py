"""Prices of runs for tests whose data are too small to repay an application."""

from __future__ import annotations

from dataclasses import replace

from planner.cost.prices import SPARK

OPEN = replace(SPARK, run_start=0.0, stage_start=0.0)
"""Of a session that is there already."""

CHEAP_RUNS = replace(SPARK, run_start=3e6, stage_start=150_000.0)
"""Of runs that cost something and are repaid by a few seconds of work."""
