"""DAGs for test_pages.py: two reports, of which not everybody may see the second. Copied into the
DAG folder. Data and store lie below ``FORERUN_TEST_ROOT``."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from forerun.airflow import progressive_dag
from tests.airflow.reports import sales_report

ROOT = os.environ["FORERUN_TEST_ROOT"]


def build(name):
    spec = sales_report(f"{ROOT}/data", f"{ROOT}/store", name=name)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return progressive_dag(spec, start_date=start, mode="batch", engine="sail", watch=False)


shown = build("shown")
hidden = build("hidden")
