"""Forerun for DAG authors: one import.

    from forerun.airflow import ReportSpec, SourceSpec, progressive_dag

Importing this reads no file and opens no connection; Spark, boto3 and the planner's search are
imported by the tasks that use them.
"""

from __future__ import annotations

if __name__ != "forerun.airflow":
    # Airflow puts the plugins folder on the path; a second copy of each module would be loaded.
    raise ImportError(f"{__name__} is imported as forerun.airflow", name=__name__)

from forerun.airflow import versions  # noqa: F401 - first: it refuses an Airflow that is too old
from forerun.airflow.assets import report_asset, warning_asset
from forerun.airflow.authoring.dag import ProgressiveTaskGroup, progressive_dag
from forerun.airflow.authoring.form import report_params
from forerun.airflow.authoring.group_dag import group_dag
from forerun.airflow.authoring.report_files import (
    dbt_project,
    progressive_report,
    report_folder,
    with_views,
)
from forerun.airflow.watching.deadlines import deadline_alerts
from forerun.include.reports.cluster import Blackout, Cluster
from forerun.include.reports.expectations import Expectation, expect
from forerun.include.reports.group import ReportGroup
from forerun.include.reports.period import Monthly, PeriodsFrom, Trailing, Weekly
from forerun.include.reports.run_policy import Choose
from forerun.include.reports.shadow import Shadow
from forerun.include.reports.sinks import (
    DeltaTable,
    IcebergTable,
    PartitionFolder,
    PostgresqlTable,
    VersionedFolder,
)
from forerun.include.reports.spec import (
    AfterRows,
    AssetEvent,
    ClockTime,
    DueOn,
    Every,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    Parameter,
    PriceAtMost,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    WhenComplete,
    WhenPublished,
    decode_report,
    encode_report,
)
from forerun.include.reports.values.hours import Hours
from forerun.planner.contract.plan_v1 import ColumnSpec, ForeignKey

__all__ = [
    "AfterRows",
    "AssetEvent",
    "Blackout",
    "Choose",
    "ClockTime",
    "Cluster",
    "ColumnSpec",
    "DeltaTable",
    "DueOn",
    "Every",
    "Expectation",
    "ExpectedCount",
    "ForeignKey",
    "HourlyMarkers",
    "Hours",
    "IcebergTable",
    "MarkerFile",
    "Monthly",
    "Parameter",
    "PartitionFolder",
    "PeriodsFrom",
    "PostgresqlTable",
    "PriceAtMost",
    "ProgressiveTaskGroup",
    "ReportGroup",
    "ReportSpec",
    "RunPolicy",
    "RunTime",
    "Shadow",
    "SourceSpec",
    "Trailing",
    "VersionedFolder",
    "Weekly",
    "WhenComplete",
    "WhenPublished",
    "dbt_project",
    "deadline_alerts",
    "decode_report",
    "encode_report",
    "expect",
    "group_dag",
    "progressive_dag",
    "progressive_report",
    "report_asset",
    "report_folder",
    "report_params",
    "warning_asset",
    "with_views",
]
