"""Placeholders for a day in the path of a source, and in the predicate that a database is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from forerun.include.reports.values.fields import SpecError

_IN_PATHS = ("ds", "ds_nodash", "yyyy", "mm", "dd")
_IN_PREDICATES = (*_IN_PATHS, "first")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def has_placeholder(path: str) -> bool:
    """Return whether the path is another one on each day."""
    return _PLACEHOLDER.search(path) is not None


def filled(text: str, day: date, first: date) -> str:
    """Return a text with the values of its placeholders; ``first`` is the first day of a period."""
    values = {
        "ds": day.isoformat(),
        "ds_nodash": day.strftime("%Y%m%d"),
        "yyyy": f"{day.year:04d}",
        "mm": f"{day.month:02d}",
        "dd": f"{day.day:02d}",
        "first": first.isoformat(),
    }
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def check_path(path: str, what: str) -> None:
    """Raise :class:`SpecError` for a path that is empty, or has a placeholder that there is not."""
    if not path:
        raise SpecError(f"{what}: the path {path!r} is empty", hint=_known(_IN_PATHS))
    _check(path, _IN_PATHS, f"{what}: the path {path!r}")
    if {"{", "}"} & set(_PLACEHOLDER.sub("", path)):
        raise SpecError(
            f"{what}: the path {path!r} has a brace without its partner", hint=_known(_IN_PATHS)
        )


def check_predicate(where: str, what: str) -> None:
    """Raise :class:`SpecError` for a predicate with a placeholder that there is not."""
    _check(where, _IN_PREDICATES, f"{what}: where")


def _check(text: str, known: Sequence[str], what: str) -> None:
    if unknown := [each for each in _PLACEHOLDER.findall(text) if each not in known]:
        raise SpecError(f"{what} has the unknown placeholder {{{unknown[0]}}}", hint=_known(known))


def _known(names: Sequence[str]) -> str:
    return f"Known are {', '.join('{' + name + '}' for name in names)}."
