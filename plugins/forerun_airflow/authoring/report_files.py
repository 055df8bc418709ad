"""Reports as files of SQL, and as functions that return it: a DAG for each, by one spec."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from forerun.airflow.authoring.dag import progressive_dag
from forerun.airflow.authoring.dag_file import dag_file
from forerun.include.reports.front_matter import read_report_file
from forerun.include.reports.spec import ReportSpec, SpecError
from forerun.planner.errors import ForerunError

_FIELDS = frozenset(field.name for field in fields(ReportSpec))


def report_folder(folder: str, *, start_date: datetime, **options: Any) -> dict[str, DAG]:
    """Return a DAG for each SQL file of a folder, by name, from the fields in its first comment
    (:mod:`forerun.include.reports.front_matter`).

    A relative ``folder`` lies beside the DAG file. ``options`` are those of
    :func:`progressive_dag`, for all of them; those under ``dag`` in a file are added. A file that
    is wrong breaks its own report only: its DAG has one task that fails, and says why. Use it as

        globals().update(report_folder("reports", start_date=datetime(2026, 1, 1)))

    Raises :class:`SpecError` for a folder without SQL files, and for two reports of one name.
    """
    place = Path(dag_file()).absolute().parent / folder
    files = sorted(place.glob("*.sql"))
    if not files:
        raise SpecError(
            f"there is no SQL file in {place}",
            hint="Name a folder with files *.sql, absolute or beside the DAG file.",
        )
    made: dict[str, DAG] = {}
    for path in files:
        dag = _dag_of(path, start_date, options)
        if dag.dag_id in made:
            raise SpecError(
                f"two files of {place} make a DAG {dag.dag_id}", hint="Give one another name."
            )
        made[dag.dag_id] = dag
    return made


def _dag_of(path: Path, start_date: datetime, options: dict[str, Any]) -> DAG:
    try:
        found = read_report_file(path)
        return progressive_dag(found.spec, start_date=start_date, **{**options, **found.options})
    except ForerunError as error:
        return _broken(path, start_date, error)


def _broken(path: Path, start_date: datetime, error: ForerunError) -> DAG:
    with DAG(
        dag_id=path.stem,
        start_date=start_date,
        schedule=None,
        description=f"Broken: {error.message}",
        doc_md=f"The report cannot be read.\n\n```text\n{error}\n```",
        tags=["forerun", "broken"],
    ) as dag:
        BrokenReport(task_id="broken", why=str(error))
    return dag


class BrokenReport(BaseOperator):
    """Stands for a report whose file is wrong, and fails with what is wrong with it."""

    ui_color = "#f7d9d9"

    def __init__(self, *, why: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.why = why

    def execute(self, context: Any) -> None:  # noqa: ARG002 - Airflow's signature
        raise AirflowFailException(self.why)


def progressive_report(*, start_date: datetime, **given: Any) -> Callable[[Callable[[], str]], DAG]:
    """Make a DAG of a function that returns SQL.

    The function's name is the report's, its docstring the description. What is a field of
    :class:`ReportSpec` is the report's, everything else an option of :func:`progressive_dag`::

        @progressive_report(start_date=datetime(2026, 1, 1), sources=[...], policy=...)
        def segments():
            \"\"\"Revenue by segment.\"\"\"
            return "SELECT ..."
    """
    own = {name: value for name, value in given.items() if name in _FIELDS}
    options = {name: value for name, value in given.items() if name not in _FIELDS}

    def make(text: Callable[[], str]) -> DAG:
        about = inspect.cleandoc(text.__doc__ or "")
        spec = ReportSpec(
            **{"name": text.__name__, "description": about.partition("\n")[0], **own, "sql": text()}
        )
        return progressive_dag(spec, start_date=start_date, **options)

    return make
