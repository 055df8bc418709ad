"""The generations of a day, by their records, and who holds the name of a report."""

from __future__ import annotations

from datetime import UTC, date, datetime

from forerun.include.reports.spec import ReportSpec, decode_report
from forerun.include.state.fence import closed_through
from forerun.include.state.layout import Generation, claim_key, day_folder, spec_key
from forerun.include.state.records import Claim, GenerationRecord, decode, encode
from forerun.include.stores.store import Store, StoreReader, put_or_get
from forerun.planner.errors import ForerunError


class NameTakenError(ForerunError):
    """Another DAG runs a report of the same name in the same store."""

    code = "name-taken"


_DAG = "DAG "
"""How the holder of a name is written that is a DAG."""


def claim_name(store: Store, report: str, dag_id: str, now: datetime) -> None:
    """Claim the name of a report for a DAG, for good: the first to come has it.

    Two DAGs under one name would publish over each other without a word. What a report is made of
    may change (its SQL, its sources, its runs); who runs it may not.

    Raises :class:`NameTakenError`, which names both, if somebody else has it.
    """
    key, holder = claim_key(report), f"{_DAG}{dag_id}"
    claim = Claim(report=report, holder=holder, since=now.astimezone(UTC).isoformat())
    data, _ = put_or_get(store, key, encode(claim))
    there = decode(Claim, data, key)
    if there.holder != holder:
        raise NameTakenError(
            f"the name {report} belongs to {there.holder} in this store, since {there.since}; "
            f"{holder} cannot use it",
            hint="Give one of the two reports another name, or a store of its own. If the report "
            f"has moved and {there.holder} is gone, delete {store.root}/{key}.",
        )


def claiming_dag(store: StoreReader, report: str) -> str:
    """The id of the DAG that has the name of a report; empty if none has."""
    found = store.find(claim_key(report))
    holder = decode(Claim, found.data, claim_key(report)).holder if found else ""
    return holder.removeprefix(_DAG) if holder.startswith(_DAG) else ""


def read_spec(store: StoreReader, report: str, digest: str) -> ReportSpec:
    """A report as it was when its digest was ``digest``. Raises
    :class:`forerun.include.stores.store.MissingKeyError` for one that no DAG run has used."""
    return decode_report(store.get(spec_key(report, digest)))


def spec_of(store: StoreReader, at: Generation) -> ReportSpec:
    """The report as it was when a generation was opened. Raises what :func:`read_spec` raises."""
    record = decode(GenerationRecord, store.get(at.record), at.record)
    return read_spec(store, at.report, record.spec)


def latest_generation(store: StoreReader, report: str, day: date) -> Generation | None:
    """The newest generation of a day, None if it was never started."""
    known = generations(store, report, day)
    return known[0][0] if known else None


def generations(
    store: StoreReader, report: str, day: date
) -> list[tuple[Generation, GenerationRecord]]:
    """The generations of a day that have a record and are not closed, newest first. A folder
    without a record is what a kill left, before or while it was opened or deleted."""
    found = []
    for name in store.folders(day_folder(report, day.isoformat())):
        at = Generation(report, day.isoformat(), name)
        stored = store.find(at.record) if name.isdigit() else None
        if stored is not None:
            found.append((at, decode(GenerationRecord, stored.data, at.record)))
    if found:  # read after the records: what is closed by now may have been read half deleted
        closed = closed_through(store, report, day.isoformat())
        found = [(at, record) for at, record in found if at.number > closed]
    return sorted(found, key=lambda item: item[1].number, reverse=True)
