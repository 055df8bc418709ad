"""Names, fingerprints, columns and bucket counts of the artifact families that a plan keeps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from planner.algebra.describe import Words, column_list
from planner.algebra.fingerprint import fingerprint
from planner.algebra.relational import Relation, sources
from planner.algebra.types import BIGINT, Column
from planner.contract.plan_v1 import WEIGHT_COLUMN, ColumnSpec, Family
from planner.cost.operators import bucket_count
from planner.memo.memo import GroupId, View
from planner.memo.tree import original
from planner.request import Observed, PlanRequest
from planner.temporal.group_sizes import GroupSizes
from planner.temporal.solution import ChainId
from planner.temporal.space import Slot, Space

_FORMAT = "families-2"
_STATES = (View.STATES, View.LOSSES)


class ArtifactFamilies:
    """The artifact families of one plan, by the chain that they hold and the run in which it
    starts.

    A family that a committed run wrote is taken as it is stored: its bucket count and column names
    are frozen for the day, whatever would be chosen today. A family that a committed run left out
    has a gap and is not extended; if the same rows are kept again, they form another family,
    because it starts in another run.

    ``borrowed_chains`` maps a chain to the family of another report that holds it as of the last
    committed run.
    """

    def __init__(
        self, space: Space, group_sizes: GroupSizes, request: PlanRequest, words: Words
    ) -> None:
        self._space = space
        self._group_sizes = group_sizes
        self._request = request
        self._words = words
        self._relations: dict[GroupId, Relation] = {}
        self._texts: dict[int, str] = {}
        self._digests: dict[tuple[ChainId, int], str] = {}
        self._stored = dict(_unbroken(request))
        self._starts = {
            kept: start
            for kept in all_chains(space)
            for start in (run.index for run in request.committed)
            if self.fingerprint(kept, start) in self._stored
        }

        self.borrowed_chains: dict[ChainId, Family] = {}

    @property
    def committed(self) -> frozenset[ChainId]:
        """The chains that the committed runs hold without a gap."""
        return frozenset(self._starts)

    @cached_property
    def twins(self) -> dict[ChainId, ChainId]:
        """Maps each chain to the first chain, in the order of the space, that holds the same rows
        by the same key. Chains that have no earlier twin are left out."""
        first: dict[str, ChainId] = {}
        twins = {}
        by_place = sorted(
            all_chains(self._space), key=lambda kept: (self._space.place_of(self.slot(kept)), kept)
        )
        for kept in by_place:
            other = first.setdefault(self.fingerprint(kept, 0), kept)
            if other != kept:
                twins[kept] = other
        return twins

    def observed(self) -> Iterator[tuple[Slot, Observed]]:
        """Yield the slots whose rows were counted, with the counts, for any key and starting
        run."""
        known = {one.fingerprint: one for one in self._request.observed}
        if known:
            for kept in all_chains(self._space):
                for start in range(1, len(self._request.points) + 1):
                    found = known.get(self.fingerprint(kept, start))
                    if found is not None:
                        yield self.slot(kept), found

    def committed_start(self, kept: ChainId) -> int | None:
        """Return the run in which a committed chain starts; None if the chain is not committed."""
        return self._starts.get(kept)

    def slot(self, kept: ChainId) -> Slot:
        """Return the slot of a chain."""
        return self._space.slots[kept[0]]

    def fingerprint(self, kept: ChainId, start: int) -> str:
        """Return the fingerprint of a chain that starts in run ``start``. It covers the query
        expression, the key, the view, the starting run, the format, and the session settings that
        change what Spark answers."""
        if (kept, start) not in self._digests:
            slot = self.slot(kept)
            columns = [column.id for column in self.columns(slot)]
            places = tuple(columns.index(id_) for id_ in kept[1])
            self._digests[kept, start] = self.digest(slot, places, start)
        return self._digests[kept, start]

    def digest(self, slot: Slot, places: tuple[int, ...], start: int) -> str:
        """Return the fingerprint of a slot whose key is the columns at these positions."""
        session = [f"{name}={value}" for name, value in self._request.settings.session]
        extra = (_FORMAT, slot.view.value, f"{list(places)}", f"{start}", *session)
        return fingerprint(self.relation(slot), *extra, known=self._texts)

    def relation(self, slot: Slot) -> Relation:
        """Return the expression of the slot's TVR as the query wrote it."""
        return original(self._space.memo, slot.tvr.new, self._relations)

    def columns(self, slot: Slot) -> tuple[Column, ...]:
        """Return the columns that are stored; the weight, if there is one, is the last."""
        return self._space.memo.group(slot.snapshot).columns

    def family(self, kept: ChainId, start: int) -> Family:
        """Return the family of a chain that starts in run ``start``: the stored one if committed
        runs hold it, else a new one."""
        digest = self.fingerprint(kept, start)
        if digest in self._stored:
            return self._stored[digest]
        slot = self.slot(kept)
        columns = self.columns(slot)
        data = columns[:-1] if slot.weighted else columns
        specs = [
            ColumnSpec(name=f"{column.name}_{position}", type=column.type.sql)
            for position, column in enumerate(data)
        ]
        names = {column.id: spec.name for column, spec in zip(data, specs, strict=True)}
        if slot.weighted:
            specs.append(ColumnSpec(name=WEIGHT_COLUMN, type=BIGINT.sql, nullable=False))
        return Family(
            id=f"f_{digest[:12]}",
            kind="shuffle" if kept[1] and slot.view not in _STATES else "state",
            fingerprint=digest,
            title=self._title(slot, tuple(c for id_ in kept[1] for c in data if c.id == id_)),
            columns=tuple(specs),
            key=tuple(names[id_] for id_ in kept[1]),
            buckets=self._buckets(slot) if kept[1] else 0,
            signed=slot.weighted,
            sources=tuple(sorted(sources(self.relation(slot)))),
        )

    def borrowed_family(self, view: str) -> Family:
        """Return a family that another report keeps, by its id in this plan."""
        for one in self._request.borrowed:
            if one.view.id == view:
                return one.view
        raise LookupError(f"no other report was found to keep {view}")

    def _title(self, slot: Slot, key: tuple[Column, ...]) -> str:
        """Describe for people what is kept. Titles are not unique."""
        what = self._words.of(self.relation(slot))
        if slot.view in _STATES:
            return f"states of {what}"
        return f"{what} by {column_list(key)}" if key else what

    def _buckets(self, slot: Slot) -> int:
        """Return the fixed bucket count of the settings, or else that of the estimated size of the
        snapshot at the end of the day."""
        size = self._group_sizes.snapshot(slot.snapshot, len(self._request.points))
        return self._request.settings.buckets or bucket_count(size)


def all_chains(space: Space) -> Iterator[ChainId]:
    """Yield every chain that may be kept: each slot by each of its keys."""
    for slot in space.slots:
        for key in space.keys[slot.index]:
            yield slot.index, key


def _unbroken(request: PlanRequest) -> Iterator[tuple[str, Family]]:
    """Yield, by fingerprint, the families of the last committed run that no run has left out since
    they started."""
    chain = [{f.fingerprint: f for f in run.families} for run in request.committed]
    for digest, family in (chain[-1] if chain else {}).items():
        held = [digest in families for families in chain]
        if all(held[held.index(True) :]):
            yield digest, family
