"""The picture of a night: a short one names its minutes, and says what was planned beside it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from forerun.night.picture import course_picture
from forerun.planner.schedule.night_course import run_night
from tests.e2e.planned_night import planned_night


def test_a_night_of_minutes_names_them_and_has_the_plan_beside_what_happened():
    planned = planned_night(datetime(2026, 3, 14, 18, 3, 20, tzinfo=UTC))
    course = run_night(planned.plan.plans, planned.night.cluster, planned.turnouts())
    drawn = course_picture(planned.night, course, "as it went")
    assert "<title>The night of 2026-03-14: as it went</title>" in drawn
    ticks = re.findall(r'text-anchor="middle">(\d\d:\d\d)<', drawn)
    assert ticks[::2][:3] == ["18:04", "18:06", "18:08"]
    runs = sum(len(one.runs) for one in planned.plan.plans)
    assert drawn.count('<rect class="planned"') == runs + 1, "all of them, and the legend"
    assert drawn.count('<rect class="lost"') == 2
