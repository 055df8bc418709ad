"""Prices of an engine that there is not, so that fitting Spark's prices anew changes no plan of a
test that is about something else."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.cost.prices import SPARK

CHEAP_RUNS = replace(
    SPARK,
    run_start=3e6,
    stage_start=150_000.0,
    join_start=0.0,
    scan_row=0.04,
    scan_byte=0.0015,
    expression_row=0.03,
    condition_row=0.03,
    decimal_row=0.03,
    narrow_decimal_row=0.03,
    pattern_row=0.6,
    aggregate_row=0.15,
    group=0.5,
    wide_group=0.001,
    join_row=0.15,
    probe_row=0.06,
    build_row=0.2,
    output_row=0.05,
    exchange_row=0.15,
    exchange_byte=0.002,
    block=1.0,
    write_row=0.13,
    write_byte=0.0035,
    sort_row=0.6,
    task=1.0,
    file_write=1.0,
    file_read=1.0,
)
"""Runs cost something and are repaid by a few seconds of work."""

OPEN = replace(CHEAP_RUNS, run_start=0.0, stage_start=0.0)
"""All runs are in one session that is there already."""
