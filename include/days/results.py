"""Find the published result of a day, and whether it is over the whole day."""

from __future__ import annotations

from datetime import date

from forerun.include.state.pointers import Pointer, read_published, what_lacks
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import StoreReader
from forerun.planner.errors import ForerunError


class NoResultError(ForerunError):
    """Nothing is published of a report for a day."""

    code = "no-result"


class NotCompleteError(ForerunError):
    """An early result is published, or one over sources that were incomplete, where a whole one is
    asked for."""

    code = "not-complete"


def read_pointer(store: StoreReader, report: str, day: date) -> Pointer | None:
    """Return the pointer to what is published of a report for a day; None if nothing is."""
    return read_published(store, report, day.isoformat()).pointer


def read_result(
    store_uri: str, report: str, day: date, *, require_complete: bool = True
) -> Pointer:
    """The published result of ``report`` for ``day``: where its files lie, and what to know of it.

    With ``require_complete`` a result is refused that is not over the whole day of every source.
    Raises :class:`NoResultError` when nothing is published and :class:`NotCompleteError` for a
    result that is refused.
    """
    pointer = read_pointer(open_store(store_uri), report, day)
    if pointer is None:
        raise NoResultError(
            f"nothing is published of {report} for {day}",
            hint="Look at the report's DAG run of that day, and whether this is its store.",
        )
    if require_complete and not pointer.complete:
        raise NotCompleteError(
            f"{report} of {day} is published, but not complete: {'; '.join(what_lacks(pointer))}",
            hint="Wait for a complete one, or ask for it as it is (require_complete=False).",
        )
    return pointer
