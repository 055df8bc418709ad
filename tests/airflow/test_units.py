"""Whatever a report takes, a group of reports takes, too: each task by itself, the runs by the real
job on the small engine. :mod:`tests.airflow.test_groups` goes through Airflow's scheduler."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowSkipException

from forerun.include.days.instructions import Instruction, instruct
from forerun.include.state.layout import Generation
from forerun.include.state.opening import open_store
from tests.airflow.test_group_bad_days import DAY, MOST, REVENUE, Night

NEXT = "2026-03-02"


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    return Night(tmp_path, monkeypatch)


@pytest.fixture
def over(night: Night) -> Night:
    """A night of two reports that is published."""
    night.is_now(night.report("one", ("10:00", 0.3)), night.report("two", ("10:00", 0.3), sql=MOST))
    night.open("one", "two")
    night.arrive("one", "two")
    night.at(1)
    night.arrive("one", "two")
    night.arrive("one", "two", complete=True)
    assert night.at(2) == ["success"] * 3
    for name in ("one", "two"):
        assert night.finish(name)[-2:] == ["success"] * 2
    assert night.published("one") == REVENUE
    night.said.clear()
    night.submitted.clear()
    return night


def deliver(night: Night, name: str, day: str, **rows: int) -> None:
    folder = night.root / name / "sales" / day
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"item": list(rows), "amount": pa.array(rows.values(), pa.int64())})
    pq.write_table(table, folder / "late.parquet")
    (folder / "_SUCCESS").touch()


def test_the_reports_of_a_group_whose_sources_have_changed_are_repaired_together(over):
    for name in ("one", "two"):
        deliver(over, name, DAY, b=40)
    over.params = {"mode": "repair"}
    over.open("one", "two")
    assert over.at(1)[0] == "skipped", "the tasks of the final runs do it"
    assert over.at(2) == ["success"] * 3
    assert [len(plans) for plans in over.submitted] == [2], "one application for both"
    for name in ("one", "two"):
        steps = over.finish(name)
        assert steps[2:] == ["skipped", "success", "skipped"], "nobody has read what differs"
    assert over.published("one") == REVENUE
    wanted = Instruction(kind="publish", by="anna", at="2026-03-03T00:00:00+00:00", form="f")
    assert instruct(open_store(str(over.root / "store")), Generation("one", DAY, "2"), wanted)
    assert over.do("one.publish") == "success"
    assert over.do("two.publish") == "skipped"
    assert over.published("one") == {"a": 3, "b": 47}


def test_a_report_that_has_not_changed_is_left_out_of_the_repair(over):
    deliver(over, "two", DAY, b=40)
    over.params = {"mode": "repair"}
    assert over.do("one.open_day") == "skipped"
    assert over.do("two.open_day") == "success"
    assert over.at(2) == ["success"] * 3
    assert [len(plans) for plans in over.submitted] == [1]
    assert over.do("one.run_2.wait") == "skipped"
    assert over.do("one.publish") == "skipped"


def test_several_days_of_several_reports_share_an_application(over):
    for name in ("one", "two"):
        for day, rows in (("2026-02-27", {"a": 1}), (NEXT, {"a": 2, "b": 3})):
            deliver(over, name, day, **rows)
    over.params = {"mode": "backfill", "days": [NEXT, DAY, "2026-02-27"]}
    over.open("one", "two")
    assert [day for day, _ in over.said["one.open_day"]["days"]] == ["2026-02-27", NEXT]
    assert over.at(1)[0] == "skipped"
    assert over.at(2) == ["success"] * 3
    assert [len(plans) for plans in over.submitted] == [4], "two days of two reports"
    for name in ("one", "two"):
        assert over.finish(name)[2:] == ["skipped", "success", "success"]
        assert over.published(name, NEXT) == {"a": 2, "b": 3}
        assert over.published(name, "2026-02-27") == {"a": 1}


def test_a_dag_run_may_be_about_some_reports_of_a_group(over):
    deliver(over, "one", NEXT, a=5)
    over.params = {"mode": "batch", "report_date": NEXT, "reports": ["one"]}
    assert over.do("two.open_day") == "skipped"
    over.open("one")
    assert over.at(2) == ["success"] * 3
    assert over.finish("one")[-1] == "success"
    assert over.published("one", NEXT) == {"a": 5}
    assert over.do("two.publish") == "skipped"
    with pytest.raises(AirflowSkipException, match="about other reports"):
        over.dag.get_task("two.check").execute({"ti": SimpleNamespace(xcom_pull=over._pull)})
