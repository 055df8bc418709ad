"""Compares what an engine makes of two texts: a report's own, and what the planner has read of it.

Whoever gives optimized plans says how two of them are compared. Here is what follows: an error of
the text, or of the reading; and texts that have another plan each time, as those that read the
clock or chance.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations, zip_longest
from typing import Any, Protocol, TypeVar

from pyspark.errors import PySparkException

from forerun.include.state.verdicts import Outcome

_NOT_SETTINGS = (
    "spark.sql.warehouse.dir", "spark.sql.shuffle.partitions", "spark.sql.debug.maxToStringFields",
)  # fmt: skip
_WORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?|-?\d[\d.:]*|[A-Za-z_]\w*|\W")
_SHOWN = 40
"""So many words of a plan are shown from where it differs."""
_SAMPLES = 8
"""So often a text is analyzed that has another plan each time."""


class Optimized(Protocol):
    """The optimized plan of a text, as an engine gives it."""

    def is_same(self, other: Any) -> bool:
        """Return whether both plans give the same rows, by all that the engine shows of them."""
        ...

    @property
    def words(self) -> list[str]:
        """The words of the plan, without the names that it has for columns."""
        ...


_P = TypeVar("_P", bound=Optimized)


def digest_of_settings(session: Any) -> str:
    """Return a digest of the settings that the analyzer and the optimizer of a session have."""
    said = sorted(
        (name, value)
        for name, value in session.sql("SET").collect()  # conf.getAll is of Spark 4
        if name.startswith("spark.sql.") and name not in _NOT_SETTINGS
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


def outcome_of(optimized: Callable[[str], _P], text: str, reading: str) -> tuple[Outcome, str]:
    """Return what an analyzer and optimizer make of two texts, and why."""
    try:
        wanted = optimized(text)
    except PySparkException as error:
        return "refused", _said(error)
    try:
        found = optimized(reading)
    except PySparkException as error:
        return "differs", f"what was read of it is refused: {_said(error)}"
    if wanted.is_same(found):
        return "same", ""
    again = optimized(text)
    texts, readings = [wanted.words], [found.words]
    for _ in range(0 if wanted.is_same(again) else _SAMPLES):
        texts.append(optimized(text).words)
        if _same_but_for_chance(texts, readings):
            return "same", ""
        readings.append(optimized(reading).words)
    return "differs", _first_difference(texts[0], readings[0])


def words_of(text: str) -> list[str]:
    """Return the words of a plan: moments, numbers, names, and all other signs."""
    return _WORD.findall(text)


def _same_but_for_chance(texts: list[list[str]], readings: list[list[str]]) -> bool:
    """Return whether a reading has the words of a text but for those that chance gives: the time,
    seeds and the numbers of columns that EXISTS becomes are other ones in each analysis."""
    for one, again in combinations(texts, 2):
        chance = _given_by_chance(one, again)
        if chance is None:
            continue
        for other in readings:
            if len(one) == len(other) and _different(one, other) <= chance:
                return True
    return False


def _given_by_chance(one: list[str], again: list[str]) -> set[int] | None:
    """The places at which two analyses of one text have other words; None where those words are
    not new ones: a seed also decides the canonical order of the operands of a sum, and words that
    have only moved tell nothing of what may stand in their places."""
    places = _different(one, again)
    moved = len(one) != len(again) or (Counter(one) - Counter(again)).total() != len(places)
    return None if moved else places


def _different(one: list[str], two: list[str]) -> set[int]:
    pairs = enumerate(zip_longest(one, two))
    return {at for at, (mine, theirs) in pairs if mine != theirs}


def _first_difference(one: list[str], two: list[str]) -> str:
    at = min(_different(one, two), default=None)
    if at is None:
        return "the plans differ in the types of their constants or columns"
    return f"the text has {_around(one, at)}, what was read has {_around(two, at)}"


def _around(words: list[str], at: int) -> str:
    """The words from some before ``at`` to some after it, on one line."""
    return "".join(words[max(0, at - _SHOWN // 4) : at + _SHOWN]).replace("\n", " ").strip(" :+-")


def _said(error: PySparkException) -> str:
    message = error.getMessage() or str(error)
    return message.partition("\n\nJVM stacktrace:")[0].strip().partition("\n'")[0][:1000]
