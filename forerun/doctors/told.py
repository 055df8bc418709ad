"""Find out whether the triggerer can call whom DAGs name for a missed deadline.

A process is started with the path that a triggerer of this machine and environment has: that of
this process without the folders of DAGs, which only the dag-processor and workers add.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from forerun.doctors.findings import DoctorFinding

_NAME = "triggerer"
_AT_DEADLINE = "forerun.airflow.watching.deadlines.at_deadline"
_PATIENCE_S = 120.0
_TRY = """
import json, sys
from airflow import settings
settings.prepare_syspath_for_config_and_plugins()
from forerun.airflow.watching.notify import why_not
print(json.dumps([why_not(one) for one in json.loads(sys.argv[1])]))
"""


def examine_told() -> tuple[DoctorFinding, ...]:
    """Look at the deadline alerts of every DAG that Airflow's database has."""
    named = sorted({json.dumps(one) for one in _named()})
    if not named:
        return (DoctorFinding(name=_NAME, state="ok", found="no DAG has deadline alerts"),)
    command = [sys.executable, "-P", "-c", _TRY, f"[{', '.join(named)}]"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, cwd="/"
    )
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no output"]
        found = f"Airflow does not start: {words[-1]}"
        return (
            DoctorFinding(name=_NAME, state="problem", found=found, todo="See `airflow info`."),
        )
    why = json.loads(done.stdout.splitlines()[-1])
    told = [_short(json.loads(one)) for one in named]
    troubles = tuple(
        DoctorFinding(name=_NAME, state="problem", found=said, todo=hint)
        for said, hint in filter(None, why)
    )
    return troubles or (DoctorFinding(name=_NAME, state="ok", found=f"calls {', '.join(told)}"),)


def _short(named: str | Mapping[str, Any]) -> str:
    return named if isinstance(named, str) else str(named["notifier"])


def _named() -> Iterator[Any]:
    """Yield whom the newest version of each DAG names for its deadlines."""
    from airflow.models.dag import DagModel
    from airflow.models.deadline_alert import DeadlineAlert
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        for dag_id in session.scalars(select(DagModel.dag_id).where(~DagModel.is_stale)).all():
            newest = SerializedDagModel.get(dag_id, session=session)
            if newest is None:
                continue
            of_it = select(DeadlineAlert).where(DeadlineAlert.serialized_dag_id == newest.id)
            for alert in session.scalars(of_it).all():
                yield from _at_deadlines(alert.callback_def)


def _at_deadlines(said: Any) -> Iterator[Any]:
    """Yield whom a callback of ours tells, wherever in the record Airflow has it."""
    if isinstance(said, Mapping):
        if said.get("path") == _AT_DEADLINE:
            yield said["kwargs"]["notify"]
        else:
            for inner in said.values():
                yield from _at_deadlines(inner)
