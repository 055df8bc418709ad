"""Tell how often runs are ended from outside: killed, evicted, lost with their machine.

A deployment that knows says so (``FORERUN_INTERRUPTIONS``), and the ledger of a report counts how
often its runs were begun until they were done. The larger of the two is believed: a quiet fortnight
proves little, and so does what somebody once wrote down.
"""

from __future__ import annotations

from collections.abc import Iterable

from forerun.include.state.ledger_entry import LedgerEntry

_HOUR = 3600.0


def interruptions(history: Iterable[LedgerEntry], declared: float) -> float:
    """Return how often a run is ended per CPU second that it takes. ``declared`` is by the hour of
    an application; without a history, one is taken to use one core."""
    counted = [entry for entry in history if entry.process_cpu_s > 0]
    cpu_s = sum(entry.process_cpu_s for entry in counted)
    wall_s = sum(entry.wall_s for entry in counted)
    lost = sum(entry.tries - 1 for entry in counted)
    said = declared / _HOUR * (wall_s / cpu_s if wall_s else 1.0) if declared else 0.0
    return max(said, lost / cpu_s if lost else 0.0)
