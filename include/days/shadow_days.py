"""The days of a report in shadow, and whether enough of them were equal."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from forerun.include.reports.shadow import Shadow
from forerun.include.state.layout import shadow_folder, shadow_key
from forerun.include.state.records import decode, encode
from forerun.include.state.shadow_day import ShadowDay
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import MissingKeyError, Store, StoreReader
from forerun.planner.errors import ContractError

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShadowStanding:
    """The progress of a report in shadow: ``equal`` days in a row up to the newest one that could
    be compared, of ``wanted``."""

    equal: int
    wanted: int
    days: tuple[ShadowDay, ...]

    @property
    def enough(self) -> bool:
        return self.equal >= self.wanted

    @property
    def text(self) -> str:
        """It in a sentence."""
        if self.enough:
            return (
                f"equal on {self.equal} days in a row, {self.wanted} are enough: with shadow=None "
                "readers get it"
            )
        newest = f"; {self.days[-1].day} is {self.days[-1].verdict}" if self.days else ""
        return f"equal on {self.equal} of {self.wanted} days in a row{newest}"


def keep_shadow_day(store: Store, record: ShadowDay) -> None:
    """Write a day down in the place of what was said of it before."""
    key, data = shadow_key(record.report, record.day), encode(record)
    backoff = Backoff(key)
    while not store.put_if_absent(key, data):
        found = store.find(key)
        if found is not None and store.put_if_match(key, data, found.tag):
            return
        backoff.wait()


def read_shadow_days(store: StoreReader, report: str, newest: int) -> tuple[ShadowDay, ...]:
    """The newest days, oldest first. One that cannot be read is passed over with a warning: it
    counts as not compared."""
    keys = sorted(file.key for file in store.list(shadow_folder(report)))[-newest:]
    return tuple(day for key in keys if (day := _read(store, key)) is not None)


def _read(store: StoreReader, key: str) -> ShadowDay | None:
    try:
        return decode(ShadowDay, store.get(key), key)
    except (ContractError, MissingKeyError) as error:
        _LOG.warning("passed over: %s", error.message)
        return None


def shadow_standing(store: StoreReader, report: str, shadow: Shadow) -> ShadowStanding:
    """Return how far a report is. Days that could not be compared neither count nor begin anew."""
    days = read_shadow_days(store, report, 2 * shadow.days)
    return ShadowStanding(_equal_in_a_row(days), shadow.days, days)


def _equal_in_a_row(days: Sequence[ShadowDay]) -> int:
    equal = 0
    for day in reversed(days):
        if day.verdict == "different":
            break
        equal += day.verdict == "equal"
    return equal
