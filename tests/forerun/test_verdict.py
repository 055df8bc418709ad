"""The demo's verdict says what the figures say, in both directions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.demo.verdict import early_words, lead, verdict
from forerun.simulation.accounts import DayAccount, RunAccount
from forerun.simulation.group_account import GroupAccount, in_sum
from tests.forerun.test_page import DAY

LATE = replace(
    DAY,
    report="l",
    runs=(*(RunAccount(index=i, weight=0.3, arrived=0.5) for i in (1, 2)), DAY.runs[2]),
)


def group(*days: DayAccount, process_cpu_s: float = 6.0) -> GroupAccount:
    runs = tuple(
        in_sum([day.runs[index] for day in days], process_cpu_s * (index != 1))
        for index in range(3)
    )
    batch = in_sum([day.batch for day in days])
    together = replace(batch, process_cpu_s=0.6 * batch.process_cpu_s)
    return GroupAccount(
        group="night", reports=days, runs=runs, batch=batch, batch_together=together
    )


def test_what_the_night_cost_is_said_by_whole_processes_against_both_kinds_of_batch():
    one = group(DAY, LATE)
    said = " ".join(verdict(one, "replay"))
    assert one.process_ratio == pytest.approx((0.25 + 1) * 6 / 18)
    assert "cost 0.42 of 2 batch applications, and 0.69 of one application with all 2" in said
    assert (
        "In CPU seconds at the price of midnight, of 18: one application in place of 2 saved 7, "
        "plans of our own took 1 more and cheaper hours saved 4."
    ) in said


def test_who_worked_early_and_who_did_not_are_told_apart():
    said = " ".join(verdict(group(DAY, LATE), "replay"))
    assert "Worked early, when compute was cheap: r." in said
    assert "Not worked early, because its estimate says that it would not pay: l." in said
    assert "Not worked early" not in " ".join(verdict(group(DAY), "replay"))
    assert "Worked early" not in " ".join(verdict(group(LATE), "replay"))


def test_what_was_asked_for_says_nothing_of_estimates():
    assert "estimate" not in " ".join(verdict(group(DAY, LATE), "batch"))


def test_a_night_that_lost_says_so_too():
    assert "cost 2.50 of 1 batch applications" in " ".join(
        verdict(group(DAY, process_cpu_s=18.0), "replay")
    )


def test_words_for_early_runs():
    both = replace(DAY, runs=tuple(replace(run, skipped=False) for run in DAY.runs))
    assert [early_words(day) for day in (LATE, DAY, both)] == ["none", "1", "1 and 2"]


def test_the_first_sentence_is_of_what_happened():
    assert "1 of them computed early" in lead(group(DAY, LATE))
    assert "all computed early" in lead(group(DAY))
    assert "no early run was opened" in lead(group(LATE))
