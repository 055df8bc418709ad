"""The records of the ledger: what each committed run of a report was estimated to cost, and did."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.contract.plan_v1 import later


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEntry:
    """One stage of a run in the history of a report: the CPU that executors took for it, and its
    work as :class:`forerun.planner.contract.plan_v1.Stage` states it."""

    executor_cpu_s: float
    work: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One committed run in the history of a report: estimated, spent, and what batch was
    estimated at. Costs are millionths of a CPU second. ``arrived`` is rows by source, ``kept`` rows
    that the run has written, by the fingerprint of their family. ``method`` and ``batch_because``
    are those of its plan; entries of older versions say neither. ``stages`` are those that this
    attempt executed with a plan that states their work, or none. ``days_in_query``: how
    many days one query has computed at once, of which this run has stated an equal part. ``tries``
    is how often the run was begun until it was done."""

    report: str
    day: str
    generation: str
    run: int
    weight: float
    estimated_cost: int
    batch_cost: int
    executor_cpu_s: float
    process_cpu_s: float
    wall_s: float
    arrived: tuple[tuple[str, int], ...]
    state_bytes: int
    committed_at: str
    kept: tuple[tuple[str, int], ...] = ()
    method: str = later("")
    batch_because: str = later("")
    stages: tuple[StageEntry, ...] = later(())
    runs_in_application: int = later(1)
    days_in_query: int = later(1)
    engine: str = later("")
    tries: int = later(1)
