"""What a report says of its session, and the settings that no deployment may change."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forerun.include.reports.spark.session import (
    FIXED,
    Session,
    SessionError,
    differing,
    refuse_differing,
)
from forerun.include.reports.spark.spark_conf import check_spark_conf
from forerun.include.reports.spec import decode_report, encode_report
from forerun.include.reports.values.clock import TimeError
from forerun.include.reports.values.fields import SpecError
from forerun.include.runs.day_request import settings_of
from forerun.planner.request import ANSI, TIME_ZONE, Settings
from tests.include.days.day_cases import DayCase


def test_by_default_sql_goes_by_the_clock_of_the_report(tmp_path):
    spec = replace(DayCase(tmp_path, tmp_path.as_uri()).spec, timezone="Europe/Berlin")
    assert dict(spec.session_settings) == {ANSI: "true", TIME_ZONE: "Europe/Berlin"}
    other = replace(spec, session=Session(time_zone="Asia/Tokyo", ansi=False))
    assert dict(other.session_settings) == {ANSI: "false", TIME_ZONE: "Asia/Tokyo"}
    assert len({spec.digest, other.digest, replace(spec, timezone="UTC").digest}) == 3
    assert decode_report(encode_report(other)) == other


def test_a_report_that_was_stored_without_a_session_is_read(tmp_path):
    spec = DayCase(tmp_path, tmp_path.as_uri()).spec
    raw = json.loads(encode_report(spec))
    del raw["session"]
    assert decode_report(json.dumps(raw)) == spec


def test_a_time_zone_that_is_none_is_refused():
    with pytest.raises(TimeError, match="Europe/Berln"):
        Session(time_zone="Europe/Berln")


def test_every_planned_run_has_the_session_of_its_report(tmp_path):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    spec = replace(case.spec, timezone="Asia/Kathmandu")
    day = case.day(case.open(), spec)
    assert settings_of(day, Settings()).session == spec.session_settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.ansi.doubleQuotedIdentifiers", "true"),
        ("spark.sql.decimalOperations.allowPrecisionLoss", "FALSE"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.legacy.json.enableDateTimeParsingFallback", "true"),
    ],
)
def test_a_deployment_that_wants_another_meaning_is_refused_by_name(name, value):
    (found,) = differing({name: value}.get)
    assert (found.name, found.found, found.fixed) == (name, value, FIXED[name])
    with pytest.raises(SessionError, match=name):
        refuse_differing({name: value}.get)


def test_the_same_value_in_other_letters_is_the_same():
    refuse_differing({name: value.upper() for name, value in FIXED.items()}.get)


def test_a_dag_cannot_change_the_meaning_by_its_spark_conf():
    for name in (*FIXED, ANSI, TIME_ZONE):
        with pytest.raises(SpecError, match="meaning of SQL"):
            check_spark_conf({name: "true"})
