"""Names that authors give, and that become folders, tables and columns."""

from __future__ import annotations

import re

from forerun.include.reports.values.fields import SpecError

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z", re.ASCII)


def is_name(text: str) -> bool:
    """Say whether ``text`` can be a folder, a table and a column."""
    return _NAME.fullmatch(text) is not None


def check_name(name: str, what: str) -> None:
    """Raise :class:`SpecError` unless ``name`` can be a folder, a table and a column."""
    if not is_name(name):
        raise SpecError(
            f"{what} is named {name!r}",
            hint="A name has letters, digits and _, starts with no digit, and has up to 100 signs.",
        )


def check_unique(names: list[str], what: str) -> None:
    """Raise :class:`SpecError` if a name comes twice."""
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{what} {name} is given twice", hint="Names differ, whatever case.")
