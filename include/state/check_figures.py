"""The record of what a run has found of all rows of a source that had come by then, from which the
expectations of later runs go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Of = Literal["sum", "bounds", "values", "unique"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A fact that is known of all rows: the ``sum`` of a column, its least and its greatest value
    (``bounds``), its distinct ``values``, or that no two rows have the same in all of ``columns``
    (``unique``, which has no values). Values are as the type of the column prints them, None for
    NULL."""

    of: Of
    columns: tuple[str, ...]
    type: str = ""
    values: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFigures:
    """The figures of the rows of ``pin``, the key of a source's pin."""

    source: str
    pin: str
    figures: tuple[Figure, ...]
