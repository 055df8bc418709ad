"""The record of a day of a report in shadow: whether it was equal to what the other job made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["equal", "different", "not-compared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowDay:
    """One day, as it was compared last. ``version`` is that of our result; ``rows`` and
    ``other_rows`` count both sides, ``other_rows`` is None where there was nothing to compare with;
    ``why`` says then what was lacking. ``differences`` are sentences with a sample of the rows.
    ``cpu_s`` are CPU seconds of our applications of the day, whole processes; ``other_cpu_s`` what
    the other job is said to take, None where nobody knows."""

    report: str
    day: str
    version: str
    verdict: Verdict
    compared_at: str
    rows: int
    other_rows: int | None
    why: str
    differences: tuple[str, ...]
    cpu_s: float
    other_cpu_s: float | None
