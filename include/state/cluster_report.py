"""The record of a report that names a cluster: when its runs want cores, as it was decided last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

_DAYS_KEPT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRun:
    """Run ``run`` of a day starts at the instant ``at``, in seconds of the UNIX epoch, and is
    forecast to take ``seconds``."""

    run: int
    at: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDay:
    """The runs of a generation of a day. ``latest_start``: until when its final run has to begin,
    in seconds of the UNIX epoch, as it was forecast when the day was decided about last."""

    day: str
    generation: str
    latest_start: float
    runs: tuple[WantedRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """A report that names a cluster, as it was when its newest day was opened.

    ``application`` is what its runs are part of: its report group, else itself. Each run has
    ``cores``. ``days`` are its newest ones, the newest last.
    """

    report: str
    owner: str
    application: str
    cores: int
    days: tuple[WantedDay, ...]

    @property
    def newest(self) -> str:
        """Its newest day, empty for none."""
        return self.days[-1].day if self.days else ""

    def with_days(self, days: Iterable[WantedDay]) -> ClusterReport:
        """The record with some days in place of those of the same name, and no old ones."""
        by_name = {one.day: one for one in (*self.days, *days)}
        newest = sorted(by_name)[-_DAYS_KEPT:]
        return replace(self, days=tuple(by_name[name] for name in newest))
