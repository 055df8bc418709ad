"""Free views: what other reports keep over the same data, as expressions of the memo.

A report is another one's help where both read the same sources: a shuffle, or partial sums, that
one has kept is a materialized view of the other (Tempura 7). It is one only of exactly the same
relation (equal fingerprints, whatever the run in which the chain started) over exactly the same
files (the caller's business), so it holds the rows of a group of the memo as of one instant. There
it is one more expression of that group, without inputs, and the search does the rest. As of the
last committed run it can be read like a chain of one's own that is committed, with what came since;
but no partition is ever added to it, since it is another report's to write.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.contract.plan_v1 import WEIGHT_COLUMN, Family
from planner.materialize.families import Families
from planner.memo.memo import Memo
from planner.memo.reference import Shared
from planner.request import SharedFamily
from planner.temporal.space import Slot, Space

ORIGIN = "shared-view"
"""Stands where the name of a rule does: batch has no such expression."""


def add_shared(
    memo: Memo,
    space: Space,
    families: Families,
    offers: tuple[SharedFamily, ...],
    base: int,
) -> None:
    """Add every offer that holds the rows of a slot. ``base``: the last committed run of this day;
    an offer as of it is a chain, too, to which this run's delta can be added in place."""
    for slot, offer, places in list(_matches(space, families, offers)):
        columns = families.columns(slot)
        key = tuple(columns[place].id for place in places)
        leaf = Shared(offer.view.id, columns, offer.run, key)
        memo.equate(slot.snapshot, leaf, ORIGIN, part=True)
        if slot.weighted:
            plain = Shared(offer.view.id, columns, offer.run, (), plain=True)
            memo.equate(slot.whole, plain, ORIGIN, part=True)
        kept = (slot.index, key)
        if offer.run == base and key in space.keys[slot.index] and kept not in families.committed:
            families.lent_chains[kept] = offer.view


def _matches(
    space: Space, families: Families, offers: tuple[SharedFamily, ...]
) -> Iterator[tuple[Slot, SharedFamily, tuple[int, ...]]]:
    for offer in offers:
        names = [column.name for column in offer.family.columns]
        places = tuple(names.index(name) for name in offer.family.key)
        for slot in space.slots:
            if _shape(slot, families) == _stored_shape(offer.family) and any(
                families.digest(slot, places, start) == offer.family.fingerprint
                for start in range(1, offer.origin.run + 1)
            ):
                yield slot, offer, places


def _shape(slot: Slot, families: Families) -> tuple[str, ...]:
    """Quick to compare, before anything is hashed."""
    return (str(slot.weighted), *(column.type.sql for column in families.columns(slot)))


def _stored_shape(family: Family) -> tuple[str, ...]:
    signed = family.signed and family.columns[-1].name == WEIGHT_COLUMN
    return (str(signed), *(column.type for column in family.columns))
