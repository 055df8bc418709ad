"""Names, keys and bucket counts of what is kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from planner.algebra.describe import Words, column_list
from planner.algebra.fingerprint import fingerprint
from planner.algebra.relational import Relation, sources
from planner.algebra.types import BIGINT, Column
from planner.contract.plan_v1 import WEIGHT_COLUMN, ColumnSpec, Family
from planner.memo.memo import GroupId, View
from planner.memo.tree import original
from planner.request import Observed, PlanRequest
from planner.temporal.figures import Figures
from planner.temporal.space import Slot, Space
from planner.temporal.tables import Kept

_BUCKET_BYTES = 24 << 20
_MOST_BUCKETS = 1024
_FORMAT = "families-2"
_STATES = (View.STATES, View.LOSSES)


class Families:
    """Families of one plan, by what they hold and the run in which they start. ``lent_chains``:
    what other reports keep as of the last committed run, by the chain that it stands for.

    A family that a committed run wrote is taken as it is stored: its bucket count and the names of
    its columns are frozen for the day, whatever would be chosen today. One that a committed run
    left out has a gap and is not gone on with; if the same rows are kept again, it is another
    family, since it starts in another run.
    """

    def __init__(self, space: Space, figures: Figures, request: PlanRequest, words: Words) -> None:
        self._space = space
        self._figures = figures
        self._request = request
        self._words = words
        self._relations: dict[GroupId, Relation] = {}
        self._texts: dict[int, str] = {}
        self._digests: dict[tuple[Kept, int], str] = {}
        self._stored = dict(_unbroken(request))
        self._starts = {
            kept: start
            for kept in all_chains(space)
            for start in (run.index for run in request.committed)
            if self.fingerprint(kept, start) in self._stored
        }

        self.lent_chains: dict[Kept, Family] = {}

    @property
    def committed(self) -> frozenset[Kept]:
        """What the committed runs hold, without a gap."""
        return frozenset(self._starts)

    @cached_property
    def twins(self) -> dict[Kept, Kept]:
        """Chains that hold the same rows by the same key as one that is made before them."""
        first: dict[str, Kept] = {}
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
        """The families of which a size is known, whatever their key and the run they start in."""
        known = {one.fingerprint: one for one in self._request.observed}
        if known:
            for kept in all_chains(self._space):
                for start in range(1, len(self._request.points) + 1):
                    found = known.get(self.fingerprint(kept, start))
                    if found is not None:
                        yield self.slot(kept), found

    def committed_start(self, kept: Kept) -> int | None:
        """The run in which a chain starts that is there already."""
        return self._starts.get(kept)

    def slot(self, kept: Kept) -> Slot:
        return self._space.slots[kept[0]]

    def fingerprint(self, kept: Kept, start: int) -> str:
        """Expression, key, view, first run, format, and what Spark's answer depends on."""
        if (kept, start) not in self._digests:
            slot = self.slot(kept)
            columns = [column.id for column in self.columns(slot)]
            places = tuple(columns.index(id_) for id_ in kept[1])
            self._digests[kept, start] = self.digest(slot, places, start)
        return self._digests[kept, start]

    def digest(self, slot: Slot, places: tuple[int, ...], start: int) -> str:
        """The fingerprint of a slot that is kept by the columns at these places."""
        session = [f"{name}={value}" for name, value in self._request.settings.session]
        extra = (_FORMAT, slot.view.value, f"{list(places)}", f"{start}", *session)
        return fingerprint(self.relation(slot), *extra, known=self._texts)

    def relation(self, slot: Slot) -> Relation:
        """The rows of the slot's TVR, as the query says them."""
        return original(self._space.memo, slot.tvr.new, self._relations)

    def columns(self, slot: Slot) -> tuple[Column, ...]:
        """What is kept, the weight last where there is one."""
        return self._space.memo.group(slot.snapshot).columns

    def family(self, kept: Kept, start: int) -> Family:
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

    def lent(self, view: str) -> Family:
        """A family that another report keeps, by its name in this plan."""
        return next(one.view for one in self._request.shared if one.view.id == view)

    def _title(self, slot: Slot, key: tuple[Column, ...]) -> str:
        """What is kept, for people; not an identity."""
        what = self._words.of(self.relation(slot))
        if slot.view in _STATES:
            return f"states of {what}"
        return f"{what} by {column_list(key)}" if key else what

    def _buckets(self, slot: Slot) -> int:
        """A power of two from the forecast of the whole day, at least 4."""
        if self._request.settings.buckets:
            return self._request.settings.buckets
        size = self._figures.snapshot(slot.snapshot, len(self._request.points))
        wanted = max(4.0, size.bytes / _BUCKET_BYTES)
        return int(min(_MOST_BUCKETS, 2 ** math.ceil(math.log2(wanted))))


def all_chains(space: Space) -> Iterator[Kept]:
    """Whatever may be kept, by every key."""
    for slot in space.slots:
        for key in space.keys[slot.index]:
            yield slot.index, key


def _unbroken(request: PlanRequest) -> Iterator[tuple[str, Family]]:
    """Families that the last committed run holds, and every one since they started."""
    chain = [{f.fingerprint: f for f in run.families} for run in request.committed]
    for digest, family in (chain[-1] if chain else {}).items():
        held = [digest in families for families in chain]
        if all(held[held.index(True) :]):
            yield digest, family
