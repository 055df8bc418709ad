"""Gives the runs of a backfill the pool that the report's author has named for them.

Airflow asks its administrator, not the DAG, which pool a task instance takes. The entry point
``airflow.policy`` of the installed package is this module, and all that is needed. It is loaded
before Airflow is ready, by each of its processes, so it lies outside of ``forerun.airflow``, which
imports Airflow.
"""

from __future__ import annotations

from typing import Any

from airflow import policies, settings

PAGE_RUN = "forerun-backfill-"
"""How the ids of DAG runs begin that the page of a report's backfill has triggered."""
_BACKFILL = "backfill"
"""Airflow's type of the DAG runs of its own backfills; their ids begin with it."""
_MODE = "backfill"
"""What the field Mode of the trigger form has for days that are over, as
``forerun.airflow.day.BACKFILL``."""


@policies.hookimpl
def task_instance_mutation_hook(task_instance: Any, dag_run: Any = None) -> None:
    """Let a task instance of a backfill take its task's ``backfill_pool``, if it has one.

    Airflow calls this once before it says of which DAG run; the id then tells as much.
    """
    pool = getattr(task_instance.task, "backfill_pool", "")
    if pool and _is_backfill(task_instance.run_id or "", dag_run):
        task_instance.pool = pool


def _is_backfill(run_id: str, dag_run: Any) -> bool:
    if run_id.startswith(PAGE_RUN):
        return True
    if dag_run is None:
        return run_id.startswith(f"{_BACKFILL}__")
    asked = dag_run.conf if isinstance(dag_run.conf, dict) else {}
    return dag_run.run_type == _BACKFILL or asked.get("mode") == _MODE


# Airflow clears this mark for policies in airflow_local_settings.py alone; while it is set the
# scheduler makes task instances in bulk and asks no policy.
settings.task_instance_mutation_hook.is_noop = False
