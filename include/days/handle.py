"""The handle of a day: what each step from opening a day to publishing its result is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime

from forerun.include.reports.parameters import Parameter
from forerun.include.reports.spec import ReportSpec
from forerun.include.state.commits import read_chain, read_commit
from forerun.include.state.fence import is_closed, refuse_closed
from forerun.include.state.layout import Generation
from forerun.include.state.records import RunCommit
from forerun.include.stores.opening import open_store
from forerun.include.stores.scratch_store import ScratchStore
from forerun.include.stores.store import Store


@dataclass(frozen=True, slots=True)
class Day:
    """One generation of a report's day, in the store that holds its state.

    Opening a day gives its handle (:func:`forerun.include.runs.prepare.open_generation`). A process
    that was told the name of the generation makes the same handle by :meth:`of`, which reads
    nothing.
    """

    store: Store
    spec: ReportSpec
    at: Generation

    @classmethod
    def of(cls, store_uri: str, spec: ReportSpec, day: date, generation: str) -> Day:
        return cls(open_store(store_uri), spec, Generation(spec.name, day.isoformat(), generation))

    def imagined(self) -> Day:
        """The same day for a dry run: what is done with the handle is forgotten with it."""
        return replace(self, store=ScratchStore(self.store))

    @property
    def date(self) -> date:
        return date.fromisoformat(self.at.day)

    @property
    def points(self) -> tuple[datetime, ...]:
        """The instants of the day's runs, in UTC."""
        return self.spec.points(self.date)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The named parameters of the report's SQL, with their values on this day."""
        return self.spec.parameters_on(self.date)

    def is_final(self, run: int) -> bool:
        """Return whether a run gives the result of the whole day: the final run, or one that
        repairs it, which comes after all runs of the report."""
        return run >= self.spec.runs

    def commit(self, run: int) -> RunCommit | None:
        """The commit of a run, None if it has none."""
        return read_commit(self.store, self.at, run)

    def chain(self, *, tip: int | None = None) -> list[RunCommit]:
        """The committed chain, oldest first (:func:`forerun.include.state.commits.read_chain`)."""
        return read_chain(self.store, self.at, tip=tip)

    def is_closed(self) -> bool:
        """Return whether clean-up has closed the generation."""
        return is_closed(self.store, self.at)

    def refuse_closed(self) -> None:
        """Raise :class:`forerun.include.state.fence.GenerationClosedError` if clean-up has closed
        it."""
        refuse_closed(self.store, self.at)
