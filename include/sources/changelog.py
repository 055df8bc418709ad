"""Sources whose deliveries take rows back, too: their files have one column more, ``__w BIGINT``.

``__w`` says how often the row comes (positive) or is taken back (negative). A row that is updated
is taken back with its old values and comes with its new ones. What a source holds is every row as
often as its ``__w`` add up to.
"""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.reports.sources.changes import WEIGHT
from forerun.include.state.records import ColumnFooter, PinnedFile
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.planner.errors import ForerunError

_SHARE = 0.2
"""The share of rows that take one back, in a file that has any: one row in ten is updated. A
guess."""


class ChangelogError(ForerunError):
    """A file of a changelog does not say of each row how often it comes or goes."""

    code = "changelog"


def check_weights(source: str, files: Sequence[PinnedFile]) -> None:
    """Refuse a file whose footer does not count NULLs in ``__w``: a row with one would neither come
    nor go. Where it does, the schema says that there is none."""
    for file in files:
        if file.rows and _weights(file).nulls is None:
            raise ChangelogError(
                f"source {source}: the footer of {file.uri} does not count NULLs in "
                f"{WEIGHT_COLUMN}",
                hint="Write the file with statistics, as Spark and Arrow do by default.",
            )


def only_adds(files: Sequence[PinnedFile]) -> bool:
    """Return whether, by the footers, every row of these files comes exactly once."""
    bounds = ((_weights(file).minimum, _weights(file).maximum) for file in files if file.rows)
    return all(bound == ("1", "1") for bound in bounds)


def taken_back(files: Sequence[PinnedFile]) -> float:
    """Return how many rows of these files take one back, by estimate: footers tell only if any
    does."""
    return sum(_SHARE * file.rows for file in files if _takes_back(_weights(file)))


def _takes_back(weights: ColumnFooter) -> bool:
    return weights.minimum is None or int(weights.minimum) < 0


def _weights(file: PinnedFile) -> ColumnFooter:
    for column in file.columns:
        if column.name.lower() == WEIGHT_COLUMN:
            return column
    return ColumnFooter(name=WEIGHT_COLUMN, type=WEIGHT.type)
