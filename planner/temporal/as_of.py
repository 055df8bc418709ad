"""The one place that encodes which instant or step the rows of a group are of.

The memo is free of time: it describes one generic step, from the last committed run to this one,
and an expression may read an input as of ``before`` the step. The search makes that definite:

* a :class:`Span` is a step of the day, from one opened run to the next one;
* an :class:`AsOf` is what the rows of a group depend on: of a snapshot one instant, of a step the
  runs that it leads from and to;
* a :data:`GroupVersion` is a group before or after a step, encoded as one integer: the key of the
  DP tables, where tuples would be the largest cost. No other file knows the encoding.
"""

from __future__ import annotations

from typing import NamedTuple

from forerun.planner.memo.groups import GroupId

GroupVersion = int
"""A group in a step: its id as of the end of the step, its id bitwise inverted as of the beginning.
"""

_INSTANT = -1


class Span(NamedTuple):
    """One step: from run ``base`` (0 is the beginning of the day) to run ``run``."""

    base: int
    run: int

    def instant(self, *, before: bool) -> AsOf:
        """Return the beginning of the step (``before``) or its end."""
        return AsOf(_INSTANT, self.base if before else self.run)

    def step(self) -> AsOf:
        """Return the whole step, for groups that depend on both ends of it."""
        return AsOf(self.base, self.run)


def in_common(one: tuple[Span, ...], other: tuple[Span, ...]) -> int:
    """Return with how many equal steps two days begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


class AsOf(NamedTuple):
    """The instant or the step that the rows of a group depend on. Make it by :meth:`Span.instant`,
    :meth:`Span.step` or :func:`instant`. ``run`` is the instant, or the run that a step leads to;
    ``base`` is the run that a step leads from, and has no meaning for an instant."""

    base: int
    run: int

    @property
    def is_instant(self) -> bool:
        """Return whether this is an instant, not a step."""
        return self.base == _INSTANT


def instant(run: int) -> AsOf:
    """Return the instant at which a run had read its sources; run 0 is the beginning of the day."""
    return AsOf(_INSTANT, run)


def group_version(group: GroupId, before: bool) -> GroupVersion:
    """Return the group as of the end of a step, or (``before``) as of its beginning."""
    return ~group if before else group


def group_of(version: GroupVersion) -> tuple[GroupId, bool]:
    """Return the group of a version, and whether it is as of the beginning of the step."""
    return (~version, True) if version < 0 else (version, False)
