"""Prices fitted to runs: known ones are found again, and what days cannot tell stays as it was."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.cost.calibration import (
    ExecutedRun,
    ExecutedStage,
    calibrate,
    estimate_s,
    rank_correlation,
)
from forerun.planner.cost.prices import WORK, Prices
from tests.planner.starts import CHEAP_RUNS

OUTSIDE = 1.2
BELIEVED = replace(CHEAP_RUNS, run_start=7e6, stage_start=1.9e6, join_start=850_000.0)
TRUE = replace(
    BELIEVED,
    run_start=9e6,
    stage_start=1.2e6,
    join_start=1.1e6,
    scan_row=2 * BELIEVED.scan_row,
    scan_byte=2.5 * BELIEVED.scan_byte,
    exchange_row=3 * BELIEVED.exchange_row,
    write_row=2.2 * BELIEVED.write_row,
)
"""What the machine of these runs takes; the planner believes others."""


def run(report: str, seed: int, noise: float = 0.0, *, shared: bool = False) -> ExecutedRun:
    """A run of one to three stages of random work, as that machine would take for it."""
    rng = random.Random(seed)
    stages = []
    for _ in range(rng.randint(1, 3)):
        rows = 10 ** rng.uniform(5.5, 7.5)
        charged = {name: rows * rng.uniform(0, 1) for name in rng.sample(WORK, 8)}
        charged |= {"scan_row": rows, "scan_byte": rows * rng.uniform(8, 60)}
        seconds = estimate_s(charged, TRUE) / OUTSIDE * rng.uniform(1 - noise, 1 + noise)
        starts = {"stage_start": 1.0, "join_start": float(rng.randint(0, 3))}
        stages.append(ExecutedStage({**charged, **starts}, seconds))
    executor_s = sum(stage.executor_s for stage in stages)
    started = {"run_start": 1.0}
    for stage in stages:
        for name in ("stage_start", "join_start"):
            started[name] = started.get(name, 0.0) + stage.work[name]
    process_s = OUTSIDE * executor_s + estimate_s(started, TRUE) * rng.uniform(1 - noise, 1 + noise)
    return ExecutedRun(report, tuple(stages), executor_s, None if shared else process_s)


def runs(count: int, noise: float) -> list[ExecutedRun]:
    return [run(f"r{seed % 8}", seed, noise) for seed in range(count)]


@pytest.mark.parametrize(("noise", "error"), [(0.0, 0.05), (0.15, 0.08)])
def test_known_prices_are_found_again_from_noisy_runs(noise: float, error: float) -> None:
    found = calibrate(runs(120, noise), BELIEVED)
    assert found.after.median_error < error < found.before.median_error
    assert found.after.correlation > found.before.correlation
    assert found.unseen is not None
    assert found.unseen.median_error < error
    for name in ("run_start", "scan_byte", "exchange_row", "write_row"):
        was, true, fitted = (getattr(p, name) for p in (BELIEVED, TRUE, found.prices))
        assert abs(fitted - true) < 0.7 * abs(was - true), name


def test_what_no_run_was_charged_for_changes_with_the_others_only() -> None:
    """A price that nothing tells of keeps its proportion to those that something does."""
    work = {"scan_row": 1e8, "stage_start": 1.0}
    executor_s = 2 * 1e8 * BELIEVED.scan_row / 1e6
    process_s = OUTSIDE * executor_s + (BELIEVED.run_start + BELIEVED.stage_start) / 1e6
    one = ExecutedRun("r", (ExecutedStage(work, executor_s),), executor_s, process_s)
    found = calibrate([one] * 12, BELIEVED)
    level = found.prices.scan_row / BELIEVED.scan_row
    assert level == pytest.approx(2 * OUTSIDE, rel=0.2)
    assert found.prices.sort_row / BELIEVED.sort_row == pytest.approx(level, rel=0.05)


def test_no_price_becomes_nothing_or_goes_without_bounds() -> None:
    """More rows that take less time: the price of rows falls, and stays one."""
    odd = [
        ExecutedRun(
            "r", (ExecutedStage({"join_row": n * 1e7, "stage_start": 1.0}, 9 - n),), 9 - n, 30
        )
        for n in range(8)
    ] * 30
    prices = calibrate(odd, BELIEVED).prices
    assert 0 < prices.join_row < BELIEVED.join_row
    factors = [prices.of(name) / BELIEVED.of(name) for name in WORK]
    assert max(factors) <= 17 * min(factors)


def test_an_outlier_among_many_runs_moves_prices_little() -> None:
    plain = runs(80, 0.05)
    slow = replace(plain[0], process_s=10 * (plain[0].process_s or 0))
    with_it = calibrate([slow, *plain[1:]], BELIEVED)
    assert with_it.after.median_error < 0.12


def test_a_stage_that_is_estimated_a_thousand_times_too_large_blames_no_price() -> None:
    plain = runs(120, 0.0)
    work = {name: 1000 * n for name, n in plain[0].stages[0].work.items()}
    wrong = ExecutedStage(work, plain[0].stages[0].executor_s)
    odd = ExecutedRun("odd", (wrong,), wrong.executor_s, None)
    without, with_it = (calibrate(some, BELIEVED).prices for some in (plain, [*plain, odd]))
    for name in WORK:
        assert with_it.of(name) == pytest.approx(without.of(name), rel=0.05), name


def test_stages_that_took_nothing_make_nothing_free() -> None:
    """Most stages of small reports take less than a clock tells."""
    plain = runs(20, 0.0)
    idle = ExecutedStage({"scan_row": 100.0, "stage_start": 1.0}, 0.0)
    small = [ExecutedRun("small", (idle,), 0.0, None)] * 100
    found = calibrate([*plain, *small], BELIEVED)
    assert found.prices.scan_byte > BELIEVED.scan_byte


def test_runs_of_shared_applications_tell_of_rows_and_not_of_starts() -> None:
    alone = runs(30, 0.0)
    shared = [run("g", seed, shared=True) for seed in range(100, 200)]
    found = calibrate([*alone, *shared], BELIEVED)
    assert found.after.runs == 30
    assert found.prices.write_row > 1.3 * BELIEVED.write_row
    with pytest.raises(ValueError, match="application of its own"):
        calibrate(shared, BELIEVED)


def test_one_report_says_nothing_of_unseen_ones() -> None:
    assert calibrate([run("r", seed) for seed in range(20)], BELIEVED).unseen is None


@pytest.mark.parametrize(
    ("pairs", "correlation"),
    [
        ([(1, 10), (2, 20), (3, 30)], 1.0),
        ([(1, 30), (2, 20), (3, 10)], -1.0),
        ([(1, 10), (1, 20), (2, 30)], 0.866),
        ([(5, 5)], 1.0),
    ],
)
def test_rank_correlation(pairs: list[tuple[float, float]], correlation: float) -> None:
    assert rank_correlation(pairs) == pytest.approx(correlation, abs=1e-3)


def test_bounds_and_what_an_engine_can_are_not_fitted() -> None:
    found: Prices = calibrate(runs(20, 0.0), BELIEVED).prices
    for name in ("broadcast_bytes", "counted_bytes", "warm", "member_start", "buckets"):
        assert getattr(found, name) == getattr(BELIEVED, name)
