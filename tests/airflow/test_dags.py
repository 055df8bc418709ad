from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from airflow.sdk import DAG

from forerun_airflow import ProgressiveTaskGroup, progressive_dag
from forerun_airflow.arrivals import demo_dag
from forerun_airflow.builder import read_sql
from include.demo import DAY
from include.report import AssetEvent, ReportSpec, SpecError
from tests.airflow.conftest import ENVIRONMENT, ROOT
from tests.airflow.reports import sales_report, sales_source

START = datetime(2026, 1, 1, tzinfo=UTC)
DEMOS = {"demo_consolidated_revenue", "demo_customer_distribution", "demo_top_orders"}
PARSE_BUDGET_S = 2.0
FLOW = """\
open_day
run_1.wait
run_1.plan
run_1.run
run_2.wait
run_2.plan
run_2.run
run_3.wait
run_3.plan
run_3.run
check
publish
"""


def _edges(dag):
    return {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks}


def test_task_order():
    dag = progressive_dag(sales_report(), start_date=START)
    order = FLOW.split()
    assert [task.task_id for task in dag.topological_sort()] == order
    expected = {a: [b] for a, b in zip(order, [*order[1:], ""], strict=True)}
    assert _edges(dag) == {**expected, "publish": []}


def test_publish_is_the_only_leaf_and_early_failures_do_not_block():
    dag = progressive_dag(sales_report(), start_date=START)
    assert [leaf.task_id for leaf in dag.leaves] == ["publish"]
    rules = {task.task_id: task.trigger_rule.value for task in dag.tasks}
    assert {rules[f"run_{i}.wait"] for i in (1, 2, 3)} == {"all_done"}
    assert rules["check"] == "none_failed"
    assert {rules[t] for t in rules if t.endswith((".plan", ".run"))} == {"all_success"}


def test_a_run_with_an_early_result_publishes_before_the_next_one():
    policy = replace(sales_report().policy, results_at=(2,))
    dag = progressive_dag(sales_report(policy=policy), start_date=START)
    order = FLOW.replace("run_2.run\n", "run_2.run\nrun_2.check\nrun_2.publish\n").split()
    expected = {a: [b] for a, b in zip(order, [*order[1:], ""], strict=True)}
    assert _edges(dag) == {**expected, "publish": []}
    assert [leaf.task_id for leaf in dag.leaves] == ["publish"]
    assert dag.get_task("run_3.wait").trigger_rule.value == "all_done"
    early, final = dag.get_task("run_2.publish"), dag.get_task("publish")
    assert (early.run, early.wait_task) == (2, "run_2.wait")
    assert (final.run, final.wait_task) == (3, "run_3.wait")
    assert [asset.uri for asset in early.outlets] == ["forerun://report/revenue/early"]
    assert "| 2 | 16:00 | 0.3 | yes |" in dag.doc_md


def test_a_task_group_in_a_dag_of_one_s_own():
    with DAG("mine", start_date=START, schedule=None) as dag:
        group = ProgressiveTaskGroup(sales_report())
    ids = {task.task_id for task in dag.tasks}
    assert ids == {f"revenue.{task}" for task in FLOW.split()}
    assert group.group_id == "revenue"
    assert dag.get_task("revenue.run_1.run").plan_task == "revenue.run_1.plan"
    assert dag.get_task("revenue.run_3.wait").day_task == "revenue.open_day"


def test_the_dag_starts_with_its_day():
    dag = progressive_dag(sales_report(timezone="Europe/Berlin"), start_date=START)
    assert dag.timetable.expression == "0 0 * * *"
    assert str(dag.timetable.timezone) == "Europe/Berlin"
    assert dag.catchup is False
    assert dag.max_active_runs == 3


def test_the_form():
    params = progressive_dag(sales_report(), start_date=START).params
    assert params.dump() == {"report_date": None, "mode": "auto", "dry_run": False}
    assert params.get_param("mode").schema["enum"] == ["auto", "progressive", "batch"]
    assert params.get_param("report_date").schema["format"] == "date"


def test_a_demo_report_is_asked_for_by_hand_on_the_day_that_has_data():
    dag = demo_dag(sales_report())
    assert dag.dag_id == "demo_revenue"
    form = {"report_date": DAY.isoformat(), "mode": "progressive", "dry_run": False}
    assert dag.params.dump() == form
    assert {str(task.params.dump()) for task in dag.tasks} == {str(form)}
    assert dag.schedule is None
    assert dag.get_task("run_2.wait").upstream_task_ids == {"arrive_2"}


def test_the_page_changes_with_the_sql():
    spec = sales_report()
    pages = {
        progressive_dag(s, start_date=START).doc_md
        for s in (spec, spec.with_sql("SELECT item FROM sales"))
    }
    assert len(pages) == 2
    assert all(re.search(r"spec [0-9a-f]{16}$", page) for page in pages)


def test_assets_in_and_out():
    spec = sales_report(sources=(sales_source("/d", complete_when=AssetEvent(uri="s3://b/s")),))
    dag = progressive_dag(spec, start_date=START)
    assert [asset.uri for asset in dag.get_task("run_3.wait").inlets] == ["s3://b/s"]
    assert [a.uri for a in dag.get_task("publish").outlets] == ["forerun://report/revenue"]


def test_no_durable_submit_and_no_secrets_in_the_configuration():
    dag = progressive_dag(sales_report(), start_date=START, spark_conf={"spark.app.x": "1"})
    submit = dag.get_task("run_1.run")
    assert submit.durable is False
    assert submit.conf == {"spark.app.x": "1"}
    assert not submit.env_vars


def test_a_sql_file_that_is_not_there(tmp_path):
    spec = sales_report(sql="", sql_file=str(tmp_path / "nope.sql"))
    with pytest.raises(SpecError, match=r"nope\.sql"):
        read_sql(spec)
    (tmp_path / "empty.sql").write_text(" \n")
    with pytest.raises(SpecError, match="no SQL"):
        read_sql(sales_report(sql="", sql_file=str(tmp_path / "empty.sql")))


def _python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**ENVIRONMENT, "HOME": ENVIRONMENT["AIRFLOW_HOME"], **environment},
        capture_output=True,
        text=True,
        cwd=ENVIRONMENT["AIRFLOW_HOME"],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


PARSE = f"""
import json, sys, time
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
import airflow.sdk
started = time.process_time()
bag = DagBag({str(ROOT / "dags")!r})
seconds = time.process_time() - started
dags = {{k: DagSerialization.serialize_dag(d) for k, d in sorted(bag.dags.items())}}
heavy = ["pyspark", "boto3", "botocore", "sqlglot", "pandas", "pyarrow", "great_expectations",
         "planner.api", "planner.temporal", "planner.rules", "include.day", "include.pins"]
loaded = [m for m in heavy if m in sys.modules]
print(json.dumps(dict(errors=bag.import_errors, dags=dags, loaded=loaded, seconds=seconds),
                 default=str, sort_keys=True))
"""


@pytest.fixture(scope="module")
def parsed(airflow_home):
    return [json.loads(_python(PARSE, PYTHONHASHSEED=seed)) for seed in ("1", "2")]


@pytest.mark.airflow
def test_dag_files_load(parsed):
    assert parsed[0]["errors"] == {}
    assert set(parsed[0]["dags"]) == DEMOS


@pytest.mark.airflow
def test_a_dag_file_parses_to_the_same_dag_every_time(parsed):
    assert parsed[0]["dags"] == parsed[1]["dags"]


@pytest.mark.airflow
def test_parsing_loads_neither_spark_nor_the_planner(parsed):
    assert parsed[0]["loaded"] == []


@pytest.mark.airflow
def test_parsing_is_cheap(parsed):
    """CPU seconds of all files, with what they import; Airflow gives up at 30 s for one."""
    assert min(each["seconds"] for each in parsed) < PARSE_BUDGET_S


@pytest.mark.airflow
def test_the_plugin_loads(airflow_home):
    names = _python(
        "from airflow import plugins_manager as m\n"
        "plugins, errors = m._get_plugins()\n"
        "print([p.name for p in plugins if p.name == 'forerun'], errors)"
    )
    assert names == "['forerun'] {}"


BANNED = re.compile(
    r"^\s*(?:from|import)\s+airflow\.(models|settings|utils\.session|utils\.db|api_fastapi|jobs)\b",
    re.MULTILINE,
)


@pytest.mark.parametrize("folder", ["plugins", "dags", "include", "planner", "spark_jobs"])
def test_only_the_public_interface_of_airflow(folder):
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / folder).rglob("*.py"))
        if BANNED.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    assert BANNED.search("from airflow.models import DagRun")


def test_the_spec_is_pure():
    loaded = _python(
        "import sys, include.report\n"
        "print(sorted(m for m in ('airflow', 'pyspark', 'boto3', 'sqlglot', 'pyarrow') "
        "if m in sys.modules))"
    )
    assert loaded == "[]"
    assert ReportSpec.__dataclass_params__.frozen
