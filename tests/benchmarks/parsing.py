"""The CPU seconds that Airflow takes to parse DAG files of reports, beside plain DAGs.

    python -m tests.benchmarks parsing [--reports 500]

Each figure is the least of several processes that Airflow's own ``DagBag`` reads one file in, user
and system time of the whole process; of it, what reading a file with no DAG takes is taken off.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table

_NOTHING = """
import airflow.sdk
"""
_PLAIN = """
from datetime import UTC, datetime
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

START = datetime(2026, 1, 1, tzinfo=UTC)
for number in range({count}):
    with DAG(f"plain_{{number}}", start_date=START, schedule="@daily") as dag:
        last = None
        for task in range(13):
            one = EmptyOperator(task_id=f"task_{{task}}")
            if last is not None:
                last >> one
            last = one
    globals()[dag.dag_id] = dag
"""
_REPORTS = """
from datetime import UTC, datetime
from forerun.airflow import (
    ClockTime, ColumnSpec, ReportSpec, RunPolicy, RunTime, SourceSpec, progressive_dag
)

COLUMNS = (ColumnSpec(name="item", type="STRING"), ColumnSpec(name="amount", type="BIGINT"))
SQL = '''
SELECT s.item, sum(s.amount) AS revenue, count(*) AS n, avg(r.amount) AS returned
FROM sales s LEFT JOIN returns r ON s.item = r.item
WHERE s.amount > {{number}} AND s.item <> 'x{{number}}'
GROUP BY s.item HAVING count(*) > 1
'''
RUNS = (RunTime(at="10:00", weight=0.3), RunTime(at="16:00", weight=0.3), RunTime(at="24:00"))

for number in range({count}):
    report = ReportSpec(
        name=f"report_{{number}}",
        sql=SQL.replace("{{number}}", str(number)),
        sources=tuple(
            SourceSpec(
                name=name,
                path=f"/data/{{name}}/{{{{ds}}}}",
                columns=COLUMNS,
                complete_when=ClockTime(at="24:00"),
            )
            for name in ("sales", "returns")
        ),
        policy=RunPolicy(runs=RUNS),
        deadline="30:00",
    )
    dag = progressive_dag(report, start_date=datetime(2026, 1, 1, tzinfo=UTC))
    globals()[dag.dag_id] = dag
"""
_READ = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
assert len(bag.dags) == int(sys.argv[2]), len(bag.dags)
"""


def cpu_seconds(text: str, count: int, times: int) -> float:
    """The least CPU seconds of ``times`` processes that read a DAG file with ``count`` DAGs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reports.py"
        file.write_text(text.format(count=count))
        environment = {**os.environ, "AIRFLOW_HOME": f"{folder}/home"}
        environment |= {"AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        environment |= {"AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "600"}
        found = []
        for _ in range(times):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-c", _READ, str(file), str(count)]
            subprocess.run(command, env=environment, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(found)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reports", type=int, default=500)
    parser.add_argument("--times", type=int, default=3)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield a file with no DAG, with plain ones, and with those of reports."""

    def measure(text: str, count: int, _found: Found) -> Figures:
        return {"cpu_s": cpu_seconds(text, count, given.times)}

    for name, text in (("nothing", _NOTHING), ("plain", _PLAIN), ("reports", _REPORTS)):
        count = 0 if name == "nothing" else given.reports
        under = f"{given.reports} DAGs of 13 tasks"
        yield Cell(name=(name,), under=under, measure=partial(measure, text, count))


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield what each file takes beyond one with no DAG."""
    took = {name: one["cpu_s"] for (name,), one in found.items()}
    rows = []
    for name, cpu_s in took.items():
        beyond = cpu_s - took.get("nothing", 0.0)
        rows.append((name, f"{cpu_s:.2f}", f"{beyond:.2f}", f"{1000 * beyond / given.reports:.2f}"))
    yield from table(("a file with", "CPU s", "beyond nothing", "CPU ms a DAG"), rows)


BENCHMARK = Benchmark(cells=cells, lines=lines)
