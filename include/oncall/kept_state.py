"""The tables that reports keep in the store: how many bytes, and since when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from forerun.include.oncall.catalogue import KnownReport
from forerun.include.state.layout import RESULT_FAMILY, report_folder, report_results_folder
from forerun.include.stores.store import StoredFile, StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """The bytes that a report has in the store. ``state_bytes``: tables kept between runs, of
    ``days`` days, the oldest file since ``oldest`` (None for none); ``result_bytes``: results
    as runs have made and as days have published them, with earlier versions; ``record_bytes``:
    plans, commits and all else."""

    report: KnownReport
    state_bytes: int
    days: int
    oldest: datetime | None
    result_bytes: int
    record_bytes: int

    @property
    def bytes(self) -> int:
        return self.state_bytes + self.result_bytes + self.record_bytes


def read_kept_states(
    store: StoreReader,
    reports: Iterable[KnownReport],
    map_many: Callable[..., Iterator[KeptState]],
) -> tuple[KeptState, ...]:
    """Return the bytes that each report keeps, the most first. ``map_many`` is ``map``, perhaps of
    many threads."""
    found = map_many(partial(_state_of, store), reports)
    return tuple(sorted(found, key=lambda state: (-state.bytes, state.report.name)))


def _state_of(store: StoreReader, report: KnownReport) -> KeptState:
    files = store.list(report_folder(report.name))
    tables = [file for file in files if "/artifacts/" in file.key]
    made = [file for file in tables if f"/artifacts/{RESULT_FAMILY}/" in file.key]
    kept = [file for file in tables if f"/artifacts/{RESULT_FAMILY}/" not in file.key]
    modified = min((file.modified for file in kept), default=None)
    return KeptState(
        report=report,
        state_bytes=_size(kept),
        days=len({file.key.split("/")[2] for file in kept}),
        oldest=None if modified is None else datetime.fromtimestamp(modified, UTC),
        result_bytes=_size(made) + _size(store.list(report_results_folder(report.name))),
        record_bytes=_size(files) - _size(tables),
    )


def _size(files: Iterable[StoredFile]) -> int:
    return sum(file.size for file in files)
