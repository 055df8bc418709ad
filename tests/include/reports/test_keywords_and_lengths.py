"""What an author gets wrong first: whose field a keyword is, how a length of time is written."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forerun.include.reports.cluster import Cluster
from forerun.include.reports.run_policy import RunPolicy, RunTime
from forerun.include.reports.spec import Every, ReportSpec, SourceSpec, decode_report, encode_report
from forerun.include.reports.values.clock import TimeError
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours
from tests.airflow.reports import sales_report

RUNS = (RunTime(at="24:00"),)


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (RunPolicy, {"on_incomplete": "fail"}, "It is a field of ReportSpec."),
        (ReportSpec, {"cores": 4}, "It is a field of RunPolicy."),
        (RunPolicy, {"reserv": "5m"}, "Did you mean reserve?"),
        (SourceSpec, {"zzz": 1}, "It has allow_empty, "),
    ],
)
def test_a_keyword_of_another_record_is_named(kind, given, says):
    with pytest.raises(SpecError) as raised:
        kind(**given)
    assert f"{kind.__name__} has no field {next(iter(given))}" in str(raised.value)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("5m", "+00:05"), ("90 min", "+01:30"), ("1h30m", "+01:30"), ("2 hours", "+02:00"),
        ("1d 1s", "+24:00:01"), ("0.5h", "+00:30"), (timedelta(minutes=5), "+00:05"),
        ("+00:07", "+00:07"),
    ],
)  # fmt: skip
def test_lengths_of_time_as_people_write_them(written, kept):
    assert RunPolicy(runs=RUNS, reserve=written).reserve == kept
    assert Every(interval=written).interval == kept
    spec = sales_report(policy=RunPolicy(runs=RUNS, reserve=written))
    assert decode_report(encode_report(spec)) == spec


def test_a_cluster_takes_them_too():
    hours = (Hours(start="00:00", end="24:00", value=4),)
    assert Cluster(name="c", ceiling=hours, lease="10m").lease == "+00:10"


@pytest.mark.parametrize("written", ["soon", "5", "5 parsecs", "m5", "", timedelta(days=-1)])
def test_what_is_no_length_is_refused_with_what_to_write(written):
    with pytest.raises(TimeError) as raised:
        RunPolicy(runs=RUNS, reserve=written)
    assert "Write" in raised.value.hint
