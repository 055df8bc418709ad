"""Reports as files of SQL, and as functions that return it: a DAG for each, by one spec."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from forerun.airflow.authoring.dag import progressive_dag
from forerun.airflow.authoring.dag_file import dag_file, with_text
from forerun.include.machine.settings import allowed_functions
from forerun.include.reports.dbt.manifest import DbtReport, read_manifest_reports
from forerun.include.reports.front_matter import ReportFile, read_report_file
from forerun.include.reports.reports_of_reports import refuse_late
from forerun.include.reports.spec import ReportSpec, SpecError
from forerun.include.reports.views import SharedView, read_views
from forerun.include.reports.views import with_views as put_in
from forerun.planner.errors import ForerunError

_FIELDS = frozenset(field.name for field in fields(ReportSpec))


def report_folder(
    folder: str, *, start_date: datetime, views: str = "", **options: Any
) -> dict[str, DAG]:
    """Return a DAG for each SQL file of a folder, by name, from the fields in its first comment
    (:mod:`forerun.include.reports.front_matter`).

    A relative ``folder`` lies beside the DAG file. ``options`` are those of
    :func:`progressive_dag`, for all of them; those under ``dag`` in a file are added. ``views``
    names a folder of views (:mod:`forerun.include.reports.views`) that the reports may read, beside
    the DAG file, too. A file that is wrong breaks its own report only: its DAG has one task that
    fails, and says why. Use it as

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
    shared = read_views(Path(dag_file()).absolute().parent / views) if views else ()
    found = [(path.stem, _read(path, shared)) for path in files]
    made: dict[str, DAG] = {}
    for dag in _dags(found, start_date, options):
        if dag.dag_id in made:
            raise SpecError(
                f"two files of {place} make a DAG {dag.dag_id}", hint="Give one another name."
            )
        made[dag.dag_id] = dag
    return made


def _read(path: Path, views: Sequence[SharedView]) -> ReportFile | ForerunError:
    try:
        found = read_report_file(path)
        return replace(found, spec=put_in(found.spec, views, allowed_functions()))
    except ForerunError as error:
        return error


def _dags(
    found: Sequence[tuple[str, ReportFile | ForerunError]],
    start_date: datetime,
    options: dict[str, Any],
) -> Iterator[DAG]:
    """Yield a DAG for each report that was read, or that could not be; one that cannot hold its
    deadline, by the deadlines of those that it reads, is wrong, too."""
    specs = {one.spec.name: one.spec for _, one in found if isinstance(one, ReportFile)}
    for name, one in found:
        try:
            if isinstance(one, ForerunError):
                raise one
            refuse_late(one.spec, specs)
            yield progressive_dag(one.spec, start_date=start_date, **{**options, **one.options})
        except ForerunError as error:
            yield broken_dag(name, start_date, error)


def with_views(spec: ReportSpec, folder: str) -> ReportSpec:
    """Return a report with the views of a folder that its text reads
    (:mod:`forerun.include.reports.views`). A relative ``folder`` lies beside the DAG file."""
    views = read_views(Path(dag_file()).absolute().parent / folder)
    return put_in(with_text(spec), views, allowed_functions())


def dbt_project(manifest: str, *, start_date: datetime, **options: Any) -> dict[str, DAG]:
    """Return a DAG for each model of a dbt project that has ``meta.forerun``, by name
    (:mod:`forerun.include.reports.dbt.manifest`).

    ``manifest`` is the ``target/manifest.json`` of ``dbt compile``; a relative one lies beside the
    DAG file. ``options`` are those of :func:`progressive_dag`, for all of them; those under ``dag``
    in ``meta.forerun`` are added. A model that is wrong breaks its own report only. Raises
    :class:`SpecError` for a manifest that cannot be read.
    """
    path = Path(dag_file()).absolute().parent / manifest
    found = read_manifest_reports(path, allowed_functions())
    named = [(name, _with_notes(one)) for name, one in found.items()]
    return {dag.dag_id: dag for dag in _dags(named, start_date, options)}


def _with_notes(found: DbtReport | ForerunError) -> ReportFile | ForerunError:
    """A model as a report, whose DAG says what of it is left out."""
    if isinstance(found, ForerunError) or not found.left_out:
        return found if isinstance(found, ForerunError) else found.file
    notes = {"doc_md": "\n".join(found.left_out)}
    return replace(found.file, options={**notes, **found.file.options})


def broken_dag(name: str, start_date: datetime, error: ForerunError) -> DAG:
    """Return the DAG of a report that cannot be read: it has one task, which fails and says why."""
    with DAG(
        dag_id=name,
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
