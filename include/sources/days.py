"""Days of a source whose rows are told apart by times, or by a column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from forerun.include.sources.unread import SourceFileError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DayBounds:
    """The instants between which a day lies, in a source that tells days apart by time."""

    day: date
    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class DayColumn:
    """The column by which the rows of a table are told apart by day, of the type DATE, TIMESTAMP or
    TIMESTAMP_NTZ. The day of an instant is that in ``zone``. Rows with NULL are of no day. ``days``
    are those that are read, in order."""

    name: str
    type: str
    zone: ZoneInfo
    days: tuple[DayBounds, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.type} {self.zone}"

    def reads(self, day: str) -> bool:
        """Return whether the rows of a day, as ISO has it, are read."""
        return any(str(each.day) == day for each in self.days)

    def apart(self, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        """Yield the rows of each day, as ISO has it; none where there is no such column, which is
        NULL then. Raises :class:`SourceFileError` for a column of another type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        named = (name for name in rows.column_names if name.lower() == self.name.lower())
        if (at := next(named, None)) is None:
            return
        days, kind = rows[at], rows[at].type
        zone = kind.tz if pa.types.is_timestamp(kind) else None
        is_time = pa.types.is_timestamp(kind) and bool(zone) == (self.type == "TIMESTAMP")
        if not (pa.types.is_date32(kind) if self.type == "DATE" else is_time):
            raise SourceFileError(
                f"the column {self.name}, by which rows are told apart by day, is declared "
                f"{self.type} and held as {kind}",
                hint="Declare it as what the table has, or name another column in day_by.",
            )
        if self.type == "TIMESTAMP":
            days = pc.local_timestamp(days.cast(pa.timestamp("us", str(self.zone))))
        if self.type != "DATE":
            days = pc.floor_temporal(days, unit="day").cast(pa.date32())
        for day in sorted(pc.unique(days).drop_null().to_pylist()):
            yield str(day), rows.filter(pc.equal(days, pa.scalar(day, pa.date32())))

    def days_between(self, least: object, greatest: object) -> tuple[str, ...]:
        """Return which of the days may have a value between two, and an empty text beside them if
        other days may, too. What is not a date or a time says nothing."""
        first, last = self._day(least), self._day(greatest)
        if first is None or last is None:
            return (*(str(each.day) for each in self.days), "")
        found = tuple(str(each.day) for each in self.days if first <= each.day <= last)
        outside = first < self.days[0].day or last > self.days[-1].day
        return (*found, "") if found and outside else found

    def predicate(self, quoted: str) -> str:
        """Return the condition, in standard SQL, that a row is of one of the days. ``quoted``: the
        column, as the condition names it."""
        first, last = self.days[0], self.days[-1]
        after = last.day + timedelta(days=1)
        low, high, kind = str(first.day), str(after), self.type.removesuffix("_NTZ")
        if self.type == "TIMESTAMP":
            kind = "TIMESTAMP WITH TIME ZONE"
            low, high = (str(each.astimezone(UTC)) for each in (first.begin, last.end))
        return f"{quoted} >= {kind} '{low}' AND {quoted} < {kind} '{high}'"

    def _day(self, value: object) -> date | None:
        """The day of a value, None where it is not known. A log may have cut what is less than a
        second off a time, which is of the same day."""
        if not isinstance(value, datetime):
            return value if isinstance(value, date) else None
        try:
            return value.astimezone(self.zone).date() if value.tzinfo else value.date()
        except OverflowError:
            return None
