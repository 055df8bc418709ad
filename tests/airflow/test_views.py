"""Views that reports share, names with dots, and reports of a dbt project."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException

from forerun.airflow import dbt_project, report_folder, with_views
from forerun.include.reports.dbt.manifest import read_manifest_reports
from forerun.include.reports.expectations import expect
from forerun.include.reports.sources.complete_when import AssetEvent, MarkerFile
from forerun.include.reports.spec import (
    PartitionFolder,
    SpecError,
    WhenPublished,
    decode_report,
    encode_report,
)
from forerun.include.reports.views import SharedView, read_views
from forerun.include.reports.views import with_views as put_in
from forerun.include.runs.prepare import open_generation, prepare_run, publish_result
from forerun.planner.contract.plan_v1 import ForeignKey
from forerun.planner.request import Settings
from forerun.simulation.running import open_runner
from tests.airflow.reports import sales_report, sales_source
from tests.airflow.test_report_files import FILE

START = datetime(2026, 1, 1, tzinfo=UTC)
MANIFEST = Path(__file__).parents[1] / "dbt_shop" / "manifest.json"
CHEAP = "SELECT item, amount\nFROM sales\nWHERE amount < 10\n"


@pytest.fixture
def folder(tmp_path):
    for name in ("reports", "views"):
        (tmp_path / name).mkdir()
    (tmp_path / "reports" / "revenue.sql").write_text(FILE.replace("FROM sales", "FROM fruit"))
    (tmp_path / "views" / "cheap.sql").write_text(CHEAP)
    (tmp_path / "views" / "fruit.sql").write_text("SELECT * FROM cheap WHERE item <> 'nail'")
    return tmp_path


def made(folder):
    found = report_folder(
        str(folder / "reports"), start_date=START, views=str(folder / "views"), engine="sail"
    )
    return found["revenue"]


def test_reports_of_a_folder_read_the_views_beside_it(folder):
    spec = made(folder).get_task("open_day").spec
    assert [source.name for source in spec.sources] == ["sales"]
    assert "cheap AS (SELECT item, amount FROM sales WHERE amount < 10), fruit AS" in spec.sql
    # A function that makes one report takes the same views.
    one = sales_report(sql="SELECT count(*) AS n FROM cheap")
    assert with_views(one, str(folder / "views")).sql.startswith("WITH cheap AS (SELECT item")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "cheap",
            "SELECT item,\n  price FROM sales",
            "cheap.sql, line 2, column 3: unknown column",
        ),
        ("cheap", "SELECT *\nFROM sale", "cheap.sql, line 2, column 6: unknown table sale"),
        ("cheap", "SELECT * FROM fruit", "fruit.sql: fruit reads cheap reads fruit"),
        ("cheap", "SELECT (", "cheap.sql, line 1"),
        ("sales", "SELECT 1 AS item, 2 AS amount", "has a source sales, and there is a view"),
    ],
)
def test_what_is_wrong_in_a_view_is_said_by_its_file_and_line(folder, name, text, says):
    (folder / "views" / f"{name}.sql").write_text(text)
    dag = made(folder)
    assert dag.tags == {"forerun", "broken"}
    with pytest.raises(AirflowFailException) as raised:
        dag.tasks[0].execute({})
    assert says in str(raised.value)


def test_what_is_wrong_in_the_report_has_its_own_line(folder):
    text = FILE.replace("FROM sales", "FROM fruit").replace("sum(amount)", "sum(amounts)")
    (folder / "reports" / "revenue.sql").write_text(text)
    with pytest.raises(AirflowFailException, match=r"line 12, column 18: unknown column amounts"):
        made(folder).tasks[0].execute({})


def test_a_folder_without_views_is_refused(tmp_path):
    with pytest.raises(SpecError, match="there is no view in"):
        read_views(tmp_path)


def test_a_name_with_dots_is_the_table_of_a_source():
    source = sales_source("/d", table="shop.sales")
    spec = sales_report(sql="SELECT shop.sales.item FROM shop.sales", sources=(source,))
    assert spec.sql.split() == ["SELECT", "sales", ".item", "FROM", "sales"]
    assert decode_report(encode_report(spec)) == spec
    with pytest.raises(SpecError, match=r"a source is named 'shop\.sales'") as raised:
        sales_source("/d", name="shop.sales")
    assert "table='shop.sales'" in raised.value.hint


def test_views_and_names_with_dots_give_what_the_plain_text_does(tmp_path):
    """Two runs of a real day on the small engine, beside the text without either."""
    views = [
        SharedView("fruit", "SELECT item, amount FROM lake.sales WHERE item <> 'nail'", "fruit")
    ]
    source = sales_source(str(tmp_path), table="lake.sales")
    text = "SELECT item, sum(amount) AS revenue, count(*) AS n FROM fruit GROUP BY item"
    plain = "lake.sales WHERE item <> 'nail'"
    specs = {
        "by_view": put_in(sales_report(name="by_view", sql=text, sources=(source,)), views),
        "plain": sales_report(name="plain", sql=text.replace("fruit", plain), sources=(source,)),
    }
    specs["by_view"] = replace(specs["by_view"])  # read again, as a stored report is
    day, rows = date(2026, 3, 1), [("a", 1), ("nail", 5), ("b", 2), ("a", 7), ("nail", 1)]
    assert _published(tmp_path, specs, day, rows) == {("a", 8, 2), ("b", 2, 1)}


def _published(tmp_path, specs, day, rows):
    results = {}
    with open_runner("sail", tmp_path, "local[1]") as runner:
        for name, spec in specs.items():
            folder = tmp_path / "sales" / str(day)
            opened = open_generation(f"{tmp_path}/store", spec, day, trigger="t", now=START)
            for number, now in enumerate(spec.points(day), start=1):
                folder.mkdir(parents=True, exist_ok=True)
                items, amounts = zip(*rows[number - 1 :: spec.runs], strict=True)
                table = {"item": items, "amount": pa.array(amounts, pa.int64())}
                pq.write_table(pa.table(table), folder / f"{number}.parquet")
                settings = Settings(temporal="early", buckets=2)
                prepared = prepare_run(opened, number, now=now, settings=settings)
                runner.run([prepared.plan_uri], "run", tiny=True)
            pointer = publish_result(opened, now=START)
            at = Path(pointer.folder.removeprefix("file://"))
            found = pa.concat_tables(pq.read_table(at / file.name) for file in pointer.files)
            results[name] = {tuple(row.values()) for row in found.to_pylist()}
            for file in folder.iterdir():
                file.unlink()
    assert results["by_view"] == results["plain"]
    return results["plain"]


# -- dbt ---------------------------------------------------------------------------------------


def reports():
    return read_manifest_reports(MANIFEST)


def test_models_with_our_meta_are_reports():
    found = reports()
    assert sorted(found) == ["best_segment", "segment_revenue"]
    spec, options = found["segment_revenue"].file.spec, found["segment_revenue"].file.options
    assert [run.at for run in spec.policy.runs] == ["12:00", "18:00", "24:00"]
    assert spec.sink == PartitionFolder(path="/lake/segment_revenue")
    assert spec.description == "Revenue by segment, of orders that are paid."
    assert options == {"pool": "reports"}
    assert "with stg_orders AS (select order_id, customer_id" in spec.sql
    assert "is_incremental" not in spec.sql
    assert "1 = 0" not in spec.sql


def test_sources_keys_and_tests_are_carried_over():
    spec = reports()["segment_revenue"].file.spec
    orders, customers = spec.source("orders"), spec.source("customers")
    assert (orders.path, orders.complete_when) == ("/lake/orders/ds={ds}", MarkerFile())
    assert [f"{c.name} {c.type}" for c in orders.columns] == [
        "order_id BIGINT", "customer_id BIGINT", "status STRING", "amount DECIMAL(12,2)",
    ]  # fmt: skip
    assert (orders.key, customers.key) == (("order_id",), ("customer_id",))
    assert orders.foreign_keys == (
        ForeignKey(columns=("customer_id",), parent="customers", parent_columns=("customer_id",)),
    )
    values = ["new", "paid", "returned"]
    accepted = expect("expect_column_values_to_be_in_set", column="status", value_set=values)
    assert accepted in orders.expectations
    assert set(spec.expectations) == {
        expect("expect_column_values_to_be_unique", column="segment"),
        expect("expect_column_values_to_not_be_null", column="segment"),
        expect("expect_column_values_to_not_be_null", column="revenue", severity="warning"),
    }
    (left_out,) = reports()["segment_revenue"].left_out
    assert left_out.endswith("is no expectation: it has a condition")


def test_a_report_that_another_one_reads_is_read_where_it_is_published():
    (source,) = reports()["best_segment"].file.spec.sources
    assert source.path == "/lake/segment_revenue/ds={ds}"
    assert source.complete_when == AssetEvent(uri="forerun://report/segment_revenue")
    assert {c.name: c.type for c in source.columns} == {
        "segment": "STRING", "orders": "BIGINT", "revenue": "DECIMAL(22,2)",
    }  # fmt: skip


def test_without_a_folder_it_is_read_as_it_is_published_into_the_store(tmp_path):
    def without_sink(raw):
        for one in (raw["nodes"][REVENUE], raw["nodes"][REVENUE]["config"]):
            del one["meta"]["forerun"]["sink"]

    found = read_manifest_reports(edited(tmp_path, without_sink))
    (source,) = found["best_segment"].file.spec.sources
    assert (source.format, source.change) == ("report", "changelog")
    assert source.path == "forerun://report/segment_revenue/{ds}"
    assert source.complete_when == WhenPublished()
    assert [c.name for c in source.columns] == ["segment", "orders", "revenue"]


def test_a_model_that_is_due_before_what_it_reads_is_broken(tmp_path):
    def late(raw):
        for one in (raw["nodes"][REVENUE], raw["nodes"][REVENUE]["config"]):
            one["meta"]["forerun"]["deadline"] = "31:00"

    edited(tmp_path, late)
    dags = dbt_project(str(tmp_path / "manifest.json"), start_date=START)
    assert "reads segment_revenue, which is due only" in dags["best_segment"].doc_md
    assert [task.task_id for task in dags["best_segment"].tasks] == ["broken"]
    assert len(dags["segment_revenue"].tasks) > 1


def edited(tmp_path, edit):
    raw = json.loads(MANIFEST.read_text())
    edit(raw)
    (tmp_path / "manifest.json").write_text(json.dumps(raw))
    return tmp_path / "manifest.json"


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda raw: raw["metadata"].update(
            dbt_schema_version="https://schemas.getdbt.com/dbt/manifest/v13.json",
            dbt_version="2.0.9"), r"manifest of v13 \(dbt 2\.0\.9\), and v12 is read"),
        (lambda raw: raw.pop("metadata"), "manifest of no version"),
        (lambda raw: raw["metadata"].update(adapter_type="postgres"), "compiled for postgres"),
        (lambda raw: [one.update(meta={}) for node in raw["nodes"].values()
                      for one in (node, node["config"])],
         "no model has meta.forerun"),
    ],
)  # fmt: skip
def test_another_manifest_is_refused_by_name(tmp_path, edit, says):
    with pytest.raises(SpecError, match=says):
        read_manifest_reports(edited(tmp_path, edit))


ORDERS = "source.shop.raw.orders"
REVENUE = "model.shop.segment_revenue"


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda raw: raw["nodes"][REVENUE].update(compiled_code=None), "has no compiled SQL"),
        (lambda raw: [raw["sources"][ORDERS][part].update(meta={}) for part in ("config",)]
         + [raw["sources"][ORDERS].update(meta={})], "does not say where its files lie"),
        (lambda raw: raw["sources"][ORDERS]["columns"]["status"].update(data_type=None),
         "column status has no data_type"),
        (lambda raw: raw["nodes"]["model.shop.stg_orders"].update(
            compiled_code="select\nno from x"),
         "model stg_orders, line 2, column 9: unknown table x"),
        (lambda raw: raw["nodes"][REVENUE]["config"]["meta"]["forerun"].update(deadlin="26:00"),
         "model segment_revenue, deadlin: ReportSpec has no field deadlin"),
    ],
)  # fmt: skip
def test_a_model_that_is_wrong_breaks_its_own_report(tmp_path, edit, says):
    found = read_manifest_reports(edited(tmp_path, edit))["segment_revenue"]
    assert isinstance(found, SpecError)
    assert says in str(found)
    dags = dbt_project(str(tmp_path / "manifest.json"), start_date=START)
    assert dags["segment_revenue"].tags == {"forerun", "broken"}


def test_a_dbt_project_is_a_dag_for_each_report():
    dags = dbt_project(str(MANIFEST), start_date=START, retries=1)
    dag = dags["segment_revenue"]
    assert {task.pool for task in dag.tasks} == {"reports"}
    assert "is no expectation" in dag.doc_md
    assert dags["best_segment"].get_task("run_1.wait").inlets[0].uri == (
        "forerun://report/segment_revenue"
    )
    assert timedelta(0) < dag.get_task("run_1.run").retry_delay
