"""``python -m tests.airflow.night_shift FILE DAY DAG...``: a DAG run of each DAG of a file, all at
the same time, each in a copy of this process: what is imported is imported once.

Each has a copy of the metadata database, too, since SQLite has one writer: all that the reports
have in common is the store."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import traceback
from datetime import UTC, datetime

from airflow import settings
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.execution_time.supervisor import in_process_api_server

SHARED = (
    "airflow.api_fastapi.execution_api.app", "forerun.include.runs.prepare",
    "forerun.include.telemetry.events", "pyspark.sql.connect.session", "pysail.spark",
    "forerun.spark_jobs.executor", "forerun.spark_jobs.engines.sail",
)  # fmt: skip
"""What tasks and runs import when they need it: here it is imported before there are copies."""


def work(bag, name, day):
    """Run a day in a copy of this process; return its number."""
    if child := os.fork():
        return child
    done = 1
    try:
        own_database(name)
        run = bag.get_dag(name).test(logical_date=day, run_conf={"mode": "progressive"})
        done = int(str(run.state) != "success")
    except Exception:  # noqa: BLE001 - it is said, and the process ends
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(done)


def own_database(name):
    """Let this process have a database of its own."""
    home = os.environ["AIRFLOW_HOME"]
    own = shutil.copy(f"{home}/airflow.db", f"{os.environ['FORERUN_TEST_ROOT']}/{name}.db")
    os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = f"sqlite:///{own}"
    settings.configure_vars()
    settings.configure_orm()


def main(file, day, *names):
    """A process that is killed is started once more, as a scheduler would; 0 if all end well."""
    for module in SHARED:
        importlib.import_module(module)
    assert in_process_api_server().app, "made once: it takes a second"
    bag, day = DagBag(file), datetime.fromisoformat(day).replace(tzinfo=UTC)
    assert not bag.import_errors, bag.import_errors
    at_work, failed = {work(bag, name, day): name for name in names}, []
    killed = set()
    while at_work:
        child, status = os.wait()
        name, code = at_work.pop(child), os.waitstatus_to_exitcode(status)
        if code < 0 and name not in killed:
            killed.add(name)
            at_work[work(bag, name, day)] = name
        elif code:
            failed.append(name)
    print(f"killed: {sorted(killed)}, failed: {failed}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
