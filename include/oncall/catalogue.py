"""The reports of a store, and each report as it was when a day was opened.

A DAG run that opens a day leaves the report's spec in the store and claims the report's name for
its DAG. So the reports of a store are those with a spec, and the DAG that has the name is the one
whose rights decide who may see the report. A report that no DAG has run yet is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from forerun.include.days.generations import claiming_dag, generations, read_spec
from forerun.include.days.results import read_pointer
from forerun.include.past.repair import NotRepairableError
from forerun.include.reports.reports_of_reports import reports_read
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.clock import TimeError, parse_day
from forerun.include.state.layout import SPECS_FOLDER, report_folder
from forerun.include.state.records import GenerationRecord
from forerun.include.stores.store import MissingKeyError, StoreReader
from forerun.planner.errors import ForerunError

_THREADS = 16
"""So many reports are read at once: a store may have hundreds, each for some requests."""


@dataclass(frozen=True, slots=True)
class KnownReport:
    """A report of the store, and the id of the DAG that has its name."""

    name: str
    dag_id: str


def known_reports(store: StoreReader) -> tuple[KnownReport, ...]:
    """The reports of a store that a DAG runs, by name."""
    names = store.folders(SPECS_FOLDER)
    found = (KnownReport(name, claiming_dag(store, name)) for name in names)
    return tuple(report for report in found if report.dag_id)


def find_report(store: StoreReader, report: str) -> KnownReport | None:
    """A report of the store by its name, None if no DAG runs one of that name. Raises
    :class:`forerun.include.state.layout.KeyNameError` for what cannot be a name."""
    dag_id = claiming_dag(store, report)
    return KnownReport(report, dag_id) if dag_id else None


def readers_of(store: StoreReader, report: str) -> tuple[KnownReport, ...]:
    """The reports of a store that read what ``report`` publishes, or wait for it, as they were on
    their newest day."""
    known = {one.name: one for one in known_reports(store)}
    specs = newest_specs(store, known)
    return tuple(known[name] for name, spec in specs.items() if report in reports_read(spec))


def newest_specs(store: StoreReader, reports: Iterable[str]) -> dict[str, ReportSpec]:
    """Return some reports by name, as they were on their newest day: those that can be read."""

    def read(name: str) -> ReportSpec | None:
        with suppress(ForerunError):
            return newest_spec(store, name)
        return None

    names = tuple(reports)
    with ThreadPoolExecutor(_THREADS) as pool:
        found = zip(names, pool.map(read, names), strict=True)
        return {name: spec for name, spec in found if spec is not None}


def newest_spec(store: StoreReader, report: str) -> ReportSpec | None:
    """A report as it was on its newest day that is left; None if none is."""
    record = newest_opening(store, report)
    return read_spec(store, report, record.spec) if record else None


def newest_opening(store: StoreReader, report: str) -> GenerationRecord | None:
    """Return how a DAG run has opened the newest day of a report that is left; None if none is."""
    for day in days_of(store, report):
        for _, record in generations(store, report, parse_day(day)):
            if record.opened_by is not None:
                return record
    return None


def spec_of_day(store: StoreReader, report: str, day: date) -> ReportSpec:
    """A report as it was when what is published of a day was computed; as it was lately if nothing
    of that is left. Raises :class:`NotRepairableError` if the store does not know it."""
    published = read_pointer(store, report, day)
    digests = [
        record.spec
        for at, record in generations(store, report, day)
        if published is not None and at.number == published.generation
    ]
    try:
        known = read_spec(store, report, digests[0]) if digests else newest_spec(store, report)
    except MissingKeyError:
        known = None
    if known is None:
        raise NotRepairableError(
            f"the store does not know what the report {report} was on {day}",
            hint="Look at the name and the store. A report that no DAG runs is given by --spec.",
        )
    return known


def days_of(store: StoreReader, report: str) -> Iterator[str]:
    """The days of a report that were ever opened, newest first."""
    return filter(_is_day, reversed(store.folders(report_folder(report))))


def days_opened_by(
    store: StoreReader, dag_id: str, run_id: str, reports: tuple[KnownReport, ...]
) -> Iterator[tuple[str, str]]:
    """The reports, each with its day, of which a DAG run has opened the newest generation. Days are
    looked through from the newest one on."""
    for report in reports:
        for day in days_of(store, report.name) if report.dag_id == dag_id else ():
            known = generations(store, report.name, parse_day(day))
            openings = [record.opened_by for _, record in known]
            if any(opened_by and opened_by.run_id == run_id for opened_by in openings):
                yield report.name, day
                break


def _is_day(name: str) -> bool:
    try:
        return parse_day(name).isoformat() == name
    except TimeError:
        return False
