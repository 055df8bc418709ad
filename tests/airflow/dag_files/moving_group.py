"""A DAG for test_moving_group.py: a group of three reports, of which one has a trigger, one chooses
its times and one has written times. Copied into the DAG folder; data and store lie below
``FORERUN_TEST_ROOT``, and the times of the two runs of today are ``FORERUN_TEST_TIMES``."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from forerun.airflow import (
    AfterRows,
    Choose,
    Cluster,
    Hours,
    MarkerFile,
    ReportGroup,
    RunPolicy,
    RunTime,
    group_dag,
)
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
EARLY, FINAL = (RunTime(at=at) for at in os.environ["FORERUN_TEST_TIMES"].split())
FIRES = replace(EARLY, when=AfterRows(source="sales", rows=1))
POLICIES = {
    "fires": RunPolicy(runs=(FIRES, FINAL)),
    "chooses": RunPolicy(runs=(EARLY, FINAL), choose=Choose(at_most=2)),
    "written": RunPolicy(runs=(EARLY, FINAL)),
}

moving = group_dag(
    ReportGroup(
        name="moving",
        reports=tuple(
            sales_report(
                name=name,
                store=f"{ROOT}/store",
                sources=(sales_source(f"{ROOT}/{name}", complete_when=MarkerFile()),),
                policy=policy,
                deadline="47:00",
            )
            for name, policy in POLICIES.items()
        ),
    ),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule=None,
    engine="sail",
    poll=0.5,
    watch=False,
    retry_delay=timedelta(0),
    cluster=Cluster(name="moving", ceiling=(Hours(start="00:00", end="24:00", value=2),)),
)
