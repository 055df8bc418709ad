"""DAGs for test_chosen_days.py: the reports that lie in the test's folder, on the cluster that does
if there is one. Copied into the DAG folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forerun.airflow import progressive_dag
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.spec import decode_report
from forerun.include.state.records import decode

ROOT = Path(os.environ["FORERUN_TEST_ROOT"])

CLUSTER = ROOT / "cluster.json"

for file in sorted(ROOT.glob("report*.json")):
    report = decode_report(file.read_bytes())
    globals()[report.name] = progressive_dag(
        report,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        schedule=None,
        engine="sail",
        watch=False,  # `DAG.test` runs its trigger in line, before any run
        poll=1800.0,
        retry_delay=timedelta(0),
        cluster=decode(Cluster, CLUSTER.read_bytes(), "") if CLUSTER.exists() else None,
    )
