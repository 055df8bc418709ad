"""Checks of a replication slot, which tells the rows of a database's table that have changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from forerun.include.reports.sources.placeholders import filled
from forerun.include.reports.sources.row_predicate import is_of_row_alone
from forerun.include.reports.values.fields import SpecError


def check_slot(slot: str, key: Sequence[str], arrival: str, where: str, what: str) -> None:
    """Refuse a slot that does not tell all that changes among the rows of a predicate."""
    if not re.fullmatch(r"[a-z0-9_]{1,63}", slot):
        raise SpecError(
            f"{what}: {slot!r} is no name of a slot",
            hint="Slots of PostgreSQL have lower letters, digits and underscores, 63 at most.",
        )
    if not key or arrival == "static":
        raise SpecError(
            f"{what}: a slot tells which rows have changed, by the key of a growing source",
            hint="Declare its key, the columns of the table's primary key; or leave slot out.",
        )
    if where and not is_of_row_alone(filled(where, date.min, date.min)):
        raise SpecError(
            f"{what}: where has more than columns compared with constants, so that a row may come "
            "or go without a change that a slot tells",
            hint="Compare columns with constants, or leave slot out.",
        )
