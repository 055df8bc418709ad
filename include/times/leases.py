"""Hands out the cores of a cluster to runs, as leases in the store.

One record names the leases, and it moves by conditional puts only: two that want the last cores put
one after the other, and the second looks again. A lease ends when it is released, or when its
holder has not renewed it for the length of a lease, by the store's own clock. A holder that could
not renew for two thirds of that, by its own clock, ends its run (``patience_s`` of its request), so
its cores are idle before anybody else is given them. Whatever goes wrong here costs cores or time,
and never rows: what counts is decided by commits alone.

Who wants cores has a file of its own, which it puts again at each look. So a listing says what time
it is in the store, and who has given up: a file that is older than half a lease is passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from forerun.include.reports.cluster import Cluster
from forerun.include.state.layout import ClusterKeys
from forerun.include.state.records import decode, encode
from forerun.include.state.slots import Lease, Look, SlotRequest, Slots, Stop, why_not, why_spent
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoredFile, StoreError
from forerun.planner.contract.seal import unseal
from forerun.planner.errors import ContractError, ForerunError

_LOG = logging.getLogger(__name__)
_FORGOTTEN = 20
"""A request that nobody has put for so many leases is deleted."""
Change = Callable[[Slots], Slots | None]


class BudgetSpentError(ForerunError):
    """An early run whose owner's budget has nothing left for it: a later run does its work."""

    code = "budget-spent"


@dataclass(frozen=True, slots=True)
class Leases:
    """The cores of a cluster in a store. ``declared``: the cluster as its author has written it,
    which holds where the store's record of it cannot be read."""

    store: Store
    declared: Cluster

    @property
    def keys(self) -> ClusterKeys:
        return ClusterKeys(self.declared.name)

    def cluster(self) -> Cluster:
        """The cluster as it was declared last."""
        return read_cluster(self.store, self.declared.name, self.declared)

    def look(self, wanted: SlotRequest) -> tuple[Look, str]:
        """The cluster as it is now, and why the run may not begin; looking shows that it waits.

        Raises :class:`BudgetSpentError`, as :meth:`take` does.
        """
        at, requests = self._show(wanted)
        look = self._look(at, requests, self._read(at)[0])
        return look, "" if look.slots.holds(wanted.token, at) else _refused(wanted, look)

    def take(self, wanted: SlotRequest) -> str:
        """Take the cores that a run wants; empty if it has them now, else why not.

        Raises :class:`ContractError` where a newer version of Forerun wrote the leases, and
        :class:`BudgetSpentError` for an early run that the budget of its owner does not cover.
        """
        while True:
            at, requests = self._show(wanted)
            refused = self._taken(wanted, at, requests)
            if refused or self._is_in_time(wanted, at):
                return refused

    def renew(self, held: SlotRequest) -> bool:
        """Say that the run is still there. False if its lease has gone to somebody else."""
        while True:
            at, _ = self._show(held)
            kept = self._renewed(held, at)
            if not kept or self._is_in_time(held, at):
                return kept

    def release(self, held: SlotRequest) -> None:
        """Give the cores back, and forget the request."""

        def without(slots: Slots) -> Slots | None:
            lease = slots.held_by(held.token)
            return slots.without([lease], at) if lease else None

        at, _ = self._show(held)
        self._move(at, without)
        self.store.delete(self.keys.request(held.token))

    def forget(self, waits: SlotRequest) -> None:
        """Wait no longer for cores that were never given."""
        self.store.delete(self.keys.request(waits.token))

    def overview(self, now: float) -> Look:
        """The cluster for people, at an instant by the store's clock."""
        return self._look(now, self.store.list(self.keys.wanted), self._read(now)[0])

    def _taken(self, wanted: SlotRequest, at: float, requests: tuple[StoredFile, ...]) -> str:
        refused = ""

        def taken(slots: Slots) -> Slots | None:
            nonlocal refused
            refused = ""
            if not slots.holds(wanted.token, at):
                refused = _refused(wanted, self._look(at, requests, slots))
            return None if refused else self._with(slots, wanted, at)

        self._move(at, taken)
        return refused

    def _renewed(self, held: SlotRequest, at: float) -> bool:
        lost = False

        def renewed(slots: Slots) -> Slots | None:
            nonlocal lost
            lost = slots.held_by(held.token) is None and slots.opens_at <= at
            return None if lost else self._with(slots, held, at)

        self._move(at, renewed)
        return not lost

    def _is_in_time(self, held: SlotRequest, at: float) -> bool:
        """Whether a lease that was dated by the instant of a look leaves its holder all its
        patience now that it is put. A process may stall between the two for as long as it likes:
        then its lease may be over before it is there, and somebody else's in its place."""
        return self._put(held) - at <= held.lease_s - held.patience_s

    # -- the store -------------------------------------------------------------------------------

    def _put(self, wanted: SlotRequest) -> float:
        """Put a request, again; return the store's time."""
        key = self.keys.request(wanted.token)
        self.store.put(key, encode(wanted))
        own = self.store.stat(key)
        if own is None:
            raise StoreError(f"{key} is gone right after it was put", hint="Run forerun doctor.")
        return own.modified

    def _show(self, wanted: SlotRequest) -> tuple[float, tuple[StoredFile, ...]]:
        """Put a request, again; return the store's time and all requests that lie there. Those of
        the dead are deleted here: who only looks at a cluster changes nothing."""
        at = self._put(wanted)
        listed = self.store.list(self.keys.wanted)
        for file in listed:
            if file.modified < at - _FORGOTTEN * wanted.lease_s:
                self.store.delete(file.key)
        return at, listed

    def _look(self, now: float, requests: tuple[StoredFile, ...], slots: Slots) -> Look:
        cluster = self.cluster()
        found = ((file, self._request(file.key)) for file in requests)
        return Look(
            now=now,
            cluster=cluster,
            stop=read_stop(self.store, cluster.name),
            slots=slots,
            waiting=tuple(
                one
                for file, one in found
                if one
                and now - file.modified <= one.lease_s / 2
                and not slots.holds(one.token, now)
            ),
        )

    def _request(self, key: str) -> SlotRequest | None:
        """A request; None for one that is gone meanwhile, or that cannot be read: its run puts it
        again."""
        found = self.store.find(key)
        try:
            return decode(SlotRequest, found.data, key) if found else None
        except ContractError as error:
            _LOG.warning("passed over: %s", error.message)
            return None

    def _read(self, now: float) -> tuple[Slots, str, bool]:
        """The leases, their tag, and whether they are damaged. In place of a damaged record stands
        one that opens when every holder has had the time to say what it holds."""
        found = self.store.find(self.keys.slots)
        if found is None:
            return Slots(), "", False
        try:
            return decode(Slots, found.data, self.keys.slots), found.tag, False
        except ContractError as error:
            if _is_whole(found.data):
                raise ContractError(
                    error.message,
                    hint="A newer Forerun hands out the cores of this cluster: update this one.",
                ) from None
            _LOG.warning("the leases of cluster %s start anew: %s", self.declared.name, error)
            return Slots(opens_at=now + self.cluster().lease_s), found.tag, True

    def _move(self, now: float, change: Change) -> None:
        """Change the record of leases, until a put wins or there is nothing to change."""
        backoff = Backoff(self.keys.slots)
        while True:
            slots, tag, damaged = self._read(now)
            changed = change(slots)
            if changed is None and not damaged:
                return
            data = encode(changed or slots)
            if not tag:
                won = self.store.put_if_absent(self.keys.slots, data)
            else:
                won = self.store.put_if_match(self.keys.slots, data, tag)
            if won:
                return
            backoff.wait()

    def _with(self, slots: Slots, held: SlotRequest, at: float) -> Slots:
        """The leases with that of a holder until a lease from now; what has expired has ended."""
        left = slots.without((one for one in slots.leases if one.until <= at), at)
        own, until = left.held_by(held.token), at + held.lease_s
        lease = replace(own, until=until) if own else self._new(held, at, until)
        others = (one for one in left.leases if one.token != held.token)
        return replace(left, leases=(*others, lease))

    def _new(self, held: SlotRequest, at: float, until: float) -> Lease:
        cluster = self.cluster()
        lease = Lease(
            token=held.token,
            name=held.name,
            cores=held.cores,
            until=until,
            since=at,
            price=cluster.price_at(at),
            run_s=held.run_s,
        )
        if held.final or cluster.budget_of(held.owner) is None:
            return lease
        return replace(lease, owner=held.owner, day=cluster.day_at(at))


def declare(store: Store, cluster: Cluster) -> bool:
    """Keep a cluster as it is written now. False if it was kept so already."""
    key, data = ClusterKeys(cluster.name).declared, encode(cluster)
    found = store.find(key)
    if found is not None and found.data == data:
        return False
    if found is None:
        return store.put_if_absent(key, data)
    return store.put_if_match(key, data, found.tag)


def read_cluster(store: Store, name: str, otherwise: Cluster | None = None) -> Cluster:
    """The cluster of a name as it was declared last. Where that is missing or cannot be read,
    ``otherwise``; without one that is an error."""
    key = ClusterKeys(name).declared
    found = store.find(key)
    try:
        if found is not None:
            return decode(Cluster, found.data, key)
    except ContractError as error:
        if otherwise is None:
            raise
        _LOG.warning("the cluster is as its author has written it: %s", error.message)
    if otherwise is None:
        raise StoreError(
            f"no DAG of this store has named a cluster {name}",
            hint="It is known once a report with cluster= has opened a day.",
        )
    return otherwise


def read_stop(store: Store, name: str) -> Stop | None:
    """What was said last about stopping a cluster. What cannot be read stops nothing."""
    key = ClusterKeys(name).stop
    found = store.find(key)
    try:
        return decode(Stop, found.data, key) if found else None
    except ContractError as error:
        _LOG.warning("taken for no stop: %s", error.message)
        return None


def say_stop(store: Store, name: str, said: Stop) -> None:
    """Stop a cluster, or let it go on; what is said last holds."""
    key, data = ClusterKeys(name).stop, encode(said)
    backoff = Backoff(key)
    while True:
        found = store.find(key)
        if found is None:
            won = store.put_if_absent(key, data)
        else:
            won = store.put_if_match(key, data, found.tag)
        if won:
            return
        backoff.wait()


def _refused(wanted: SlotRequest, look: Look) -> str:
    if spent := why_spent(wanted, look):
        raise BudgetSpentError(spent, hint="A later run does its work; the cluster has the budget.")
    return why_not(wanted, look)


def _is_whole(data: bytes) -> bool:
    """Return whether bytes are a sealed document, whatever it says."""
    try:
        return unseal(data, "the leases")[1]
    except ContractError:
        return False
