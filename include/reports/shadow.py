"""A report in shadow: it runs beside the job that makes the same table today, and is compared."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.include.reports.places import check_place
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.names import check_name


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """The report publishes into the store's own results alone, neither into its sink nor as an
    asset, and each day is compared with the folder ``<compare_with>/<column>=<date>`` that the job
    of today writes, Parquet files. ``days``: after so many equal days in a row it says that readers
    can be switched over. ``cpu_s``: what that job takes a day, in CPU seconds, where it is known
    (``forerun assess --event-logs`` measures it)."""

    compare_with: str
    """The folder of the table that the other job writes; a day is
    ``<compare_with>/<column>=<date>``."""
    column: str = "ds"
    """The partition column of that table."""
    days: int = 14
    """After so many equal days in a row the report says that readers can be switched over."""
    cpu_s: float | None = None
    """What the other job takes a day, in CPU seconds, where it is known."""

    def __post_init__(self) -> None:
        take_fields(self, "Shadow")
        check_name(self.column, "Shadow: the partition column")
        check_place(self.compare_with, "Shadow: the table to compare with")
        if self.days < 1 or (self.cpu_s is not None and not 0 < self.cpu_s < float("inf")):
            raise SpecError(
                f"Shadow: days={self.days}, cpu_s={self.cpu_s}: both count from something above 0",
                hint="Write the number of equal days that is enough; leave cpu_s out if nobody "
                "knows it.",
            )
