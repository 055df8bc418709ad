"""Files that a table has compacted between two pins.

Whoever compacts writes the rows of some files into others, and leaves the table as it is. Within a
day the files that its first pin has found are read on. The first pin of the next day has those that
are there then, since a table does not keep the old ones for long, and so has a pin after they were
cleaned up. Whoever compares two pins is told here which files hold the same rows, so that none is
taken back and read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from forerun.include.sources.constants import Constants
from forerun.include.sources.files import SameRows, locate_file
from forerun.include.sources.tables.log import Change, Commit
from forerun.include.state.records import Compacted, Pin, PinnedFile


@dataclass(eq=False)
class _Group:
    """Files that are ``gone``, and those that are there for them. ``is_same``: they are known to
    hold the same rows."""

    partition: Constants
    gone: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)
    is_same: bool = True


def compactions(
    of_day: Sequence[Commit], later: Sequence[Commit], before: Pin
) -> tuple[SameRows, ...]:
    """Return which files were compacted of those that a pin reads, by key, each with the ones that
    hold their rows now. ``of_day``: the commits from the first pin of its day up to it, since that
    reads on what was compacted then; ``later``: those since.

    The first pin of a day has all files of the table that have a row which is read. So a file that
    was there by then, and that the pin does not have, has none.
    """
    groups, touched, marked = dict[str, _Group](), set[str](), set[Constants]()
    pinned, came = {locate_file(file.name).key for file in before.files}, set[str]()
    for number, commit in enumerate((*of_day, *later)):
        if number == len(of_day):
            touched -= pinned
            marked.clear()
        for change in commit.changes:
            if not change.moves_rows:
                continue
            # What has come until the pin, and was pinned, is a file as any other.
            is_pinned = number < len(of_day) and change.key in pinned - came
            if is_pinned and change.adds and not change.deletes and change.key not in touched:
                came.add(change.key)
                continue
            touched.add(change.key)
            marked |= {change.partition} if _marks(change) else set()
            _spoil(groups, change)
        for partition, (gone, come) in _compacted(commit).items():
            merged = _Group(partition, is_same=not any(map(set(partition).issuperset, marked)))
            for key in gone:
                known = groups.pop(key, None)
                if known is not None:
                    merged.gone |= known.gone
                    merged.there |= known.there
                    merged.is_same &= known.is_same
                else:
                    merged.gone.add(key)
                    merged.is_same &= key not in touched
            merged.there = (merged.there - gone) | come
            groups |= dict.fromkeys(merged.there, merged)
    each = dict.fromkeys(groups.values())
    return tuple(
        SameRows(frozenset(one.gone), frozenset(one.there))
        for one in each
        if one.is_same and one.gone != one.there
    )


def compacted_in(
    found: Sequence[SameRows], last: Pin | None, before: Pin | None, files: Sequence[PinnedFile]
) -> tuple[Compacted, ...]:
    """Return what was compacted up to a pin of these files, day by day: since the ``last`` pin,
    beside what that says, or since that of the day before, if any."""
    newest = last or before
    known = last.compacted if last else ()
    if newest is None or not found:
        return known
    then, now = _by_key(newest.files), _by_key(files)
    return known + tuple(
        Compacted(gone=gone, come=come)
        for one in found
        for gone, come in _each_day(
            [file for key in sorted(one.gone) for file in then.get(key, ())],
            [file for key in sorted(one.there) for file in now.get(key, ())],
            of_one_day=last is not None,
        )
    )


def unchanged_files(before: Pin, now: Pin) -> frozenset[str]:
    """Return the URIs of files that one of two pins has in place of those of the other one, with
    the same rows."""
    then, there = ({file.uri for file in pin.files} for pin in (before, now))
    return frozenset(
        uri
        for one in now.compacted
        if then.issuperset(one.gone) and there.issuperset(one.come)
        if there.isdisjoint(one.gone) and then.isdisjoint(one.come)
        for uri in (*one.gone, *one.come)
    )


def _each_day(
    gone: Iterable[PinnedFile], come: Iterable[PinnedFile], *, of_one_day: bool
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the URIs of the files of each day on which there are such as went and such as came; of
    rows whose day is not known only if both pins are ``of_one_day``, and so read the same days."""
    days = defaultdict[str, tuple[list[str], list[str]]](lambda: ([], []))
    for number, files in enumerate((gone, come)):
        for file in files:
            days[file.day][number].append(file.uri)
    for day, (went, came) in sorted(days.items()):
        if (day or of_one_day) and went and came:
            yield tuple(went), tuple(came)


def _by_key(files: Iterable[PinnedFile]) -> dict[str, list[PinnedFile]]:
    found = defaultdict[str, list[PinnedFile]](list)
    for file in files:
        found[locate_file(file.name).key].append(file)
    return found


def _spoil(groups: dict[str, _Group], change: Change) -> None:
    """A file that is there for others has other rows by now; or some file of a partition has, where
    a table deletes rows without naming the file."""
    if change.key in groups:
        groups[change.key].is_same = False
    elif _marks(change):
        for group in groups.values():
            if set(change.partition) <= set(group.partition):
                group.is_same = False


def _marks(change: Change) -> bool:
    """Return whether rows are deleted of files that are not named."""
    return change.deletes and not change.key


def _compacted(commit: Commit) -> dict[Constants, tuple[set[str], set[str]]]:
    """Return the files that a commit has compacted, by partition: those that went and came."""
    found = defaultdict[Constants, tuple[set[str], set[str]]](lambda: (set(), set()))
    for change in commit.changes:
        if not change.moves_rows:
            found[change.partition][change.adds].add(change.key)
    return {partition: pair for partition, pair in found.items() if pair[0]}
