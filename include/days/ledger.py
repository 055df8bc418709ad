"""The ledger: what each committed run was estimated to cost, what it did cost, what had arrived."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.sources.delivery import read_pin
from forerun.include.state.attempts import tries_of
from forerun.include.state.given_up import all_given_up
from forerun.include.state.layout import history_folder, history_key, history_order
from forerun.include.state.ledger_entry import LedgerEntry, StageEntry
from forerun.include.state.records import RunCommit, RunMetrics, decode, encode
from forerun.include.stores.store import MissingKeyError, StoreReader
from forerun.planner.contract import Run, decode_plan
from forerun.planner.errors import ContractError

_LOG = logging.getLogger(__name__)

_ENTRIES = 200
"""How many of the newest entries are read: a fortnight of days with up to 14 runs."""


def record_history(day: Day, chain: Sequence[RunCommit]) -> None:
    """Enter the runs of a chain that are not entered yet, and those of the day that gave up: what
    they took and counted counts as well. An entry never changes."""
    gave_up = (given_up.done for given_up in all_given_up(day.store, day.at))
    for commit in (*chain, *gave_up):
        key = history_key(day.at, commit.run)
        if day.store.find(key) is None:
            day.store.put_if_absent(key, encode(entry_of(day, commit)))


def read_history(
    store: StoreReader, report: str, newest: int = _ENTRIES, *, run: int | None = None
) -> tuple[LedgerEntry, ...]:
    """The ``newest`` entries of a report, oldest first; with ``run`` only those of that run.

    One that cannot be read (of another version of Forerun, say) is passed over: the ledger makes
    forecasts better, and a report must not stand still for want of one. So is one whose day was
    computed with others by one query: its part of that says nothing of what a run takes.
    """
    listed = (file.key for file in store.list(history_folder(report)))
    wanted = (key for key in listed if run is None or history_order(key)[2] == run)
    keys = sorted(wanted, key=history_order)[-newest:]
    found = (entry for key in keys if (entry := _read(store, key)) is not None)
    return tuple(entry for entry in found if entry.days_in_query == 1)


def _read(store: StoreReader, key: str) -> LedgerEntry | None:
    try:
        return decode(LedgerEntry, store.get(key), key)
    except (ContractError, MissingKeyError) as error:
        _LOG.warning("passed over in the ledger: %s", error.message)
        return None


def entry_of(day: Day, commit: RunCommit) -> LedgerEntry:
    """The entry of a run, by its commit or by what it had done when it gave up."""
    store = day.store
    planned = decode_plan(store.get(commit.plan))
    manifest = read_manifest(store, day.at, commit.run)
    executed = {stage.stage for stage in commit.metrics.stages}
    left_out = sum(s.estimated_cost for s in planned.run.stages if s.id not in executed)
    return LedgerEntry(
        report=day.at.report,
        day=day.at.day,
        generation=day.at.generation,
        run=commit.run,
        weight=planned.run.weight,
        estimated_cost=planned.run.estimated_cost - left_out,  # of a run that has given up
        batch_cost=planned.batch_cost,
        executor_cpu_s=commit.metrics.executor_cpu_s,
        process_cpu_s=commit.metrics.process_cpu_s,
        wall_s=commit.metrics.wall_s,
        arrived=tuple((s.name, read_pin(store, s.pin).rows) for s in manifest.sources),
        state_bytes=sum(artifact.bytes for artifact in commit.artifacts),
        method=planned.method,
        batch_because=planned.batch_because,
        committed_at=commit.committed_at,
        stages=_stages(planned.run, commit.metrics),
        runs_in_application=commit.metrics.runs_in_application,
        days_in_query=commit.metrics.days_in_query,
        engine=commit.metrics.engine,
        tries=tries_of(commit.attempt),
        kept=()
        # What a repair, or a day that inherits, adds to a family is no size of a day.
        if manifest.base_generation or manifest.inherits
        else tuple((planned.family(a.family).fingerprint, a.rows) for a in commit.artifacts),
    )


def _stages(run: Run, metrics: RunMetrics) -> tuple[StageEntry, ...]:
    """The stages of a run with what they took; none of a retry, whose process did a part only, nor
    where one query did several days, which is not the stage that was planned."""
    if metrics.days_in_query > 1:
        return ()
    work = {stage.id: stage.work for stage in run.stages}
    if any(stage.reused for stage in metrics.stages) or not all(work.values()):
        return ()
    return tuple(
        StageEntry(executor_cpu_s=stage.executor_cpu_s, work=work[stage.stage])
        for stage in metrics.stages
        if stage.stage in work
    )
