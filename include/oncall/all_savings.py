"""The savings of all reports, and their sum, day by day.

A ledger has some 200 entries that count. So what it says in short is kept beside it, under a mark
of the entries that it was made of: a page reads one file for each report. The index is only a
shortcut: lost or out of date it is made again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from forerun.include.oncall.catalogue import KnownReport
from forerun.include.oncall.savings import Savings, SpentDay, read_savings
from forerun.include.state.layout import history_folder, savings_index_key
from forerun.include.state.records import decode, encode
from forerun.include.stores.store import Store, StoreReader
from forerun.planner.errors import ContractError
from forerun.planner.version import VERSION

_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsIndex:
    """The savings of a report; ``mark`` changes whenever its ledger does."""

    report: str
    mark: str
    days: tuple[SpentDay, ...]
    batch_runs: int


@dataclass(frozen=True, slots=True)
class ReportSavings:
    """A report with its savings."""

    report: KnownReport
    savings: Savings

    @property
    def is_measured(self) -> bool:
        """Return whether batch itself has ever run: else what it would have taken is an estimate
        only."""
        return self.savings.batch_runs > 0

    @property
    def spent_s(self) -> float:
        return sum(measured for measured, _ in self.savings.judged)

    @property
    def batch_s(self) -> float:
        return sum(batch for _, batch in self.savings.judged)

    @property
    def saved_s(self) -> float:
        """Weighted CPU seconds; negative where early work has cost more than it saved."""
        return self.batch_s - self.spent_s


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalDay:
    """All reports on a day: what they took, and batch would have taken; of ``reports`` reports, of
    which ``ran`` were batch."""

    day: str
    spent_s: float
    batch_s: float
    reports: int
    ran: int


@dataclass(frozen=True, slots=True)
class AllSavings:
    """The savings of many reports, dearest batch first."""

    reports: tuple[ReportSavings, ...]

    def of(self, dag_ids: Iterable[str]) -> AllSavings:
        """Return the savings of the reports that the given DAGs run."""
        wanted = frozenset(dag_ids)
        return AllSavings(tuple(one for one in self.reports if one.report.dag_id in wanted))

    def split(self) -> tuple[AllSavings, AllSavings]:
        """Reports whose batch was measured, and those for which it is only estimated."""
        measured = tuple(one for one in self.reports if one.is_measured)
        return AllSavings(measured), AllSavings(
            tuple(one for one in self.reports if not one.is_measured)
        )

    @property
    def spent_s(self) -> float:
        return sum(one.spent_s for one in self.reports)

    @property
    def batch_s(self) -> float:
        return sum(one.batch_s for one in self.reports)

    @property
    def share(self) -> float | None:
        """Return the cost of all days as a share of batch, or None without a figure for batch."""
        return self.spent_s / self.batch_s if self.batch_s else None

    @property
    def days(self) -> tuple[TotalDay, ...]:
        """The newest thirty days, oldest first, over the reports of which batch can be told."""
        found: dict[str, list[SpentDay]] = {}
        for one in self.reports:
            for day in one.savings.days:
                if day.batch_s is not None:
                    found.setdefault(day.day, []).append(day)
        return tuple(_total(day, found[day]) for day in sorted(found)[-_DAYS:])


def _total(day: str, spent: list[SpentDay]) -> TotalDay:
    return TotalDay(
        day=day,
        spent_s=sum(one.measured_s for one in spent),
        batch_s=sum(one.batch_s or 0.0 for one in spent),
        reports=len(spent),
        ran=sum(one.is_batch for one in spent),
    )


def read_all_savings(
    store: Store,
    reports: Iterable[KnownReport],
    map_many: Callable[..., Iterator[ReportSavings]],
) -> AllSavings:
    """The savings of reports; ``map_many`` is ``map``, perhaps of many threads."""
    found = map_many(lambda one: ReportSavings(one, read_indexed(store, one.name)), reports)
    ordered = sorted(found, key=lambda one: (-one.batch_s, one.report.name))
    return AllSavings(tuple(one for one in ordered if one.savings.days))


def read_indexed(store: Store, report: str) -> Savings:
    """The savings of a report, from its index if that is what the ledger says now."""
    key, mark = savings_index_key(report), _mark(store, report)
    stored = store.find(key)
    if stored is not None:
        try:
            index = decode(SavingsIndex, stored.data, key)
        except ContractError:
            pass  # of another version, or damaged: it is written again
        else:
            if index.mark == mark:
                return Savings(index.days, index.batch_runs)
    found = read_savings(store, report)
    index = SavingsIndex(report=report, mark=mark, days=found.days, batch_runs=found.batch_runs)
    if stored is None:
        store.put_if_absent(key, encode(index))
    else:
        store.put_if_match(key, encode(index), stored.tag)
    return found


def _mark(store: StoreReader, report: str) -> str:
    """A digest of the names of a ledger's entries, none of which ever changes."""
    names = "\n".join(file.key for file in store.list(history_folder(report)))
    return hashlib.sha256(f"{VERSION}\n{names}".encode()).hexdigest()[:16]
