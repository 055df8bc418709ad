"""Names, fingerprints, columns and bucket counts of the artifact families that a plan keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from forerun.planner.algebra.describe import Words, column_list
from forerun.planner.algebra.fingerprint import fingerprint
from forerun.planner.algebra.relational import Relation, Window, sources, walk
from forerun.planner.algebra.types import BIGINT, Column
from forerun.planner.contract.plan_v1 import PANE_COLUMN, WEIGHT_COLUMN, ColumnSpec, Family
from forerun.planner.cost.operators import bucket_count
from forerun.planner.memo.groups import GroupId, View
from forerun.planner.memo.tree import original
from forerun.planner.request import Committed, Observed, PlanRequest
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.solution import ChainId
from forerun.planner.temporal.space import Slot, Space

_FORMAT = "families-2"
_STATES = (View.STATES, View.LOSSES, View.CONTENDERS)


class ArtifactFamilies:
    """The artifact families of one plan, by the chain that they hold and the run in which it
    starts.

    A family that a committed run wrote is taken as it is stored: its bucket count and column names
    are frozen for the day, whatever would be chosen today. A family that a committed run left out,
    although something had come for it, has a gap and is not extended; if the same rows are kept
    again, they form another family, because it starts in another run. One whose columns are others
    than would be kept now is of another form, and is not read: sources that take rows back need
    more of their states.

    An engine without buckets reads what was kept by a key on an engine that has them as rows
    without a distribution, in the last run of a day: what it keeps has no buckets either, so
    nothing may come after it in the same family.

    ``read_only`` maps a chain of weighted rows to the family in which the committed runs of this
    report hold it as plain rows: it can be read as of the last committed run, and is never appended
    to. Such a source only grew when they ran, and
    takes rows back by now, as in a repair of corrected files. A plain row counts once, so each is
    read with the weight 1, and the delta since, whose rows have weights, is added to them.
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
        growing = frozenset(one.name for one in request.sources if one.changing)
        self._stored = {one.fingerprint: one for one in unbroken(request.committed, growing)}
        self._committed = dict(self._found())
        self.read_only: dict[ChainId, Family] = dict(self._plain())

    @property
    def committed(self) -> frozenset[ChainId]:
        """The chains that the committed runs hold without a gap."""
        return frozenset(self._committed)

    def _plain(self) -> Iterator[tuple[ChainId, Family]]:
        keys = self._space.keys
        for slot in (one for one in self._space.slots if one.weighted):
            data = self.columns(slot)[:-1]
            for family in self._stored.values():
                if family.signed or [c.type for c in family.columns] != [c.type.sql for c in data]:
                    continue
                places = key_places(family)
                key = tuple(data[place].id for place in places)
                kept = slot.index, key if self._request.settings.prices.buckets else ()
                if kept[1] in keys[slot.index] and any(
                    self.digest(slot, places, number, View.ROWS) == family.fingerprint
                    for run in self._request.committed
                    for number in run.starts or (self._request.counted(run.index),)
                ):
                    yield kept, family

    def _found(self) -> Iterator[tuple[ChainId, tuple[int, Family]]]:
        """Yield the chains that stored families hold, with the runs in which they start."""
        request, stored = self._request, self._stored
        starts = [
            (number, run.index)
            for run in request.committed
            for number in run.starts or (request.counted(run.index),)
        ]
        last = request.current == len(request.points)
        if last and not request.settings.prices.buckets:
            for family in (one for one in stored.values() if one.key):
                for slot in self._space.slots:
                    if self.has_form(slot, family):
                        places = key_places(family)
                        for number, start in starts:
                            if self.digest(slot, places, number) == family.fingerprint:
                                yield (slot.index, ()), (start, family)
        for kept in all_chains(self._space):
            for number, start in starts:
                found = stored.get(self._counted_from(kept, number))
                if found is not None and self.has_form(self.slot(kept), found):
                    yield kept, (start, found)

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
        for kept, (_, family) in self._committed.items():
            if family.key and not kept[1] and family.fingerprint in known:
                yield self.slot(kept), known[family.fingerprint]
        if known:
            for kept in all_chains(self._space):
                for start in range(1, len(self._request.points) + 1):
                    found = known.get(self.fingerprint(kept, start))
                    if found is not None:
                        yield self.slot(kept), found

    def committed_start(self, kept: ChainId) -> int | None:
        """Return the run in which a committed chain starts; None if the chain is not committed."""
        found = self._committed.get(kept)
        return found[0] if found is not None else None

    def slot(self, kept: ChainId) -> Slot:
        """Return the slot of a chain."""
        return self._space.slots[kept[0]]

    def fingerprint(self, kept: ChainId, start: int) -> str:
        """Return the fingerprint of a chain that starts in run ``start``. It covers the query
        expression, the key, the view, the starting run, the format, and the session settings that
        change what Spark answers."""
        return self._counted_from(kept, self._request.counted(start) if start else 0)

    def _counted_from(self, kept: ChainId, start: int) -> str:
        """The fingerprint of a chain that starts in a run of that number."""
        if (kept, start) not in self._digests:
            slot = self.slot(kept)
            columns = [column.id for column in self.columns(slot)]
            places = tuple(columns.index(id_) for id_ in kept[1])
            self._digests[kept, start] = self.digest(slot, places, start)
        return self._digests[kept, start]

    def digest(
        self, slot: Slot, places: tuple[int, ...], start: int, view: View | None = None
    ) -> str:
        """Return the fingerprint of a slot whose key is the columns at these positions. ``view`` is
        the form that its rows are kept in, by default that of the slot."""
        session = [f"{name}={value}" for name, value in self._request.settings.session]
        extra = (_FORMAT, (view or slot.view).value, f"{list(places)}", f"{start}", *session)
        return fingerprint(self.relation(slot), *extra, known=self._texts)

    def relation(self, slot: Slot) -> Relation:
        """Return the expression of the slot's TVR as the query wrote it."""
        return original(self._space.memo, slot.tvr.new, self._relations)

    def has_form(self, slot: Slot, family: Family) -> bool:
        """Return whether a stored family has the columns that a slot's rows have: by their types,
        and whether the last one is a weight. Names are the family's own."""
        signed = family.signed and family.columns[-1].name == WEIGHT_COLUMN
        there = [column.type for column in family.columns]
        return signed == slot.weighted and there == [c.type.sql for c in self.columns(slot)]

    def columns(self, slot: Slot) -> tuple[Column, ...]:
        """Return the columns that are stored; the weight, if there is one, is the last."""
        return self._space.memo.group(slot.snapshot).columns

    def family(self, kept: ChainId, start: int) -> Family:
        """Return the family of a chain that starts in run ``start``: the stored one if committed
        runs hold it, else a new one."""
        if kept in self._committed and self._committed[kept][0] == start:
            return self._committed[kept][1]
        digest = self.fingerprint(kept, start)
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

    def title_of(self, group: GroupId, rows: Relation) -> str:
        """Describe for people the rows of a group, which are computed as these ``rows`` are."""
        known = self._space.memo.tvr_of(group)
        snapshot = None if known is None else original(self._space.memo, known.new, self._relations)
        return self._words.of(rows if snapshot is None else snapshot)

    def _title(self, slot: Slot, key: tuple[Column, ...]) -> str:
        """Describe for people what is kept. Titles are not unique."""
        relation = self.relation(slot)
        if slot.view is View.CONTENDERS:
            return self._title_of_first(relation)
        what = self._words.of(relation).replace(PANE_COLUMN, "day")  # of a range
        if slot.view in _STATES:
            return f"states of {what}"
        return f"{what} by {column_list(key)}" if key else what

    def _title_of_first(self, relation: Relation) -> str:
        """Describe the first rows of the partitions of the uppermost window of a relation."""
        window = next(node for node in walk(relation) if isinstance(node, Window))
        (_, call), *_ = window.calls
        by = f" by {column_list(call.partition)}" if call.partition else ""
        return f"first of {self._words.of(window.input)}{by}"

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


def key_places(family: Family) -> tuple[int, ...]:
    """Return the positions of a stored family's key among its columns."""
    names = [column.name for column in family.columns]
    return tuple(names.index(name) for name in family.key)


def unbroken(committed: Iterable[Committed], growing: frozenset[str]) -> tuple[Family, ...]:
    """Return the families that no committed run has left out since they started, but for runs in
    which nothing had come of the ``growing`` sources that they are made of."""
    kept: dict[str, Family] = {}
    started: set[str] = set()
    for run in committed:
        come = growing.difference(run.unchanged)
        held = {family.fingerprint: family for family in run.families}
        kept = {
            digest: family
            for digest, family in kept.items()
            if digest in held or (family.sources and come.isdisjoint(family.sources))
        }
        kept |= {digest: family for digest, family in held.items() if digest not in started}
        started |= held.keys()
    return tuple(kept.values())
