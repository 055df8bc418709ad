"""Savings over all reports, by an index that is only a shortcut."""

from __future__ import annotations

import pytest

from forerun.include.oncall import all_savings
from forerun.include.oncall.all_savings import (
    AllSavings,
    ReportSavings,
    read_all_savings,
    read_indexed,
)
from forerun.include.oncall.catalogue import KnownReport, known_reports
from forerun.include.oncall.savings import read_savings, savings
from forerun.include.state.layout import savings_index_key
from tests.include.days.ledgers import batch, before, enter, losing, winning
from tests.include.oncall.dag_days import at, dag_day

KEY = savings_index_key("totals")


def of(name, *days, dag="sums"):
    entries = [entry for day in days for entry in day]
    return ReportSavings(KnownReport(name, dag), savings(entries, 2))


def test_all_days_together_and_what_is_only_estimated():
    found = AllSavings(
        (
            of("a", batch(before(3), 20.0), winning(before(2)), losing(before(1))),
            of("b", winning(before(2)), dag="other"),
        )
    )
    days = {day.day: day for day in found.days}
    assert days[before(3)].ran == 1
    assert days[before(2)].reports == 2
    assert days[before(2)].spent_s == pytest.approx(36.0)
    measured, estimated = found.split()
    assert [one.report.name for one in measured.reports] == ["a"]
    assert [one.report.name for one in estimated.reports] == ["b"]
    assert measured.share == pytest.approx((30 + 18 + 40.5) / 90)
    assert [one.report.name for one in found.of({"other"}).reports] == ["b"]
    assert AllSavings(()).share is None
    assert found.reports[0].saved_s == pytest.approx(90 - 88.5)


@pytest.fixture
def case(tmp_path):
    found = dag_day(tmp_path)
    found.begin(at(1))
    enter(found.store, winning(before(3)))
    return found


def test_the_index_is_what_the_ledger_says_until_the_ledger_says_more(case, monkeypatch):
    asked = []
    real = all_savings.read_savings
    monkeypatch.setattr(
        all_savings, "read_savings", lambda *args: asked.append(args) or real(*args)
    )
    first = read_indexed(case.store, "totals")
    assert first == read_savings(case.store, "totals")
    assert len(first.days) == 1
    assert read_indexed(case.store, "totals") == first
    assert len(asked) == 1, "the second time the index told it"
    enter(case.store, winning(before(2)))
    assert [day.day for day in read_indexed(case.store, "totals").days] == [before(3), before(2)]
    assert len(asked) == 2


@pytest.mark.parametrize("damage", [None, b"{}", b"no json"])
def test_an_index_that_is_lost_or_damaged_is_made_again(case, damage):
    first = read_indexed(case.store, "totals")
    whole = case.store.get(KEY)
    case.store.delete(KEY)
    if damage is not None:
        case.store.put(KEY, damage)
    assert read_indexed(case.store, "totals") == first
    assert case.store.get(KEY) == whole


def test_reports_without_a_whole_day_are_left_out(case):
    reports = known_reports(case.store)
    (one,) = read_all_savings(case.store, reports, map).reports
    assert one.report.name == "totals"
    nothing = [KnownReport("nothing", "sums")]
    assert read_all_savings(case.store, nothing, map).reports == ()
