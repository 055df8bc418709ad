"""The fence of a day: clean-up closes generations before it deletes them.

One record per report and day says through which generation the day is closed. Generations count
upwards, clean-up takes the oldest ones, and the record is never deleted and only ever raised, by a
conditional put. So a generation that is closed stays closed, also for a process that was asleep
while its folder disappeared, and its number is never given out again.

Whoever acts on what a generation holds reads the fence **after** the last byte that it has read of
it, and throws away what it has made if the generation is closed by then (:func:`refuse_closed`).
Clean-up deletes nothing of a generation before its fence is closed, so a fence that is found open
proves that clean-up had deleted nothing of what was read until then. The whole argument is in
``docs/how/invariants.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.include.machine.wall_clock import utc_now
from forerun.include.state.layout import Generation, fence_key
from forerun.include.state.records import decode, encode
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreReader
from forerun.planner.errors import ForerunError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Up to which generation of a day clean-up has closed it: none of them can be committed to or
    published from any more."""

    report: str
    day: str
    through: int
    closed_at: str


class GenerationClosedError(ForerunError):
    """The generation was closed by clean-up, so nothing that it holds counts any more."""

    code = "generation-closed"


def closed_through(store: StoreReader, report: str, day: str) -> int:
    """The number of the newest closed generation of a day, 0 if none is closed."""
    key = fence_key(report, day)
    found = store.find(key)
    return decode(Fence, found.data, key).through if found else 0


def is_closed(store: StoreReader, at: Generation) -> bool:
    """Return whether clean-up has closed this generation."""
    return at.number <= closed_through(store, at.report, at.day)


def refuse_closed(store: StoreReader, at: Generation) -> None:
    """Raise :class:`GenerationClosedError` if clean-up has closed this generation."""
    if is_closed(store, at):
        raise GenerationClosedError(
            f"generation {at.generation} of {at.report}, {at.day}, was closed by clean-up: its "
            "state is deleted, and nothing of it is published any more",
            hint="Clear the day: a new generation computes it again. To keep the state of more "
            "days or generations, raise --days or --generations of forerun expire.",
        )


def close_through(store: Store, report: str, day: str, number: int) -> None:
    """Close the generations of a day up to ``number``. When this returns, no commit of them counts,
    and they may be deleted. A fence that is higher already stays as it is."""
    key = fence_key(report, day)
    backoff = Backoff(key)
    while True:
        found = store.find(key)
        if found is not None and decode(Fence, found.data, key).through >= number:
            return
        at = utc_now().isoformat(timespec="seconds")
        data = encode(Fence(report=report, day=day, through=number, closed_at=at))
        if found is None:
            won = store.put_if_absent(key, data)
        else:
            won = store.put_if_match(key, data, found.tag)
        if won:
            return
        backoff.wait()
