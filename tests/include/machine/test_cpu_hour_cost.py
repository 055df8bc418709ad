"""What a CPU hour costs, as a deployment writes it."""

from __future__ import annotations

import pytest

from forerun.include.machine.settings import SettingsError, cpu_hour_cost


@pytest.mark.parametrize(
    ("said", "hours", "shown"),
    [
        ("0.05 EUR", 100, "5.00 EUR"),
        ("$0.04", 1000, "$40.00"),
        ("12 Kč", 0.001, "0.012 Kč"),
        ("0.05 EUR", 0, "0.00 EUR"),
        ("0.05 EUR", -100, "-5.00 EUR"),
    ],
)
def test_a_figure_with_its_currency(said, hours, shown):
    assert cpu_hour_cost({"FORERUN_CPU_HOUR_COST": said}).text(3600 * hours) == shown


def test_nothing_is_shown_where_nobody_says_it():
    assert cpu_hour_cost({}) is None
    assert cpu_hour_cost({"FORERUN_CPU_HOUR_COST": " "}) is None


@pytest.mark.parametrize("said", ["cheap", "0 EUR", "1,5 EUR", "-1 EUR", "1 or 2"])
def test_what_is_no_price_is_refused(said):
    with pytest.raises(SettingsError, match="FORERUN_CPU_HOUR_COST is"):
        cpu_hour_cost({"FORERUN_CPU_HOUR_COST": said})
