"""Named parameters of a report's SQL: those that every report has of its day, and its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

from forerun.include.reports.values.clock import parse_time
from forerun.include.reports.values.fields import SpecError
from forerun.planner.contract.parameters import value_of
from forerun.planner.contract.plan_v1 import Parameter as Parameter  # noqa: PLC0414 - a report is made of it
from forerun.planner.errors import ParameterError, SqlError

DUE = "report_due"
"""The parameter that is the deadline, of a report whose clock stands at it."""
OF_THE_DAY = ("report_date", "report_start", "report_end", "period_start", "period_end", DUE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)


def day_parameters(
    day: date, zone: ZoneInfo, first: date | None = None, due: datetime | None = None
) -> tuple[Parameter, ...]:
    """``report_date`` (DATE), and the instants (TIMESTAMP) at which the day begins in the report's
    time zone (``report_start``) and at which the next one does (``report_end``): a day is 23 or 25
    hours long when clocks change.

    Of a period that begins on the day ``first``, the report date is the last day of it, and the
    instants are those at which it begins and ends. ``period_start`` and ``period_end`` (DATE) are
    its first and its last day, both of them in it; of a day by itself they are that day. With
    ``due``, an instant, :data:`DUE` is that (TIMESTAMP).
    """
    first = first or day
    start, end = (
        parse_time(at, "the day").on(on, zone) for at, on in (("00:00", first), ("24:00", day))
    )
    return (
        Parameter(name="report_date", type="DATE", value=day.isoformat()),
        Parameter(name="report_start", type="TIMESTAMP", value=_text(start)),
        Parameter(name="report_end", type="TIMESTAMP", value=_text(end)),
        Parameter(name="period_start", type="DATE", value=first.isoformat()),
        Parameter(name="period_end", type="DATE", value=day.isoformat()),
        *(() if due is None else (Parameter(name=DUE, type="TIMESTAMP", value=_text(due)),)),
    )


def with_due(text: str, now: str, columns: Iterable[str] = ()) -> str:
    """Return a text over ``columns`` with :data:`DUE` wherever it asks for the time, if ``now`` is
    ``deadline``; as it is where it cannot be read, which is said when it is planned."""
    if now != "deadline" or not text.strip():
        return text
    from forerun.planner.sql.syntax.clock_calls import with_clock

    try:
        return with_clock(text, DUE, columns)
    except SqlError:
        return text


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%d %H:%M:%S")


def parse_parameters(given: Iterable[str]) -> tuple[Parameter, ...]:
    """The parameters of a command line, see :func:`parse_parameter`."""
    found = tuple(parse_parameter(text) for text in given)
    check_parameters(found, "the command line")
    return found


def parse_parameter(text: str) -> Parameter:
    """A parameter from a command line: ``region=EU`` is a STRING, ``days:INT=7`` an INT."""
    left, equals, value = text.partition("=")
    name, colon, type_ = left.partition(":")
    if not equals or (colon and not type_):
        raise ParameterError(
            f"--param {text!r} is not a parameter",
            hint="Write --param region=EU for a text, --param days:INT=7 for another type.",
        )
    return Parameter(name=name.strip(), type=type_.strip().upper() or "STRING", value=value)


def check_parameters(parameters: Sequence[Parameter], where: str) -> None:
    """Raise :class:`SpecError` for a name that cannot be used or is used twice, and
    :class:`forerun.planner.errors.ParameterError` for a value that is not of its type."""
    seen: set[str] = set()
    for parameter in parameters:
        name = parameter.name
        if not _NAME.fullmatch(name):
            raise SpecError(
                f"{where}: a parameter is named {name!r}",
                hint="A name has letters, digits and _, and starts with no digit.",
            )
        if name.lower() in OF_THE_DAY or name.lower() in seen:
            own = name.lower() in OF_THE_DAY
            raise SpecError(
                f"{where}: the parameter {name} is {'one of the day' if own else 'given twice'}",
                hint=f"Use another name; {', '.join(OF_THE_DAY)} come with the report date.",
            )
        seen.add(name.lower())
        value_of(parameter)
