"""The forecast of a day that has begun: small, large and late days; candidate times."""

from __future__ import annotations

import pytest

from forerun.planner.schedule.arrivals import steady
from forerun.planner.schedule.candidate_times import RestOfDay
from forerun.planner.schedule.forecast import ArrivalForecast, PastDay
from forerun.planner.schedule.step_curve import Piece, StepCurve, constant
from forerun.planner.schedule.today import curve_complete, curve_today

H = 3600.0


def past(*totals: int) -> ArrivalForecast:
    """Days on which rows came evenly from 0 to 24 hours."""
    return ArrivalForecast(
        [PastDay(weekday=0, pins=((12 * H, n / 2), (24 * H, float(n)))) for n in totals]
    )


@pytest.mark.parametrize(
    ("rows", "total", "complete"),
    [
        (500, 1000, 24),  # as usual
        (450, 900, 24),  # a day like the smallest one
        (700, 1400, 24),  # larger than any
        (300, 900, 28),  # what the smallest day had at eight: four hours late
        (0, 900, 36),
    ],
)
def test_what_is_there_at_noon(rows, total, complete):
    curve = curve_today(past(1000, 900, 1100), 0, 12 * H, rows)
    assert curve.total == total
    assert curve.complete_at == pytest.approx(complete * H, abs=100)
    assert curve.rows_at(12 * H) == pytest.approx(rows, abs=1)


def test_before_anything_can_be_said_a_day_is_as_usual():
    curve = curve_today(past(1000, 900, 1100), 0, 0.5 * H, 0)
    assert (curve.total, curve.complete_at) == (1000, 24 * H)
    late = curve_today(past(1000), 0, 0.5 * H, 2000)  # all of it, and more, at once
    assert late.rows_at(0.5 * H) >= 833


def test_a_source_that_is_complete():
    curve = curve_complete(5 * H, 70)
    assert (curve.total, curve.rows_at(5 * H), curve.rows_at(4 * H)) == (70, 70, 0)


def rest(prices: StepCurve, **more) -> RestOfDay:
    """A day whose rows come evenly until 24 hours; a batch takes two hours."""
    values = {
        "now": 0.0, "ready": 24 * H, "latest": 28 * H, "due": 30 * H,
        "curves": {"orders": steady(0.0, 24 * H, 2400)}, "prices": prices,
        "seconds": lambda part, batches: 2 * H * part + 60 * (batches - 1), **more,
    }  # fmt: skip
    return RestOfDay(**values)


FLAT = constant(0.0, 72 * H, 1.0)


def steps(*pieces: tuple[float, float, float]) -> StepCurve:
    return StepCurve([Piece(a * H, b * H, value) for a, b, value in pieces])


class TestFinal:
    def test_at_once_where_nothing_is_cheaper(self):
        assert rest(FLAT).final == 24 * H

    def test_at_a_lower_price_that_is_safe(self):
        assert rest(steps((0, 26, 1.0), (26, 72, 0.5))).final == 26 * H
        assert rest(steps((0, 29, 1.0), (29, 72, 0.5))).final == 24 * H

    def test_a_price_that_falls_and_rises_again_before_a_run_has_ended(self):
        # 100 minutes at 3 are dearer than what 20 minutes at 0.5 save.
        spike = steps((0, 25, 1.0), (25, 25.3, 0.5), (25.3, 72, 3.0))
        assert rest(spike).final == 24 * H

    def test_a_late_source_is_waited_for_and_no_forecast_of_it(self):
        late = rest(FLAT, curves={"orders": steady(0.0, 26 * H, 2400)})
        assert (late.final, late.expected) == (24 * H, 26 * H)
        very_late = rest(FLAT, curves={"orders": steady(0.0, 40 * H, 2400)})
        assert very_late.expected == 28 * H

    def test_late_or_too_late_it_is_as_soon_as_it_can_be(self):
        assert rest(FLAT, latest=20 * H).final == 24 * H
        assert rest(FLAT, now=27 * H).final == 27 * H


class TestEarly:
    def test_quantiles_prices_and_what_the_deadline_asks_for(self):
        found = rest(steps((0, 8, 1.0), (8, 18, 0.2), (18, 72, 1.0))).early(11)
        assert len(found) <= 11
        for hour in (6, 8, 12, 18):
            assert hour * H in found
        # The last start at which what is there is done before the price rises: 1.5 hours of work.
        assert 16.5 * H in found
        assert all(0 < at < 24 * H for at in found)

    def test_the_batches_of_section_3_1_are_among_them(self):
        """A batch takes two hours and there is one after the last row: one early batch at least."""
        found = rest(FLAT, due=25 * H, latest=24 * H).early(11)
        assert any(22 * H <= at < 24 * H for at in found)

    def test_what_has_gone_by_is_none_and_now_is_one(self):
        found = rest(FLAT, now=15 * H).early(11)
        assert found[0] == 15 * H

    def test_no_more_than_asked_for(self):
        prices = steps(*((hour, hour + 1, 1.0 + hour % 2) for hour in range(72)))
        found = rest(prices).early(11)
        assert len(found) == 11
        assert list(found) == sorted(set(found))

    def test_before_the_first_row_nothing_runs(self):
        found = rest(FLAT, curves={"orders": steady(10 * H, 24 * H, 2400)}).early(11)
        assert found[0] > 10 * H
