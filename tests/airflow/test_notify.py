"""Who is told of alerts: what is refused where DAG files are read, and what the triggerer calls."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime

import pytest
from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.sdk import BaseNotifier

from forerun.airflow import deadline_alerts, progressive_dag
from forerun.airflow.watching import deadlines
from forerun.airflow.watching.notify import check_notify, send, why_not
from forerun.doctors.told import _at_deadlines
from forerun.include.reports.spec import SpecError
from tests.airflow.reports import sales_report
from tests.airflow.test_watching import Clock
from tests.include.oncall.dag_days import DATE, at, dag_day

SENT = []


class Written(BaseNotifier):
    """Writes its text down, rendered, synchronously."""

    template_fields = ("text",)

    def __init__(self, text, **more):
        super().__init__(**more)
        self.text = text

    def notify(self, context):
        SENT.append((self.text, context["alert"].report))


class Awaited(Written):
    """Does so only if it is awaited."""

    notify = BaseNotifier.notify

    async def async_notify(self, context):
        SENT.append((self.text, context["alert"].report))


class Forgetful(Written):
    """Keeps something else than what it was made of."""

    def __init__(self, number, **more):
        super().__init__(str(number), **more)


LINE = "{{ alert.kind }}: {{ alert.report }} of {{ alert.day }}"
by_path = Written(LINE)


async def in_vain(alert):
    raise AssertionError(alert)


def of_two(alert, level):
    raise AssertionError(alert, level)


@pytest.fixture
def case(tmp_path, monkeypatch):
    found = dag_day(tmp_path)
    monkeypatch.setenv("FORERUN_STORE", found.store_uri)
    found.begin()
    SENT.clear()
    return found


@pytest.mark.parametrize(
    ("notify", "said"),
    [
        ("oncall.nowhere.send", "cannot be imported here: No module named 'oncall'"),
        (
            "tests.airflow.pager.page",
            "cannot be imported here: module 'tests.airflow.pager' has no",
        ),
        ("tests.airflow.test_notify.LINE", "cannot be called with an alert: it cannot be called"),
        ("tests.airflow.test_notify.of_two", "missing a required argument: 'level'"),
        ("tests.airflow.test_notify.in_vain", "it is a coroutine, which nobody would await"),
        (print, "neither the dotted path of a function nor a notifier"),
    ],
)
def test_what_cannot_be_called_is_refused_where_the_file_is_read(notify, said):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(SpecError, match=r"the option notify is") as refused:
        progressive_dag(sales_report(), start_date=start, notify=notify, watch=False)
    assert said in str(refused.value)
    assert refused.value.hint


def test_a_notifier_of_airflow_is_told_each_alert_anew(case):
    for notifier in (Written(LINE), Awaited(LINE), "tests.airflow.test_notify.by_path"):
        check_notify(notifier)
        SENT.clear()
        for kind in ("warning", "missed"):
            send(notifier, alert(case, kind))
        texts = [f"{kind}: totals of {DATE}" for kind in ("warning", "missed")]
        assert [(text, "totals") for text in texts] == SENT


def alert(case, kind):
    from forerun.include.oncall.alerts import alert_of, watch

    return alert_of(case.store, watch(case.read(), at(31)), at(31), kind=kind, page="")


@pytest.mark.parametrize("notifier", [Written(LINE), Awaited(LINE)], ids=["sync", "async"])
def test_the_triggerer_makes_the_notifier_of_json_and_tells_it(case, monkeypatch, notifier):
    clock = Clock(monkeypatch)
    clock.now = at(29)
    (found,) = deadline_alerts(case.spec, notify=notifier)
    kwargs = json.loads(json.dumps(found.callback.kwargs))
    run = {"run_type": "scheduled", "logical_date": f"{DATE}T00:00:00Z"}
    asyncio.run(deadlines.at_deadline(**kwargs, context={"dag_run": run}))
    assert [(f"missed: totals of {DATE}", "totals")] == SENT


def test_a_notifier_of_a_provider_goes_through_as_it_is(case):
    mail = SmtpNotifier(to="anna@example.org", subject=LINE, html_content="{{ alert.text }}")
    (found,) = deadline_alerts(case.spec, notify=mail)
    handed = found.callback.kwargs["notify"]
    assert handed["notifier"].endswith(".SmtpNotifier")
    assert handed["arguments"]["to"] == "anna@example.org"
    assert why_not(handed) is None


def test_a_notifier_that_cannot_be_made_again_is_refused(case):
    with pytest.raises(SpecError, match="the triggerer cannot make the Forgetful") as refused:
        deadline_alerts(case.spec, notify=Forgetful(3))
    assert 'notify="oncall.pager.notifier"' in refused.value.hint


def test_a_module_in_the_folder_of_dags_is_refused_for_the_deadline_alone(
    case, tmp_path, monkeypatch
):
    """A worker adds that folder to its path, and the triggerer does not."""
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "night_pager.py").write_text("def send(alert): pass\n")
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    assert check_notify("night_pager.send") == "night_pager.send"
    with pytest.raises(SpecError, match="lies in the folder of DAGs") as refused:
        deadline_alerts(case.spec, notify="night_pager.send")
    assert "folder of plugins" in refused.value.hint
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]))
    deadline_alerts(case.spec, notify="night_pager.send")
    sys.modules.pop("night_pager")


def test_the_doctor_finds_whom_a_deadline_tells_in_what_airflow_has_stored(case):
    from airflow.serialization.serialized_objects import DagSerialization

    start = datetime(2026, 1, 1, tzinfo=UTC)
    given = [
        deadline_alerts(case.spec, notify=one)[0] for one in ("tests.airflow.pager.send", by_path)
    ]
    dag = progressive_dag(case.spec, start_date=start, deadline=given)
    stored = DagSerialization.to_dict(dag)["dag"]["deadline"]
    handed = [one for alert in stored for one in _at_deadlines(alert)]
    assert handed[0] == "tests.airflow.pager.send"
    assert handed[1]["arguments"] == {"text": LINE}
    assert [why_not(one) for one in handed] == [None, None]
    assert why_not("night_pager.send")[0].endswith("No module named 'night_pager'")
