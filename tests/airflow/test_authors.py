"""What an author writes into a DAG file, and what Airflow then shows: a DAG, or an import error
that says what to write."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.airflow

GOOD = """
from datetime import UTC, datetime, timedelta

from forerun.airflow import (
    AssetEvent, HourlyMarkers, ReportSpec, RunPolicy, RunTime, SourceSpec, expect, progressive_dag,
)


def alarm(context):
    print("late")


report = ReportSpec(
    name="{name}",
    sql="SELECT item, sum(amount) AS revenue FROM sales GROUP BY item",
    sources=[
        SourceSpec(
            name="sales",
            path="{path}",
            columns={{"item": "STRING NOT NULL", "amount": "BIGINT"}},
            key=["item"],
            complete_when=HourlyMarkers(),
            expectations=[expect("expect_column_to_exist", column="item")],
        )
    ],
    policy=RunPolicy(runs=[RunTime(at="14:00", weight=0.25), RunTime(at="24:00", weight=1)]),
    store="/store",
    timezone="Europe/Berlin",
)
dag = progressive_dag(
    report,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    max_active_runs=2,
    catchup=True,
    on_failure_callback=alarm,
    pool="default_pool",
    access_control={{"Op": {{"DAGs": {{"can_read"}}}}}},
    tags=["sales"],
    {option}
)
"""


def parsed(folder, name, path="/lake/sales/{ds}", option=""):
    """What the DAG processor makes of a file: the DAGs, serialized, and the import errors."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.serialization.serialized_objects import DagSerialization

    file = folder / f"{name}.py"
    file.write_text(GOOD.format(name=name, path=path, option=option))
    bag = DagBag(str(file))
    return {k: DagSerialization.serialize_dag(d) for k, d in bag.dags.items()}, bag.import_errors


def test_lists_mappings_and_options_of_airflow_make_a_dag(airflow_home, tmp_path):
    dags, errors = parsed(tmp_path, "well_written")
    assert errors == {}
    dag = dags["well_written"]["dag"] if "dag" in dags["well_written"] else dags["well_written"]
    assert (dag["max_active_runs"], dag["catchup"]) == (2, True)
    assert dag["has_on_failure_callback"] is True
    assert set(dag["tags"]) == {"forerun", "sales"}


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("on_gcs", {"path": "gs://lake/sales/{ds}"}, "gs:// .* is not supported.*Supported are"),
        ("on_hdfs", {"path": "hdfs://name/sales"}, "hdfs:// .* is not supported.*Supported are"),
        ("in_hive", {"path": "hive.db.sales"}, "table of a catalog.*Supported are"),
        ("chained", {"option": "depends_on_past=True,"}, "would hold up every day after it"),
        ("mistyped", {"option": "max_active_run=1,"}, "Do you mean max_active_runs"),
        ("too_short", {"option": "dagrun_timeout=timedelta(hours=1),"}, "before the deadline"),
    ],
)
def test_what_cannot_work_is_an_import_error_that_says_what_to_write(
    airflow_home, tmp_path, name, changes, words
):
    dags, errors = parsed(tmp_path, name, **changes)
    assert dags == {}
    ((_, text),) = errors.items()
    assert "SpecError" in text
    assert re.search(words, text, re.DOTALL), text
