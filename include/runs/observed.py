"""Hands the rows that earlier runs counted to the planner."""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.state.ledger_entry import LedgerEntry
from forerun.planner.request import Observed


def observed(history: Sequence[LedgerEntry]) -> tuple[Observed, ...]:
    """The families of the ledger, each as on the last day, or in the last generation of it, that
    has kept it; so the runs of a day that are committed count for its later ones. ``history`` is
    oldest first."""
    latest: dict[str, tuple[tuple[str, str], dict[int, tuple[LedgerEntry, int]]]] = {}
    for entry in history:
        at = (entry.day, entry.generation)
        for fingerprint, rows in entry.kept:
            known = latest.get(fingerprint)
            runs = known[1] if known is not None and known[0] == at else {}
            latest[fingerprint] = (at, {**runs, entry.run: (entry, rows)})
    return tuple(
        Observed(
            fingerprint=fingerprint,
            partitions=tuple((entry.arrived, rows) for _, (entry, rows) in sorted(runs.items())),
        )
        for fingerprint, (_, runs) in sorted(latest.items())
    )
