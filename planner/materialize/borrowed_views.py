"""Borrowed views: what other reports keep over the same data, added to the memo as expressions.

A shuffle or a partial aggregate that one report keeps is a materialized view for another report
that reads the same sources (Tempura 7). It is used only if it holds exactly the same relation
(equal fingerprints, whatever the run in which the chain started) over exactly the same files, which
the caller ensures. Then it holds the rows of a memo group as of one instant, and becomes one more
expression of that group, without inputs; the search does the rest. A view as of the last committed
run can also be read like a committed chain of this report, with this run's delta added, but no
partition is ever appended to it, because only its own report writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.contract.plan_v1 import Family
from forerun.planner.materialize.artifacts import ArtifactFamilies, key_places
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import BorrowedRows
from forerun.planner.request import BorrowedView
from forerun.planner.temporal.solution import ChainId
from forerun.planner.temporal.space import Slot, Space

ORIGIN = "borrowed-view"
"""The origin of these expressions, in place of a rule's name. Batch uses no expression that has an
origin."""


def add_borrowed_views(
    memo: Memo, space: Space, families: ArtifactFamilies, views: tuple[BorrowedView, ...]
) -> bool:
    """Add an expression to every group whose rows one of the views holds. Returns whether any was
    added: then groups may have been merged, and the space must be made anew from the memo."""
    found = list(_matches(space, families, views))
    for slot, view, places in found:
        columns = families.columns(slot)
        key = tuple(columns[place].id for place in places)
        leaf = BorrowedRows(view.view.id, columns, view.run, key)
        memo.equate(slot.snapshot, leaf, ORIGIN, part=True)
        if slot.weighted:
            plain = BorrowedRows(view.view.id, columns, view.run, (), plain=True)
            memo.equate(slot.whole, plain, ORIGIN, part=True)
    return bool(found)


def borrowed_chains(
    space: Space, families: ArtifactFamilies, views: tuple[BorrowedView, ...], base: int
) -> dict[ChainId, Family]:
    """Return the chains that a view as of ``base``, the last committed run of the day, can stand
    for: they are read like committed chains of this report, with this run's delta added."""
    found = {}
    for slot, view, places in _matches(space, families, views):
        kept = (slot.index, tuple(families.columns(slot)[place].id for place in places))
        known = kept[1] in space.keys[slot.index] and kept not in families.committed
        if view.run == base and known:
            found[kept] = view.view
    return found


def _matches(
    space: Space, families: ArtifactFamilies, views: tuple[BorrowedView, ...]
) -> Iterator[tuple[Slot, BorrowedView, tuple[int, ...]]]:
    """Yield each slot and view that hold the same rows, with the positions of the view's key
    columns."""
    for view in views:
        places = key_places(view.family)
        for slot in space.slots:  # the form first: it is cheaper to compare than a fingerprint
            if families.has_form(slot, view.family) and any(
                families.digest(slot, places, start) == view.family.fingerprint
                for start in range(1, view.origin.run + 1)
            ):
                yield slot, view, places
