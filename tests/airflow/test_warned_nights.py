"""In generated nights whoever is on call is warned while batch can still be in time."""

from __future__ import annotations

import pytest

from tests.benchmarks.warned_nights import a_day, outcomes


@pytest.mark.parametrize("nights", [36, pytest.param(600, marks=pytest.mark.slow)])
def test_a_miss_that_can_be_foreseen_is_warned_of_with_the_time_of_batch_left(tmp_path, nights):
    template = a_day(tmp_path)
    found = [one for seed in range(nights) for one in outcomes(seed, template)]
    foreseen = [one for one in found if one.missed and one.foreseeable]
    assert [one for one in foreseen if not one.in_time] == []
    reasons = {
        "nothing has planned the final run",
        "waits for orders: no _SUCCESS",
        "the final run takes longer than forecast",
    }
    assert {reason for reason in reasons if any(reason in one.what for one in foreseen)} == reasons
    assert all(one.lead_s is not None for one in found if one.missed), "nobody is left asleep"
    needless = [one for one in found if not one.missed and one.lead_s is not None]
    assert len(needless) < 0.05 * len(found)
