"""Early runs that stopped themselves: why, and what they had done by then.

Nothing of them is committed, so no later run reads anything of theirs. They are remembered for what
they took: the ledger counts it, and the same run of the day is not begun again.
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.include.state.layout import Generation, numbers
from forerun.include.state.records import RunCommit, decode, encode
from forerun.include.stores.store import Store, StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """A run that went no further. ``why`` is a sentence for people; ``done`` is what its attempt
    had done, written as the commit would have been."""

    why: str
    done: RunCommit


def record_given_up(store: Store, at: Generation, given_up: GivenUp) -> None:
    """Record it, unless another attempt has: the first one counts."""
    store.put_if_absent(at.given_up(given_up.done.run), encode(given_up))


def read_given_up(store: StoreReader, at: Generation, run: int) -> GivenUp | None:
    """Return what is known of a run that gave up; None if it did not."""
    key = at.given_up(run)
    found = store.find(key)
    return decode(GivenUp, found.data, key) if found else None


def all_given_up(store: StoreReader, at: Generation) -> tuple[GivenUp, ...]:
    """Return every run of a generation that gave up, by its number."""
    runs = numbers(tuple(file.key for file in store.list(at.gave_up)))
    found = (read_given_up(store, at, run) for run in runs)
    return tuple(one for one in found if one is not None)
