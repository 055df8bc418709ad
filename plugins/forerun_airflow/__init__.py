"""Forerun for DAG authors: one import.

    from forerun_airflow import ReportSpec, SourceSpec, progressive_dag

Importing this reads no file and opens no connection; Spark, boto3 and the planner's search are
imported by the tasks that use them.
"""

from __future__ import annotations

from forerun_airflow.assets import report_asset, warning_asset
from forerun_airflow.builder import ProgressiveTaskGroup, progressive_dag
from forerun_airflow.deadlines import deadline_alerts
from forerun_airflow.form import report_params
from forerun_airflow.group_builder import group_dag
from include.reports.cluster import Blackout, Cluster
from include.reports.expectations import Expectation, expect
from include.reports.group import ReportGroup
from include.reports.hours import Hours
from include.reports.run_policy import Choose
from include.reports.shadow import Shadow
from include.reports.spec import (
    AfterRows,
    AssetEvent,
    ClockTime,
    DueOn,
    Every,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    Parameter,
    PartitionFolder,
    PriceAtMost,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    VersionedFolder,
    WhenComplete,
    decode_report,
    encode_report,
)
from planner.contract.plan_v1 import ColumnSpec, ForeignKey

__all__ = [
    "AfterRows",
    "AssetEvent",
    "Blackout",
    "Choose",
    "ClockTime",
    "Cluster",
    "ColumnSpec",
    "DueOn",
    "Every",
    "Expectation",
    "ExpectedCount",
    "ForeignKey",
    "HourlyMarkers",
    "Hours",
    "MarkerFile",
    "Parameter",
    "PartitionFolder",
    "PriceAtMost",
    "ProgressiveTaskGroup",
    "ReportGroup",
    "ReportSpec",
    "RunPolicy",
    "RunTime",
    "Shadow",
    "SourceSpec",
    "VersionedFolder",
    "WhenComplete",
    "deadline_alerts",
    "decode_report",
    "encode_report",
    "expect",
    "group_dag",
    "progressive_dag",
    "report_asset",
    "report_params",
    "warning_asset",
]
