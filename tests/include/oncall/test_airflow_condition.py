"""What follows for days from how Airflow is: dead processes, paused DAGs, broken files."""

from __future__ import annotations

import datetime as dt

import pytest

from forerun.include.oncall.airflow_condition import (
    AirflowCondition,
    KnownDag,
    condition_of,
    error_line,
)
from forerun.include.oncall.catalogue import KnownReport
from forerun.include.oncall.night.rows import make_row, notices, with_unopened
from tests.include.oncall.dag_days import at, dag_day

NOW = at(11)
LONG_AGO = NOW - dt.timedelta(minutes=7)
FILE = ("dags-folder", "sums.py")


def health(**parts):
    """The health of an Airflow whose parts are well but for some that were last seen long ago."""
    found = {"metadatabase": {"status": "healthy"}}
    for name in ("scheduler", "triggerer", "dag_processor"):
        well = name not in parts
        seen = NOW if well else parts[name]
        found[name] = {
            "status": "healthy" if well else "unhealthy",
            f"latest_{name}_heartbeat": seen.isoformat() if seen else None,
        }
    return found


def known(**changes):
    values = {"is_paused": False, "is_stale": False, "is_broken": False, "file": FILE}
    return KnownDag(dag_id="sums", **values | changes)


def asked(*dags, errors=None, **parts):
    return condition_of(NOW, health(**parts), dags or (known(),), errors or {})


BAD = {
    "paused": asked(known(is_paused=True)),
    "scheduler": asked(scheduler=LONG_AGO),
    "triggerer": asked(triggerer=LONG_AGO),
    "file": asked(errors={FILE: "Traceback\n  File x\nNameError: name 'a' is not defined\n"}),
    "gone": asked(known(is_stale=True)),
}
SAID = {
    "paused": "DAG sums is paused: none of its tasks begins",
    "scheduler": "Airflow's scheduler has given no sign of life since 09:53:00 UTC, 7 min ago: no "
    "task of any DAG begins",
    "triggerer": "Airflow's triggerer has given no sign of life since 09:53:00 UTC, 7 min ago: "
    "tasks that wait for a time, a source or cores do not go on, and nobody is warned",
    "file": "the DAG file sums.py cannot be imported, so no task of its DAGs begins: "
    "NameError: name 'a' is not defined",
    "gone": "no file of DAGs has DAG sums any more: none of its tasks begins",
}


@pytest.fixture
def case(tmp_path):
    found = dag_day(tmp_path)
    found.begin()
    return found


def row(case, now=NOW):
    return make_row(KnownReport("sums", "sums"), case.read(), now)


def test_an_airflow_that_is_well_changes_nothing(case):
    well = asked()
    assert well.halt_of("sums") is None
    assert row(case).under(well) == row(case)
    assert notices(well, [row(case)]) == ()


@pytest.mark.parametrize("name", BAD)
def test_whatever_holds_a_day_up_is_its_state_and_is_said_with_what_ends_it(case, name):
    found = row(case).under(BAD[name])
    assert (found.standing.state, found.severity) == ("halted", "bad")
    assert found.standing.what == SAID[name].replace("09:53", f"{LONG_AGO:%H:%M}")
    assert found.standing.finish is None
    assert found.standing.halt.to_do
    assert BAD[name].halt_of("another") is None or name in ("scheduler", "triggerer")
    said = notices(BAD[name], [row(case)])
    assert name == "gone" or (said[0].is_bad and said[0].to_do)


def test_a_deadline_that_passes_meanwhile_is_missed_for_that_reason(case):
    late = AirflowCondition(now=at(31), paused=frozenset({"sums"}))
    found = row(case, late.now).under(late)
    assert found.standing.state == "missed"
    assert found.standing.what == f"the deadline has passed; {SAID['paused']}"


def test_a_dead_triggerer_holds_up_no_final_run_that_is_planned_and_a_dead_scheduler_does(case):
    case.plan(2, at(18))
    late = row(case, at(18, 1))
    assert late.under(BAD["triggerer"]).standing.state == "working"
    assert late.under(BAD["scheduler"]).standing.state == "halted"


def test_a_day_that_is_out_is_held_up_by_nothing(case):
    case.make(2, at(18))
    case.publish(at(18, 2))
    published = row(case, at(18, 3))
    assert published.under(BAD["paused"]).standing == published.standing
    (said,) = notices(BAD["paused"], [published])
    assert (said.is_bad, said.what) == (False, "DAG sums is paused: no new day of it is opened")


def test_a_dead_dag_processor_is_said_and_holds_nothing_up(case):
    found = asked(dag_processor=None)
    assert found.halt_of("sums") is None
    (said,) = notices(found, [row(case)])
    assert said.what == (
        "Airflow's dag-processor has never given a sign of life: changed files of DAGs are not read"
    )


def test_a_file_whose_error_may_not_be_seen_is_still_broken(case):
    found = asked(known(is_broken=True))
    assert row(case).under(found).standing.what == SAID["file"].partition(": NameError")[0]


def test_an_airflow_that_does_not_answer_is_said(case):
    (said,) = notices(AirflowCondition(now=NOW, unknown="Airflow answers 500"), [row(case)])
    assert (said.is_bad, said.what) == (
        False,
        "Airflow could not be asked how it is: Airflow answers 500",
    )


def test_the_error_of_a_file_is_the_line_that_names_it():
    trace = (
        "Traceback (most recent call last):\n  File x\n"
        "forerun.include.reports.spec.SpecError: [report] no column chanel\n"
        "  hint: did you mean channel?\n"
    )
    assert error_line(trace) == "SpecError: [report] no column chanel"
    assert error_line("") == ""


def test_a_day_that_could_not_be_opened_is_a_row_unless_the_store_knows_it():
    left = {"report": "sums", "day": "2026-03-01", "what": "open_day has failed", "hint": "h"}
    odd = ("no", {"report": "sums"}, {**left, "day": 3})
    entries = [("sums_dag", left), *(("sums_dag", one) for one in odd)]
    condition = condition_of(NOW, health(), (), {}, entries)
    (row,) = with_unopened((), condition)
    assert (row.report, row.day) == (KnownReport("sums", "sums_dag"), "2026-03-01")
    assert row.broken == "could not be opened: open_day has failed\n  hint: h"
    assert with_unopened((row,), condition) == (row,)
    assert with_unopened((), condition, frozenset({"other"})) == ()
