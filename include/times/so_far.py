"""What has run already of a day whose night is planned: its committed runs, or all of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from forerun.include.days.generations import latest_generation
from forerun.include.days.manifests import read_manifest
from forerun.include.days.results import read_pointer
from forerun.include.reports.spec import ReportSpec
from forerun.include.sources.delivery import read_pin
from forerun.include.state.commits import read_chain
from forerun.include.stores.store import Store
from forerun.planner.errors import ScheduleError


@dataclass(frozen=True, slots=True, kw_only=True)
class SoFar:
    """So many runs of a day are committed, the last of them is run ``last``, and they have read so
    many ``rows`` of each source."""

    runs: int = 0
    last: int = 0
    rows: tuple[tuple[str, int], ...] = ()

    def rows_of(self, source: str) -> int:
        return dict(self.rows).get(source, 0)


def read_so_far(store: Store, spec: ReportSpec, day: date) -> SoFar:
    """What has run of a day. Raises :class:`ScheduleError` for one of which nothing is left to run,
    and what reading the store raises."""
    pointer = read_pointer(store, spec.name, day)
    at = latest_generation(store, spec.name, day)
    chain = read_chain(store, at) if at else []
    if (pointer and pointer.complete) or (chain and chain[-1].run >= spec.runs):
        raise ScheduleError(f"its final run of {day} is done")
    if at is None or not chain:
        return SoFar()
    last = chain[-1].run
    sources = read_manifest(store, at, last).sources
    rows = tuple((source.name, read_pin(store, source.pin).rows) for source in sources)
    return SoFar(runs=len(chain), last=last, rows=rows)
