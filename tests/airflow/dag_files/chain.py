"""DAGs for test_chain.py: four reports, of which each reads what the one before has published; the
last one as it is published into the store, the others as a table.

Data, tables and store lie below ``FORERUN_TEST_ROOT``. The first goes on without its marker and
says so, the second accepts that and says so in turn, the third refuses it.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from forerun.airflow import (
    AssetEvent,
    MarkerFile,
    PartitionFolder,
    RunPolicy,
    RunTime,
    SourceSpec,
    progressive_dag,
)
from tests.airflow.reports import sales_report, sales_source

ROOT = os.environ["FORERUN_TEST_ROOT"]
ROWS = {"item": "STRING", "revenue": "DECIMAL(38,0)"}


def chained(name, source, **changes):
    """A report of one run that is published as a table."""
    spec = sales_report(
        name=name,
        store=f"{ROOT}/store",
        sources=[source],
        sink=PartitionFolder(path=f"{ROOT}/tables/{name}"),
        policy=RunPolicy(runs=[RunTime(at="24:00")]),
        **changes,
    )
    return progressive_dag(
        spec,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        engine="sail",
        watch=False,
        retry_delay=timedelta(0),
        poll=0.5,
    )


def published(upstream, **rule):
    """What another report has published, as a source of this one."""
    return SourceSpec(
        name=upstream,
        path=f"{ROOT}/tables/{upstream}/ds={{ds}}",
        columns=ROWS,
        complete_when=AssetEvent(uri=f"forerun://report/{upstream}", **rule),
    )


def doubled(upstream):
    return f"SELECT item, CAST(2 * revenue AS DECIMAL(38,0)) AS revenue FROM {upstream}"


chain_a = chained(
    "chain_a",
    sales_source(ROOT, complete_when=MarkerFile()),
    sql="SELECT item, CAST(sum(amount) AS DECIMAL(38,0)) AS revenue FROM sales GROUP BY item",
    on_incomplete="publish_with_warning",
)
chain_b = chained("chain_b", published("chain_a", incomplete="accept"), sql=doubled("chain_a"))
chain_c = chained("chain_c", published("chain_b"), sql=doubled("chain_b"), on_incomplete="fail")
chain_d = chained(
    "chain_d",
    SourceSpec(name="chain_c", path="forerun://report/chain_c/{ds}", format="report", columns=ROWS),
    sql=doubled("chain_c"),
    on_incomplete="fail",
)
