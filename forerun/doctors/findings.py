"""The findings of a doctor: a line for each thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One line of the answer. A ``note`` costs time or an option, a ``problem`` stops reports."""

    name: str
    state: State
    found: str
    todo: str = ""
