"""The slots of a cluster as values: who holds cores, who wants some, and whose turn it is.

All instants are by the store's own clock, in seconds since the epoch, but for the latest start of a
run, which is only compared with that of others and with the same clock. So it does not matter what
the clocks of the machines say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from include.reports.cluster import Cluster
from planner.schedule.strategies import ReadyBatch, pick


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRequest:
    """A run that wants ``cores``. ``token`` is of one try of one task and names it in the store.

    ``latest_start``: until when the final run of its day has to begin, as it was forecast when the
    request was made; None for a day that nobody waits for any more. ``seconds``: forecast of what
    is left to compute of the day. ``lease_s``: how long its lease is, as the cluster was when it
    asked: a cluster that is declared anew changes no lease that is held.
    """

    token: str
    report: str
    owner: str
    day: str
    run: int
    final: bool
    cores: int
    latest_start: float | None
    seconds: float
    lease_s: float

    @property
    def patience_s(self) -> float:
        """Whoever holds the cores and could not renew them for so many seconds has to stop."""
        return self.lease_s * 2 / 3

    @property
    def name(self) -> str:
        """The run, for people."""
        return f"{self.report} {self.day} run {self.run}"

    def is_urgent(self, now: float) -> bool:
        """Whether it is a final run that has reached its latest safe start."""
        return self.final and self.latest_start is not None and now >= self.latest_start

    @property
    def ready(self) -> ReadyBatch:
        """The request as the strategies see it."""
        latest = float("inf") if self.latest_start is None else self.latest_start
        return ReadyBatch(name=self.token, deadline=latest + self.seconds, remaining=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Cores that are held until the instant ``until``, unless the holder renews it before."""

    token: str
    name: str
    cores: int
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The leases of a cluster. Before ``opens_at`` nobody is given any: a damaged record was
    replaced by this one, and those who hold cores have until then to say so."""

    leases: tuple[Lease, ...] = ()
    opens_at: float = 0.0

    def held_by(self, token: str) -> Lease | None:
        return next((one for one in self.leases if one.token == token), None)

    def live(self, now: float) -> tuple[Lease, ...]:
        """The leases that have not expired."""
        return tuple(one for one in self.leases if one.until > now)

    def busy(self, now: float) -> int:
        """Cores that are held."""
        return sum(one.cores for one in self.live(now))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Whether a cluster is stopped, as it was said last: by whom, at what time, and why."""

    stopped: bool
    by: str
    at: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A cluster at the instant ``now``. ``waiting``: requests of those who still look, and hold
    nothing."""

    now: float
    cluster: Cluster
    stop: Stop | None
    slots: Slots
    waiting: tuple[SlotRequest, ...]


def why_not(wanted: SlotRequest, look: Look) -> str:
    """Why a run may not begin now, as a sentence; empty if it may.

    Final runs that have reached their latest safe start go before all others, and neither a stop
    nor a blackout holds them. Else the least lax report is first. Whoever is first and finds too
    few cores free waits for them, and nobody overtakes.
    """
    if held := why_held(wanted, look):
        return held
    rivals = [one for one in look.waiting if one.token != wanted.token and not why_held(one, look)]
    first = _first([*rivals, wanted], look.now)
    if first.token != wanted.token:
        return f"{first.name} goes first, with {_lax(first, look.now)}"
    free = look.cluster.ceiling_at(look.now) - look.slots.busy(look.now)
    if wanted.cores > free:
        holders = ", ".join(one.name for one in look.slots.live(look.now))
        return f"{max(free, 0):g} of the cores are free, it needs {wanted.cores}; held by {holders}"
    return ""


def why_held(wanted: SlotRequest, look: Look) -> str:
    """Why a run may not begin now, whoever else waits; empty if only others can keep it waiting."""
    if look.slots.opens_at > look.now:
        return (
            "the record of the slots was damaged: until "
            f"{shown(look.slots.opens_at)} those who hold cores say so again"
        )
    if not wanted.is_urgent(look.now):
        if look.stop is not None and look.stop.stopped:
            return f"{look.stop.by} has stopped the cluster at {look.stop.at}: {look.stop.why}"
        if (end := look.cluster.dark_until(look.now)) is not None:
            return f"blackout until {shown(end)}"
    ceiling = look.cluster.ceiling_at(look.now)
    if wanted.cores > ceiling:
        return f"it needs {wanted.cores} cores, the ceiling is {ceiling:g} in this hour"
    return ""


def shown(instant: float) -> str:
    """An instant for people."""
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%d %H:%M:%S}Z"


def _first(waiting: Sequence[SlotRequest], now: float) -> SlotRequest:
    urgent = [one for one in waiting if one.is_urgent(now)] or list(waiting)
    chosen = pick([one.ready for one in urgent], now)
    return next(one for one in urgent if one.token == chosen.name)


def _lax(one: SlotRequest, now: float) -> str:
    if one.latest_start is None:
        return "no deadline"
    return f"{one.latest_start - now:,.0f} s to its latest start"
