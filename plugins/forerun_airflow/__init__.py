"""Forerun for DAG authors: one import.

    from forerun_airflow import ReportSpec, SourceSpec, progressive_dag

Importing this reads no file and opens no connection; Spark, boto3 and the planner's search are
imported by the tasks that use them.
"""

from __future__ import annotations

from forerun_airflow.assets import report_asset, warning_asset
from forerun_airflow.builder import ProgressiveTaskGroup, progressive_dag, report_params
from forerun_airflow.deadlines import deadline_alerts
from forerun_airflow.group_builder import group_dag
from include.reports.cluster import Blackout, Cluster
from include.reports.expectations import Expectation, expect
from include.reports.group import ReportGroup
from include.reports.hours import Hours
from include.reports.run_policy import Choose
from include.reports.spec import (
    AssetEvent,
    ClockTime,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    Parameter,
    PartitionFolder,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    VersionedFolder,
    decode_report,
    encode_report,
)
from planner.contract.plan_v1 import ColumnSpec

__all__ = [
    "AssetEvent",
    "Blackout",
    "Choose",
    "ClockTime",
    "Cluster",
    "ColumnSpec",
    "Expectation",
    "ExpectedCount",
    "HourlyMarkers",
    "Hours",
    "MarkerFile",
    "Parameter",
    "PartitionFolder",
    "ProgressiveTaskGroup",
    "ReportGroup",
    "ReportSpec",
    "RunPolicy",
    "RunTime",
    "SourceSpec",
    "VersionedFolder",
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
