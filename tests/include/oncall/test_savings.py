"""What a report has saved, from ledgers whose every figure is known."""

from __future__ import annotations

import pytest

from forerun.include.oncall.catalogue import newest_spec
from forerun.include.oncall.savings import read_savings, savings
from forerun.include.state.ledger_entry import LedgerEntry
from tests.include.days.ledgers import batch, before, early_day, enter, losing, ran, winning
from tests.include.oncall.dag_days import at, dag_day


def of(*days: list[LedgerEntry]):
    return savings([entry for day in days for entry in day], 2)


def test_a_day_beside_what_batch_would_have_taken():
    found = of(batch(before(3), 20.0), winning(before(2)), losing(before(1)))
    assert [day.day for day in found.days] == [before(3), before(2), before(1)]
    assert [day.measured_s for day in found.days] == pytest.approx([30.0, 18.0, 40.5])
    assert [day.batch_s for day in found.days] == pytest.approx([30.0, 30.0, 30.0])
    assert [day.is_batch for day in found.days] == [True, False, False]
    assert [day.runs for day in found.days] == [(2,), (1, 2), (1, 2)]
    assert found.share == pytest.approx((30 + 18 + 40.5) / 90)
    assert of(winning(before(2))).batch_runs == 0, "estimated, where batch never ran"


def test_a_day_that_was_batch_measures_it_and_is_marked():
    measured = batch(before(3), 40.0)
    found = of(winning(before(4)), measured)
    assert found.batch_runs == 1
    day = found.days[-1]
    assert day.is_batch
    assert day.batch_s == day.measured_s == measured[-1].process_cpu_s


def test_the_newest_generation_counts_and_a_day_without_its_end_does_not():
    again = [ran(before(1), run, 13.0, 10.0, generation="10") for run in (1, 2)]
    found = of(early_day(before(1), 99.0), again, [ran(before(0), 1, 13.0, 10.0)])
    assert [day.day for day in found.days] == [before(1)]
    assert found.days[0].measured_s == pytest.approx(1.25 * again[0].process_cpu_s)


def test_nothing_is_claimed_where_nothing_tells():
    idle = [ran(before(1), run, 3.0, 0.01, method="incremental") for run in (1, 2)]
    found = of(idle)
    assert [day.batch_s for day in found.days] == [None]
    assert found.share is None
    assert of().days == ()


def test_savings_are_read_from_the_ledger(tmp_path):
    case = dag_day(tmp_path)
    assert newest_spec(case.store, "totals") is None
    assert read_savings(case.store, "totals").days == ()
    case.begin(at(1))
    assert newest_spec(case.store, "totals") == case.spec
    enter(case.store, winning(before(1)))
    (day,) = read_savings(case.store, "totals").days
    assert (day.day, day.rows) == (before(1), (("orders", 1000),))
