"""Tells how Airflow is by its own database: for who looks from a terminal beside its scheduler.

The pages ask the same of Airflow's API, which knows what whoever asks may see.
"""

from __future__ import annotations

from forerun.include.machine.wall_clock import utc_now
from forerun.include.oncall.airflow_condition import (
    LATELY,
    UNOPENED,
    AirflowCondition,
    KnownDag,
    condition_of,
)


def read_condition() -> AirflowCondition:
    """Read how Airflow is. Where its database does not answer, that is what is known."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return _read()
    except SQLAlchemyError as error:
        return AirflowCondition(now=utc_now(), unknown=str(error).splitlines()[0])


def _read() -> AirflowCondition:
    from airflow.api.common.airflow_health import get_airflow_health
    from airflow.models.dag import DagModel
    from airflow.models.dagrun import DagRun
    from airflow.models.errors import ParseImportError
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        dags = [
            KnownDag(
                dag_id=one.dag_id,
                file=(one.bundle_name, one.relative_fileloc),
                is_paused=one.is_paused,
                is_stale=one.is_stale,
                is_broken=one.has_import_errors,
            )
            for one in session.scalars(select(DagModel)).all()
        ]
        found = session.scalars(select(ParseImportError)).all()
        errors = {(one.bundle_name, one.filename): str(one.stacktrace) for one in found}
        entries = select(XComModel).join(DagRun, XComModel.dag_run_id == DagRun.id)
        recent = DagRun.run_after >= utc_now() - LATELY
        kept = session.scalars(
            entries.where(XComModel.key.startswith(UNOPENED, autoescape=True), recent)
        ).all()
        left = [(one.dag_id, XComModel.deserialize_value(one)) for one in kept]
    return condition_of(utc_now(), get_airflow_health(), dags, errors, left)
