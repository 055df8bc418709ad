"""The file of a DAG's author: what Airflow shows as the DAG's code, and where its SQL lies."""

from __future__ import annotations

import inspect
from pathlib import Path

from forerun.airflow.authoring.sql_check import check_sql
from forerun.include.reports.spec import ReportSpec, SpecError

_NOT_AUTHORS = ("forerun", "airflow")


def dag_file() -> str:
    """Return the path of the file that calls Forerun: that of the nearest caller outside of Forerun
    and of Airflow.

    Airflow takes a DAG's file to be the one that constructs the ``DAG``, which is one of Forerun's.
    """
    frame = inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_AUTHORS:
        frame = frame.f_back
    return frame.f_code.co_filename if frame else ""


def read_sql(spec: ReportSpec) -> ReportSpec:
    """Return the report with its SQL text, which has been checked. A relative ``sql_file`` lies
    beside the file that :func:`dag_file` finds.

    Raises :class:`forerun.include.reports.spec.SpecError` when the file cannot be read or is empty,
    and when the SQL is no query over the declared sources.
    """
    spec = with_text(spec)
    check_sql(spec)
    return spec


def with_text(spec: ReportSpec) -> ReportSpec:
    """Return the report with its SQL text, unchecked. Raises
    :class:`forerun.include.reports.spec.SpecError` when its file cannot be read."""
    if not spec.sql_file:
        return spec
    folder = Path(dag_file()).absolute().parent
    try:
        text = (folder / spec.sql_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"report {spec.name}: its SQL file cannot be read: {error}",
            hint=f"sql_file is an absolute path, or relative to the folder of the file that makes "
            f"the DAG: {folder}.",
        ) from None
    return spec.with_sql(text)
