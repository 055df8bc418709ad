from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from airflow.sdk import DAG, Asset
from airflow.sdk.definitions.param import process_params

from forerun.airflow import (
    ProgressiveTaskGroup,
    Shadow,
    group_dag,
    progressive_dag,
    report_asset,
    warning_asset,
)
from forerun.airflow.authoring.dag_file import read_sql
from forerun.airflow.authoring.form import report_params
from forerun.demo.arrivals import demo_dag
from forerun.demo.reports import DAY, PAST_DAYS
from forerun.include.reports.group import ReportGroup
from forerun.include.reports.spec import AssetEvent, Parameter, ReportSpec, SpecError
from tests.airflow.conftest import ENVIRONMENT, ROOT
from tests.airflow.reports import sales_report, sales_source

START = datetime(2026, 1, 1, tzinfo=UTC)
DEMOS = {"demo_night"}
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
    dag = progressive_dag(sales_report(), start_date=START, watch=False)
    order = FLOW.split()
    assert [task.task_id for task in dag.topological_sort()] == order
    expected = {a: [b] for a, b in zip(order, [*order[1:], ""], strict=True)}
    assert _edges(dag) == {**expected, "publish": []}


def test_publish_is_the_only_leaf_and_early_failures_do_not_block():
    dag = progressive_dag(sales_report(), start_date=START)
    assert [leaf.task_id for leaf in dag.leaves if not leaf.is_teardown] == ["publish"]
    rules = {task.task_id: task.trigger_rule.value for task in dag.tasks}
    assert {rules[f"run_{i}.wait"] for i in (1, 2, 3)} == {"all_done"}
    assert rules["check"] == "none_failed"
    assert {rules[t] for t in rules if t.endswith((".plan", ".run"))} == {"all_success"}


def test_the_watch_begins_with_the_day_and_decides_about_nothing():
    dag = progressive_dag(
        sales_report(), start_date=START, retries=5, notify="tests.airflow.pager.send"
    )
    watch = dag.get_task("watch")
    assert (watch.upstream_task_ids, watch.downstream_task_ids) == ({"open_day"}, set())
    assert (watch.is_teardown, watch.on_failure_fail_dagrun) == (True, False)
    assert watch.execution_timeout is None
    assert [asset.uri for asset in watch.outlets] == ["forerun://report/revenue/at-risk"]
    assert watch.outlets == [warning_asset("revenue")]
    group = group_dag(ReportGroup(name="night", reports=(sales_report(),)), start_date=START)
    assert group.get_task("revenue.watch").upstream_task_ids == {"revenue.open_day"}


@pytest.mark.parametrize("notify", ["send", "a b.c", "oncall.pager:send", "oncall..send"])
def test_who_is_told_is_a_dotted_path(notify):
    with pytest.raises(SpecError, match="not the dotted path of a function"):
        progressive_dag(sales_report(), start_date=START, notify=notify)


def test_a_run_with_an_early_result_publishes_before_the_next_one():
    policy = replace(sales_report().policy, results_at=(2,))
    dag = progressive_dag(sales_report(policy=policy), start_date=START, watch=False)
    order = FLOW.replace("run_2.run\n", "run_2.run\nrun_2.check\nrun_2.publish\n").split()
    expected = {a: [b] for a, b in zip(order, [*order[1:], ""], strict=True)}
    assert _edges(dag) == {**expected, "publish": []}
    assert [leaf.task_id for leaf in dag.leaves] == ["publish"]
    assert dag.get_task("run_3.wait").trigger_rule.value == "all_done"
    early, final = dag.get_task("run_2.publish"), dag.get_task("publish")
    assert (early.run, final.run) == (2, 3)
    assert dag.get_task("run_2.plan").wait_task == "run_2.wait"
    assert [asset.uri for asset in early.outlets] == ["forerun://report/revenue/early"]
    assert "| 2 | 16:00 | 0.3 | yes |" in dag.doc_md


def test_a_task_group_in_a_dag_of_one_s_own():
    with DAG("mine", start_date=START, schedule=None) as dag:
        group = ProgressiveTaskGroup(sales_report())
    ids = {task.task_id for task in dag.tasks}
    assert ids == {f"revenue.{task}" for task in [*FLOW.split(), "watch"]}
    assert group.group_id == "revenue"
    assert dag.get_task("revenue.run_1.run").plan_task == "revenue.run_1.plan"
    assert dag.get_task("revenue.run_3.wait").step.seats[0].day_task == "revenue.open_day"
    assert dag.get_task("revenue.run_3.wait").step.seats[0].final_task == "revenue.run_3.run"
    assert dag.get_task("revenue.run_3.plan").wait_task == "revenue.run_3.wait"


def test_the_dag_starts_with_its_day():
    dag = progressive_dag(sales_report(timezone="Europe/Berlin"), start_date=START)
    assert dag.timetable.expression == "0 0 * * *"
    assert str(dag.timetable.timezone) == "Europe/Berlin"
    assert dag.catchup is False
    assert dag.max_active_runs == 3


def test_the_form():
    params = progressive_dag(sales_report(), start_date=START).params
    assert params.dump() == {"report_date": None, "mode": "auto", "dry_run": False, "days": None}
    modes = ["auto", "replay", "progressive", "batch"]
    assert params.get_param("mode").schema["enum"] == [*modes, "repair", "backfill"]
    of_group = report_params(reports=["one", "two"])
    assert of_group["mode"].schema["enum"] == [*modes, "repair", "backfill"]
    assert of_group["reports"].schema["items"]["enum"] == ["one", "two"]
    assert params.get_param("report_date").schema["format"] == "date"
    types = [params.get_param(name).schema.get("type", "null") for name in params]
    assert all("null" in kind for kind in types), "Airflow's form calls all others required"


def test_a_demo_report_is_asked_for_by_hand_on_the_day_that_has_data():
    dag = demo_dag(ReportGroup(name="sales", reports=(sales_report(),)))
    assert dag.dag_id == "demo_sales"
    form = {"report_date": DAY.isoformat(), "mode": "replay", "dry_run": False}
    form |= {"days": None, "reports": None}
    assert dag.params.dump() == form
    assert not any(task.params for task in dag.tasks), "copies of them, one for each task"
    for task in dag.tasks:
        assert process_params(dag, task, {}, suppress_exception=False) == form
    days = (dag.start_date.date(), dag.end_date.date())
    assert (days, dag.catchup) == ((PAST_DAYS[0], DAY), False), "for backfills alone"
    assert dag.get_task("at_2.wait").upstream_task_ids == {"arrive_2"}


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
    assert dag.get_task("publish").outlets == [report_asset("revenue")]


@pytest.mark.parametrize(
    "rule",
    [
        AssetEvent(uri="forerun://report/a"),
        AssetEvent(name="forerun_report_a"),
        AssetEvent(uri="forerun://report/a", name="forerun_report_a"),
    ],
)
def test_who_waits_for_a_report_names_the_asset_that_it_updates(rule):
    spec = sales_report(sources=(sales_source("/d", complete_when=rule),))
    upstream = progressive_dag(sales_report(name="a"), start_date=START)
    waiting = progressive_dag(spec, start_date=START).get_task("run_3.wait")
    assert waiting.inlets == upstream.get_task("publish").outlets == [report_asset("a")]


def test_any_other_asset_is_named_as_its_producer_names_it():
    for rule, producer in (
        (AssetEvent(uri="s3://b/s"), Asset(uri="s3://b/s")),
        (AssetEvent(name="orders"), Asset(name="orders")),
        (AssetEvent(name="orders", uri="s3://b/s"), Asset(name="orders", uri="s3://b/s")),
    ):
        spec = sales_report(sources=(sales_source("/d", complete_when=rule),))
        (inlet,) = progressive_dag(spec, start_date=START).get_task("run_3.wait").inlets
        assert inlet == producer


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"uri": "forerun://report/a", "name": "mine"}, "has the URI .* and the name"),
        ({"uri": "s3://x", "name": "forerun_report_a"}, "has the URI .* and the name"),
        ({"uri": "forerun://report/a/early"}, "never complete"),
    ],
)
def test_an_asset_of_a_report_under_another_name_is_refused(wrong, words):
    with pytest.raises(SpecError, match=words):
        AssetEvent(**wrong)


def test_no_durable_submit_and_no_secrets_in_the_configuration():
    dag = progressive_dag(sales_report(), start_date=START, spark_conf={"spark.cores.max": "1"})
    submit = dag.get_task("run_1.run")
    assert submit.durable is False
    assert submit.conf == {"spark.cores.max": "1"}
    assert not submit.env_vars


def test_a_sql_file_that_is_not_there(tmp_path):
    spec = sales_report(sql="", sql_file=str(tmp_path / "nope.sql"))
    with pytest.raises(SpecError, match=r"nope\.sql"):
        read_sql(spec)
    (tmp_path / "empty.sql").write_text(" \n")
    with pytest.raises(SpecError, match="no SQL"):
        read_sql(sales_report(sql="", sql_file=str(tmp_path / "empty.sql")))


_BESIDE = """
from datetime import UTC, datetime
from forerun.airflow import ProgressiveTaskGroup, ReportGroup, group_dag, progressive_dag
from airflow.sdk import DAG
from tests.airflow.reports import sales_report

start = datetime(2026, 1, 1, tzinfo=UTC)
report = sales_report(sql="", sql_file="sql/revenue.sql")
one = progressive_dag(report, start_date=start)
night = group_dag(ReportGroup(name="night", reports=(report,)), start_date=start)
with DAG("own", start_date=start) as own:
    ProgressiveTaskGroup(report)
"""


def test_a_relative_sql_file_lies_beside_the_dag_file(tmp_path):
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql/revenue.sql").write_text(sales_report().sql)
    (tmp_path / "reports.py").write_text(_BESIDE)
    made = runpy.run_path(str(tmp_path / "reports.py"))
    for name, task in (("one", "open_day"), ("night", "revenue.open_day"),
                       ("own", "revenue.open_day")):  # fmt: skip
        dag = made[name]
        assert dag.get_task(task).spec.sql == sales_report().sql
        assert dag.fileloc == str(tmp_path / "reports.py"), "Airflow's Code tab shows this file"
    (tmp_path / "sql/revenue.sql").unlink()
    with pytest.raises(SpecError) as caught:
        runpy.run_path(str(tmp_path / "reports.py"))
    assert str(tmp_path) in caught.value.hint


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
heavy = ["pyspark", "boto3", "botocore", "pandas", "pyarrow", "great_expectations",
         "forerun.planner.api", "forerun.planner.temporal", "forerun.planner.rules",
         "forerun.planner.search", "forerun.planner.memo",
         "forerun.planner.stats", "forerun.planner.materialize", "forerun.include.runs.prepare",
         "forerun.include.sources.pins"]
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


# Airflow asks nobody who looks at the pages of plugins, and has no public way to do it.
LOGIN = "plugins/forerun_airflow/pages/access.py"


@pytest.mark.parametrize("folder", ["plugins", "dags", "include", "planner", "spark_jobs"])
def test_only_the_public_interface_of_airflow(folder):
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / folder).rglob("*.py"))
        if BANNED.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ([LOGIN] if folder == "plugins" else [])
    assert BANNED.search("from airflow.models import DagRun")


def test_the_spec_is_pure():
    loaded = _python(
        "import sys, forerun.include.reports.spec\n"
        "print(sorted(m for m in ('airflow', 'pyspark', 'boto3', 'sqlglot', 'pyarrow') "
        "if m in sys.modules))"
    )
    assert loaded == "[]"
    assert ReportSpec.__dataclass_params__.frozen


BROKEN = [
    ("SELECT shop FROM sales", "unknown column shop"),
    ("SELECT item FROM sale", "unknown table sale"),
    ("SELEC item FROM sales", "does not parse"),
    ("SELECT item, FROM sales", "a comma with nothing after it"),
    ("SELECT nosuch(item) AS x FROM sales", "unknown function nosuch"),
    ("SELECT reflect('java.lang.System', 'getenv', 'X') AS x FROM sales", "may not call reflect"),
    ("SELECT item FROM sales WHERE item LIKE '{{ ds }}%'", "looks like a template"),
    ("SELECT item FROM sales WHERE item = :region", "unknown parameter :region"),
    ("SELECT item FROM sales; DROP TABLE sales", "a second statement"),
]


@pytest.mark.parametrize(("sql", "message"), BROKEN)
def test_broken_sql_is_an_error_of_the_dag_file(sql, message):
    for build in (lambda spec: progressive_dag(spec, start_date=START), read_sql):
        with pytest.raises(SpecError, match=message) as caught:
            build(sales_report(sql=sql))
        assert "the SQL of report revenue: line 1, column" in caught.value.message


def test_sql_with_the_parameters_of_the_day_and_of_the_report():
    sql = "SELECT item FROM sales WHERE item = :region AND :report_date < DATE'2026-12-31'"
    region = Parameter(name="region", type="STRING", value="EU")
    progressive_dag(sales_report(sql=sql, parameters=(region,)), start_date=START)


@pytest.mark.airflow
def test_airflow_shows_what_is_wrong_with_the_sql(airflow_home, tmp_path):
    (tmp_path / "broken.py").write_text(
        "from datetime import datetime, UTC\n"
        "from forerun.airflow import *\n"
        "from forerun.airflow import progressive_dag\n"
        "orders = SourceSpec(name='orders', path='/data/orders', arrival='static',\n"
        "    columns=(ColumnSpec(name='id', type='BIGINT'),))\n"
        "spec = ReportSpec(name='broken', sql='SELECT nosuch FROM orders', sources=(orders,),\n"
        "    policy=RunPolicy(runs=(RunTime(at='24:00', weight=1.0),)))\n"
        "dag = progressive_dag(spec, start_date=datetime(2026, 1, 1, tzinfo=UTC))\n"
    )
    shown = _python(
        "from airflow.dag_processing.dagbag import DagBag\n"
        f"print(list(DagBag({str(tmp_path)!r}).import_errors.values()))"
    )
    assert "the SQL of report broken: line 1, column 8: unknown column nosuch" in shown


def test_a_report_in_shadow_is_compared_and_tells_no_reader():
    shadow = Shadow(compare_with="/lake/old/revenue")
    dag = progressive_dag(sales_report(shadow=shadow), start_date=START)
    compare, publish = dag.get_task("compare"), dag.get_task("publish")
    assert compare.is_teardown
    assert compare.upstream_task_ids == {"publish"}
    assert publish.outlets == []
    switched = progressive_dag(sales_report(), start_date=START)
    assert "compare" not in switched.task_ids
    assert switched.get_task("publish").outlets == [report_asset("revenue")]
    assert switched.get_task("publish").downstream_task_ids == set()
    group = group_dag(
        ReportGroup(name="night", reports=(sales_report(shadow=shadow),)), start_date=START
    )
    assert group.get_task("revenue.compare").upstream_task_ids == {"revenue.publish"}
