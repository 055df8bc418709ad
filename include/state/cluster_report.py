"""The record of a report that names a cluster: when its runs want cores, as it was decided last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from forerun.planner.contract.plan_v1 import later

_DAYS_KEPT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRun:
    """Run ``run`` of a day starts at the instant ``at``, in seconds of the UNIX epoch, and is
    forecast to take ``seconds``."""

    run: int
    at: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DayForecast:
    """What is known of a day whose times are chosen, for who decides about the whole night.

    All instants are seconds of the UNIX epoch, parts are those of the day's work. ``arrived``:
    which part has come, over instants; the day is complete at the last of them. Of this ``done`` is
    committed, in so many ``batches``. ``seconds``: what a run takes over its part; ``merging``:
    what a final run takes beyond that, over the number of batches that it merges. The final run is
    not before ``ready`` and has to be over ``due``, where possible with ``reserve`` seconds left.
    ``slots``: the early runs that are to come at most, each with its own time.
    """

    arrived: tuple[tuple[float, float], ...]
    done: float
    batches: int
    seconds: tuple[tuple[float, float], ...]
    merging: tuple[tuple[float, float], ...]
    ready: float
    due: float
    reserve: float
    slots: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDay:
    """The runs of a generation of a day. ``latest_start``: until when its final run has to begin,
    in seconds of the UNIX epoch, as it was forecast when the day was decided about last.
    ``forecast``: of a day whose times are chosen, what they are decided by; None for one that runs
    at its own times."""

    day: str
    generation: str
    latest_start: float
    runs: tuple[WantedRun, ...]
    forecast: DayForecast | None = later(None)  # noqa: RUF009 - a field, as above


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
