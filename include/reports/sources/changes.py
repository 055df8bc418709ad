"""The ways in which a source changes during a day: rows are only added, or taken back, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

Change = Literal["append_only", "changelog"]
WEIGHT = ColumnSpec(name=WEIGHT_COLUMN, type="BIGINT", nullable=False)
"""The signed multiplicity that every row of a changelog's file carries."""


def in_files(columns: Sequence[ColumnSpec], change: str) -> tuple[ColumnSpec, ...]:
    """The columns of the files of a source with these columns."""
    return (*columns, WEIGHT) if change == "changelog" else tuple(columns)
