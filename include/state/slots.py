"""The slots of a cluster as values: who holds cores, who wants some, and whose turn it is.

All instants are by the store's own clock, in seconds since the epoch, but for the latest start of a
run, which is only compared with that of others and with the same clock. So it does not matter what
the clocks of the machines say.

What an owner's early runs take of its budget is kept beside the leases, in the same record: a lease
that ends leaves what it took there by the put that ends it, so nothing is counted twice or lost
between two records. It is cores times hours times the price when the run began, all of it on the
day of the cluster's clock on which it began.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from forerun.include.reports.cluster import Cluster
from forerun.planner.contract.plan_v1 import later

_TIMES = 2.0
"""Who is the least lax lets a run of higher priority go first if that one may take so many times
what is forecast."""
_DAYS_KEPT = 2
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRequest:
    """A run that wants ``cores``. ``token`` is of one try of one task and names it in the store.

    ``latest_start``: until when the final run of its day has to begin, as it was forecast when the
    request was made; None for a day that nobody waits for any more. ``seconds``: forecast of what
    is left to compute of the day. ``lease_s``: how long its lease is, as the cluster was when it
    asked: a cluster that is declared anew changes no lease that is held. ``run_s``: forecast of
    what this run takes by itself, 0 where nothing tells.
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
    run_s: float = later(0.0)

    @property
    def patience_s(self) -> float:
        """Whoever holds the cores and could not renew them for so many seconds has to stop."""
        return self.lease_s * 2 / 3

    @property
    def name(self) -> str:
        """The run, for people."""
        return f"{self.report} {self.day} run {self.run}"

    def is_urgent(self, now: float) -> bool:
        """Return whether it is a final run that has reached its latest safe start."""
        return self.final and self.latest_start is not None and now >= self.latest_start

    def laxity(self, now: float) -> float:
        """Return the seconds that the run can still wait, ``inf`` without a deadline (equation 9 of
        "Scheduling of Intermittent Query Processing")."""
        return math.inf if self.latest_start is None else self.latest_start - now


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Cores that are held until the instant ``until``, unless the holder renews it before.

    It holds the cores since the instant ``since`` at ``price``, and was forecast to take ``run_s``,
    0 where nothing told. Of an early run also whose budget pays for it: that of ``owner`` on
    ``day``; both are empty for any other.
    """

    token: str
    name: str
    cores: int
    until: float
    owner: str = later("")
    day: str = later("")
    since: float = later(0.0)
    price: float = later(1.0)
    run_s: float = later(0.0)

    @property
    def over(self) -> float:
        """When its run is forecast to be over."""
        return self.since + self.run_s

    def core_hours(self, seconds: float) -> float:
        """Return the core hours, times price, of holding the cores for so many seconds."""
        return self.cores * self.price * seconds / 3600

    def taken(self, now: float) -> float:
        """Return the core hours, times price, that it has taken by an instant: no more than up to
        its end, whatever its holder did."""
        return self.core_hours(max(0.0, min(now, self.until) - self.since))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The core hours times price that early runs of an ``owner`` took on a ``day``, by leases that
    have ended."""

    owner: str
    day: str
    core_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The leases of a cluster. Before ``opens_at`` nobody is given any: a damaged record was
    replaced by this one, and those who hold cores have until then to say so."""

    leases: tuple[Lease, ...] = ()
    opens_at: float = 0.0
    spent: tuple[Spent, ...] = later(())

    def held_by(self, token: str) -> Lease | None:
        return next((one for one in self.leases if one.token == token), None)

    def holds(self, token: str, now: float) -> bool:
        """Return whether somebody has a lease that has not expired."""
        return any(one.token == token for one in self.live(now))

    def live(self, now: float) -> tuple[Lease, ...]:
        """The leases that have not expired."""
        return tuple(one for one in self.leases if one.until > now)

    def busy(self, now: float) -> int:
        """Cores that are held."""
        return sum(one.cores for one in self.live(now))

    def busy_then(self, at: float, now: float) -> int:
        """Cores of those held ``now`` that will still be at an instant from then on: each until its
        run is forecast to be over, and at least until its lease is if nobody renews that."""
        held = self.live(now)
        return sum(one.cores for one in held if at == now or max(one.over, one.until) > at)

    def used(self, owner: str, day: str, now: float) -> float:
        """Return what early runs of an owner have taken of a day's budget; a run that still runs
        counts as much as it is forecast to take, at least."""
        ended = (one.core_hours for one in self.spent if (one.owner, one.day) == (owner, day))
        held = (
            max(one.taken(now), one.core_hours(one.run_s) if one.until > now else 0.0)
            for one in self.leases
            if (one.owner, one.day) == (owner, day)
        )
        return sum(ended) + sum(held)

    def without(self, ended: Iterable[Lease], now: float) -> Slots:
        """The record when some of its leases have ended by ``now``, with what they took."""
        gone = tuple(ended)
        found = {(one.owner, one.day): one.core_hours for one in self.spent}
        for one in gone:
            if one.owner:
                found[one.owner, one.day] = found.get((one.owner, one.day), 0.0) + one.taken(now)
        newest = sorted({day for _, day in found})[-_DAYS_KEPT:]
        return replace(
            self,
            leases=tuple(one for one in self.leases if one not in gone),
            spent=tuple(
                Spent(owner=owner, day=day, core_hours=hours)
                for (owner, day), hours in sorted(found.items())
                if day in newest
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The newest word on whether a cluster is stopped: by whom, at what time, and why."""

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
    """Return why a run may not begin now, as a sentence; empty if it may.

    Final runs that have reached their latest safe start go before all others, and neither a stop
    nor a blackout holds them. Else the least lax report is first. Whoever is first and finds too
    few cores free waits for them, and nobody overtakes. Cores have to be free for as long as the
    run is forecast to take: where the ceiling falls meanwhile, it has to fit under it. A report of
    an owner with a higher priority goes before the least lax one if that can wait for it.
    """
    if held := why_held(wanted, look):
        return held
    rivals = [one for one in look.waiting if one.token != wanted.token and not why_held(one, look)]
    first = _first([*rivals, wanted], look)
    if first.token != wanted.token:
        return f"{first.name} goes first, with {_lax(first, look.now)}"
    for at, ceiling in _ceilings(wanted, look):
        free = ceiling - look.slots.busy_then(at, look.now)
        if wanted.cores > free:
            when = "" if at == look.now else f" at {shown(at)}, when it would still run"
            holders = ", ".join(one.name for one in look.slots.live(look.now))
            needs = f"it needs {wanted.cores}; held by {holders}"
            return f"{max(free, 0):g} of the cores are free{when}, {needs}"
    return ""


def why_held(wanted: SlotRequest, look: Look) -> str:
    """Return why a run may not begin now, whoever else waits; empty if only others can keep it
    waiting."""
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
    for at, ceiling in _ceilings(wanted, look):
        if wanted.cores > ceiling:
            when = "in this hour" if at == look.now else f"from {shown(at)} on, before it is over"
            return f"it needs {wanted.cores} cores, the ceiling is {ceiling:g} {when}"
    return why_spent(wanted, look)


def _ceilings(wanted: SlotRequest, look: Look) -> list[tuple[float, float]]:
    """The ceiling now, and each that it falls to before a run is over that would begin now, with
    the instants from which on they hold. A run that nothing is known of is taken to be as long as a
    lease. Only the one of now for a run that is longer than the ceiling ever is high enough for it:
    else it would never begin.
    """
    seconds = wanted.run_s or wanted.lease_s
    whole = look.cluster.ceiling_between(look.now, look.now + _DAY_S + seconds)
    pieces = [piece for piece in whole.pieces if piece.start < look.now + seconds]
    falls = [pieces[0], *(b for a, b in pairwise(pieces) if b.value < a.value)]
    starts = (look.now, *whole.breakpoints(look.now, look.now + _DAY_S))
    if not any(whole.least(at, at + seconds) >= wanted.cores for at in starts):
        falls = falls[:1]
    return [(piece.start, piece.value) for piece in falls]


def why_spent(wanted: SlotRequest, look: Look) -> str:
    """Return why the budget of a run's owner has nothing left for it on this day; empty if it has,
    and for every final run."""
    budget = look.cluster.budget_of(wanted.owner)
    if wanted.final or budget is None:
        return ""
    day = look.cluster.day_at(look.now)
    used = look.slots.used(wanted.owner, day, look.now)
    needs = wanted.cores * look.cluster.price_at(look.now) * wanted.run_s / 3600
    if used < budget and used + needs <= budget:
        return ""
    return (
        f"early runs of {wanted.owner} have {budget:g} core hours times price on {day}: "
        f"{used:.2f} are used, it is forecast to take {needs:.2f}"
    )


def shown(instant: float) -> str:
    """An instant for people."""
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%d %H:%M:%S}Z"


def _first(waiting: Sequence[SlotRequest], look: Look) -> SlotRequest:
    now, priority = look.now, look.cluster.priority_of
    urgent = [one for one in waiting if one.is_urgent(now)]
    if urgent:
        return _least_lax(urgent, now)
    least = _least_lax(waiting, now)
    laxity = least.laxity(now)
    before = [
        one
        for one in waiting
        if priority(one.owner) > priority(least.owner)
        and one.latest_start is not None
        and 0 < _TIMES * one.run_s <= laxity
    ]
    highest = max((priority(one.owner) for one in before), default=None)
    return _least_lax([one for one in before if priority(one.owner) == highest] or [least], now)


def _least_lax(some: Sequence[SlotRequest], now: float) -> SlotRequest:
    return min(some, key=lambda one: (one.laxity(now), one.token))


def _lax(one: SlotRequest, now: float) -> str:
    left = one.laxity(now)
    return "no deadline" if left == math.inf else f"{left:,.0f} s to its latest start"
