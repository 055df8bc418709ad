"""Every method alone, and any rules switched off: whatever is left of the planner is right.

Generated days on the row interpreter, at every time point; what is kept is judged by itself. A
failing case is shrunk and written to ``regressions/``.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from forerun.planner.errors import MethodError
from forerun.planner.rules.methods.catalog import SINGLE, rule_names
from tests.oracles.values import NotInterpretedError
from tests.properties.chunks import saved, starts
from tests.properties.data import with_withdrawals
from tests.properties.engines import InterpreterEngine
from tests.properties.execute import Outcome, RefusedError, run_case
from tests.properties.generate import random_case
from tests.selection import few

DAYS = 15
KINDS = {
    "im2": ("outer", "outer-grouped", "partners"),
    "ojv": ("outer", "outer-grouped", "partners"),
    "hov": ("grouped", "outer-grouped", "subquery", "partners"),
}
"""Kinds of query that the method applies to more often than not; of all kinds otherwise."""
MOST_OFF = 12
"""Rules off at once, at most; one of three days has just one of them off."""


def run(case, *, judge_kept=False) -> Outcome | None:
    """None where there is nothing to compare, or the method does not apply."""
    engine = InterpreterEngine()
    with engine.recording():
        try:
            return run_case(case, engine, every_time_point=True, judge_kept=judge_kept)
        except (RefusedError, NotInterpretedError, MethodError):
            return None
        except Exception as error:
            raise AssertionError(f"{case.name}, {saved(case, engine, error)}") from error


@pytest.mark.parametrize("start", starts(60_000, 2 * DAYS, DAYS, fast=DAYS))
@pytest.mark.parametrize("method", few(SINGLE, 2), ids=lambda method: method.name)
def test_a_method_alone_equals_batch(method, start):
    kinds = KINDS.get(method.name, ("",))
    outcomes = []
    for seed in range(start, start + DAYS):
        case = random_case(seed, kinds[seed % len(kinds)])
        outcomes.append(run(replace(case, method=method.name), judge_kept=True))
    days = [one for one in outcomes if one is not None]
    assert sum(one.kept > 0 for one in days) >= DAYS // 6, f"{len(days)} days, too few kept"


@pytest.mark.parametrize("start", starts(63_000, 2 * DAYS, DAYS, fast=DAYS))
@pytest.mark.parametrize("method", few(["auto", "im1"], 1))
def test_partners_may_be_grouped_first(method, start):
    """What reads both sides of a left join; changelogs, too."""
    days = []
    for seed in range(start, start + DAYS):
        case = random_case(seed, "partners")
        rng = random.Random(f"withdrawals-{seed}")
        if seed % 3 == 0:
            given = {
                n: with_withdrawals(rng, t) if t.changing else t for n, t in case.tables.items()
            }
            case = replace(case, tables=given)
        days.append(run(replace(case, method=method), judge_kept=True))
    assert sum(one is not None and one.kept > 0 for one in days) >= DAYS // 3


@pytest.mark.parametrize("start", few([61_000, 62_000], 1))
def test_any_rules_may_be_off(start):
    names, off = rule_names(), Counter()
    days = 0
    for seed in range(start, start + DAYS):
        rng = random.Random(f"off-{seed}")
        count = 1 if seed % 3 == 0 else rng.randint(2, MOST_OFF)
        case = replace(random_case(seed), off=tuple(sorted(rng.sample(names, count))))
        off.update(case.off)
        days += run(case) is not None
    assert days >= DAYS * 2 // 3
    assert len(off) >= len(names) * 2 // 3
