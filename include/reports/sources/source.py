"""A source of a report: one table of its query, checked when it is built."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from forerun.include.reports.expectations import Expectation
from forerun.include.reports.period import Over, Period, days_from
from forerun.include.reports.places import check_place, check_service
from forerun.include.reports.sources.arrival import check_arrival
from forerun.include.reports.sources.changes import Change, in_files
from forerun.include.reports.sources.complete_when import (
    CompleteWhen,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    WhenPublished,
)
from forerun.include.reports.sources.day_by import check_day_by
from forerun.include.reports.sources.placeholders import (
    check_path,
    check_predicate,
    filled,
    has_placeholder,
)
from forerun.include.reports.sources.slots import check_slot
from forerun.include.reports.sources.source_formats import (
    FORMATS,
    LOGGED,
    RESULTS,
    SERVICES,
    STREAMS,
    check_types,
)
from forerun.include.reports.sources.upserts import check_upserts
from forerun.include.reports.values.fields import SpecError, label, take_fields
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.names import check_name, check_unique, is_name
from forerun.planner.contract.plan_v1 import ColumnSpec, ForeignKey

MOST_SAMPLED = 100_000
"""Rows of a sample: they are held in memory, and predicates are evaluated over them in Python."""

_RESULT = re.compile(r"forerun://report/([^/]+)/\{ds\}\Z")
"""The path of what a report publishes: its name."""


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """One table of the query."""

    name: str
    """The name of the table in the query."""
    table: str = ""
    """The table's name in the query if that has dots, such as ``shop.sales``; the query is then
    read with ``name`` in its place."""
    path: str
    """The folder of a day's files, a path or URI (``file://``, ``s3://``) in which ``{ds}`` is the
    report date, ``{ds_nodash}``, ``{yyyy}``, ``{mm}`` and ``{dd}`` its parts. All files below it
    are data, whatever their names, but those that Spark hides, empty ones, and the marker of
    ``complete_when``."""
    columns: tuple[ColumnSpec, ...]
    """The declared schema, in Spark's types; files that differ from it are refused."""
    format: str = "parquet"
    """The format of the files, ``parquet``, ``csv`` or ``json`` (an object in each line); or
    ``kafka``, a topic whose messages are such objects or records of Avro, with the path
    ``kafka://shop/orders`` for the topic ``orders`` of the server that the Airflow connection
    ``shop`` names; or ``postgresql``, a table with the path ``postgresql://shop/public.orders``; or
    ``delta`` or ``iceberg``, a table whose log says which files are in it. Its path is the folder
    of the table, and may go on with partitions of it: ``/lake/sales/dt={ds}`` reads those rows of
    the table in ``/lake/sales`` alone. Or ``report``, what another report publishes, with the path
    ``forerun://report/sales/{ds}`` for the one that is named ``sales``."""
    partitioned_by: tuple[str, ...] = ()
    """Declared columns that the files do not hold, since the folders that they lie in name them:
    ``country`` for ``country=DE/``. A Delta table's log says this by itself."""
    catalog: str = ""
    """The name of an Iceberg table, ``lake.shop.orders`` for ``shop.orders`` in the catalog that
    pyiceberg's configuration calls ``lake``: the catalog says which version is the newest."""
    key: tuple[str, ...] = ()
    """Columns that are unique together, if any."""
    ordered_by: str = ""
    """The column in whose order rows come, such as the moment of an event: windows in this order
    then go on from the last rows. A run that does so looks whether each row is later than those
    that its partition had, and fails where it is not."""
    foreign_keys: tuple[ForeignKey, ...] = ()
    """Columns that name a row of another source, which arrives with the row or before it; a run
    verifies those that its plan relies on."""
    over: Over | None = None
    """The days whose rows are read: from the first day of this period that has the report date up
    to that date. By default the period of the report, and the report date alone in a report
    without one. ``Trailing(days_back=7)`` is the last week, ``Monthly()`` the month to date."""
    day_by: str = ""
    """The column by which a table tells of which day a row is, where no folder or partition in its
    path does: a DATE, or a time in ``timezone``. Rows of the days of ``over`` are read, by default
    those of the report date alone."""
    change: Change = "append_only"
    """Whether rows are only added (``append_only``) or taken back, too: a ``changelog``'s files
    have one column more, ``__w BIGINT``, which says how often the row comes (positive) or is taken
    back (negative)."""
    newest_by: str = ""
    """The column by which the newest row of a ``key`` is told, of a changelog whose files have the
    row anew each time that it changes (upserts), and no ``__w``."""
    arrival: Literal["growing", "static"] = "growing"
    """Whether rows come during the day (``growing``) or are all there before the first run
    (``static``)."""
    complete_when: CompleteWhen | None = None
    """The sign that the day of a growing source is complete."""
    allow_empty: bool = False
    """Whether no file at all is a day without rows."""
    expectations: tuple[Expectation, ...] = ()
    """What must hold of the source's day: of rows as they come, of all together at the end."""
    sample: int | None = None
    """How many rows are read at random before a run is planned, to count what filters let through;
    0 for none, None for some thousand where the planner would have to guess."""
    extra_columns: Literal["refuse", "ignore"] = "refuse"
    """What becomes of a file with columns that are not declared: it is refused (``refuse``), or
    they are not read (``ignore``)."""
    where: str = ""
    """Which rows of a database's table are read: a predicate as the database has them, such as
    ``order_date = '{ds}'``, or with a period ``order_date BETWEEN '{first}' AND '{ds}'``."""
    slot: str = ""
    """The name of a logical replication slot of a database's table, made for this source alone:
    ``test_decoding`` of PostgreSQL. It tells which rows have changed, by the ``key``, and these are
    compared in place of all."""
    store: str = ""
    """The URI of the store that has the results of another report; by default that of the report
    that reads them."""
    lost_rows: Literal["refuse", "accept"] = "refuse"
    """What becomes of a day of a topic whose first messages may have been deleted before they were
    read: it is refused (``refuse``), or has those that are left (``accept``)."""
    timezone: str = ""
    """The time zone of the days of a topic, or of ``day_by``; by default that of the report."""
    narrower_types: Literal["refuse", "widen"] = "refuse"
    """What becomes of a file with a column in another type than the declared one: it is refused
    (``refuse``), or read if Spark widens it value for value (``widen``)."""

    def __post_init__(self) -> None:
        take_fields(self, label("source", self.name))
        if self.format == RESULTS and self.complete_when is None:
            object.__setattr__(self, "complete_when", WhenPublished())
        _check_source(self)

    def within(self, period: Period | None, timezone: str, store: str) -> SourceSpec:
        """Return the source as a report with this period, time zone and store reads it."""
        has_times = self.format in STREAMS or bool(self.day_by)
        zone = self.timezone or (timezone if has_times else "")
        where = self.store or (store if self.format == RESULTS else "")
        return replace(self, over=self.over or period, timezone=zone, store=where)

    @property
    def as_delivered(self) -> SourceSpec:
        """Return the source as its files are: of upserts, rows that are only added."""
        return replace(self, change="append_only", newest_by="") if self.newest_by else self

    @property
    def file_columns(self) -> tuple[ColumnSpec, ...]:
        """The columns of the source's files."""
        return in_files(self.columns, self.change)

    @property
    def held_columns(self) -> tuple[ColumnSpec, ...]:
        """The columns that the files themselves hold; what folders name is not among them."""
        named = {name.lower() for name in self.partitioned_by}
        return tuple(c for c in self.file_columns if c.name.lower() not in named)

    @property
    def reads(self) -> str | None:
        """The name of the report whose results the source has; None for another source."""
        found = _RESULT.match(self.path) if self.format == RESULTS else None
        return found[1] if found and is_name(found[1]) else None

    @property
    def has_day_folders(self) -> bool:
        """Return whether each day has a folder of its own."""
        return has_placeholder(self.path)

    @property
    def tells_days(self) -> bool:
        """Return whether the rows of each day are known apart: by folder, time or column."""
        return self.has_day_folders or bool(self.day_by) or self.format in STREAMS

    def days_read(self, day: date) -> tuple[date, ...]:
        """The days of which a report of ``day`` reads rows, of a source that tells days apart."""
        first, last = self.over.bounds(day) if self.over else (day, day)
        return days_from(first, min(last, day))

    def folders_on(self, day: date) -> dict[str, date]:
        """The folders that a report of ``day`` reads, in order of time, each with the last of the
        days that it is for."""
        days = self.days_read(day) if self.has_day_folders else (day,)
        return {self.path_on(each): each for each in days}

    def places_of_days(self, day: date) -> dict[str, date]:
        """The folders that a report of ``day`` reads over several days, each with the one day that
        it is for; none where a folder has the rows of several."""
        if self.over is None or not self.has_day_folders:
            return {}
        found = self.folders_on(day)
        alone = all(self.path_on(each - timedelta(days=1)) != path for path, each in found.items())
        return found if alone and len(found) == len(self.days_read(day)) else {}

    def days_on(self, day: date) -> tuple[date, ...]:
        """The days of which a report of ``day`` reads rows, as far as folders tell them apart."""
        return tuple(self.folders_on(day).values())

    @property
    def pinned_as(self) -> str:
        """Return what tells the files of a source apart from those that another report reads under
        its name: where they lie, and of which days."""
        parts = [self.path]
        if self.over and self.has_day_folders:
            parts.append(f"over {self.over}")
        if self.day_by:
            parts.append(f"of {self.over or 'days'} by {self.day_by} {self.timezone}")
        if self.format == RESULTS:
            parts.append(f"in {self.store}")
        if self.newest_by:
            parts.append(f"newest of {', '.join(self.key)} by {self.newest_by}")
        if self.format in (*SERVICES, RESULTS) or self.newest_by:  # copies are all there is later
            parts.append(f"of {self.over or 'days'} {self.timezone} {self.change} {self.where}")
            parts += (f"{column.name} {column.type}" for column in self.columns)
        if named := set(self.partitioned_by):
            parts.append(
                f"by {', '.join(f'{c.name} {c.type}' for c in self.columns if c.name in named)}"
            )
        if self.format in LOGGED:
            parts.append(self.change)
        return " ".join(parts)

    def path_on(self, day: date) -> str:
        """The folder of ``day`` alone."""
        return filled(self.path, day, day)

    def where_on(self, day: date) -> str:
        """The predicate by which a database gives the rows of a report of ``day``."""
        days = self.days_read(day)
        return filled(self.where, days[-1], days[0])


def _check_source(source: SourceSpec) -> None:
    if "." in source.name:
        plain = source.name.replace(".", "_")
        raise SpecError(
            f"a source is named {source.name!r}, and its files lie in a folder of that name",
            hint=f"Write name={plain!r}, table={source.name!r}: the query may have the name with "
            "dots.",
        )
    check_name(source.name, "a source")
    what = f"source {source.name}"
    if source.format not in FORMATS:
        raise SpecError(
            f"{what}: there is no format {source.format!r}",
            hint=f"Use one of {', '.join(FORMATS)}.",
        )
    check_path(source.path, what)
    if source.format in SERVICES:
        _check_service(source, what)
    else:
        if source.format == RESULTS:
            _check_result(source, what)
        else:
            check_place(source.path, f"{what}: the path")
        zone = source.timezone and not source.day_by
        if source.where or source.slot or zone or source.lost_rows == "accept":
            raise SpecError(
                f"{what}: where, slot, timezone or lost_rows, with the format {source.format}",
                hint="They are of sources that a server is asked for. Filter in the query.",
            )
    if source.sample is not None and not 0 <= source.sample <= MOST_SAMPLED:
        raise SpecError(
            f"{what}: a sample of {source.sample} rows",
            hint=f"Give 0 to {MOST_SAMPLED:,} rows; some thousand tell most of what more would.",
        )
    _check_columns(source, what)
    over = source.over if source.tells_days else None
    check_arrival(source.arrival, source.complete_when, source.format, what, over=over)
    if source.newest_by:
        check_upserts(source, what)
    if source.day_by:
        rule, folder = source.complete_when, source.path
        check_day_by(source.day_by, source.columns, source.format, folder, rule, what)


def _check_service(source: SourceSpec, what: str) -> None:
    """Refuse what a server cannot be asked, or what has no meaning there."""
    check_service(source.path, f"{what}: the path", source.format, SERVICES[source.format])
    if isinstance(source.complete_when, MarkerFile | HourlyMarkers | ExpectedCount):
        kind = type(source.complete_when).__name__
        raise SpecError(
            f"{what}: {kind}, which counts files, and {source.path} has none",
            hint="Its day is complete by ClockTime, or by the AssetEvent of who writes it.",
        )
    is_stream = source.format in STREAMS
    for given, name in (
        (source.has_day_folders, "a placeholder in its path"),
        (source.partitioned_by, "partitioned_by"),
        (is_stream and source.change == "changelog", 'change="changelog"'),
        (is_stream and source.arrival == "static", 'arrival="static"'),
        (is_stream and source.where, "where"),
        (is_stream and source.slot, "slot"),
        (not is_stream and source.lost_rows == "accept", "lost_rows"),
        (not (is_stream or source.day_by) and source.timezone, "timezone"),
    ):
        if given:
            raise SpecError(
                f"{what}: {name}, with the format {source.format}",
                hint="A topic has one name for all days, and messages are only added to it; a "
                "table has the rows of any day, which where tells apart. Leave that out.",
            )
    check_predicate(source.where, what)
    if source.slot:
        check_slot(source.slot, source.key, source.arrival, source.where, what)


def _check_result(source: SourceSpec, what: str) -> None:
    """Refuse what names no report, or what has no meaning for its results."""
    if source.reads is None:
        raise SpecError(
            f"{what}: the path {source.path!r} does not name a report",
            hint="Write forerun://report/sales/{ds}, with the name of the report that is read.",
        )
    if source.store:
        check_place(source.store, f"{what}: the store", root=True)
    for given, name in (
        (source.arrival == "static", 'arrival="static"'),
        (source.partitioned_by, "partitioned_by"),
        (source.ordered_by, "ordered_by"),
        (source.narrower_types == "widen", 'narrower_types="widen"'),
        (not isinstance(source.complete_when, WhenPublished), type(source.complete_when).__name__),
    ):
        if given:
            raise SpecError(
                f"{what}: {name}, with the format {RESULTS}",
                hint="What a report publishes grows or changes during its day, in the types and in "
                "the place that it says, and is complete when the whole of it is published. Leave "
                "that out.",
            )
    nested = next((one.name for one in source.columns if "<" in one.type), "")
    if nested and source.change != "changelog":
        raise SpecError(
            f"{what}: column {nested} is an array or a struct, by which rows cannot be compared",
            hint='Declare change="changelog": then all rows of a later result come, and those of '
            "the one before go; or leave the column out.",
        )


def _check_columns(source: SourceSpec, what: str) -> None:
    if not source.columns:
        raise SpecError(f"{what} declares no columns", hint="List them with Spark's types.")
    check_unique([column.name.lower() for column in source.file_columns], f"{what}: column")
    check_types(source.columns, what)
    if source.change == "changelog":
        for column in source.columns:
            if "map<" in column.type.lower():
                raise SpecError(
                    f"{what}: column {column.name} is a map, by which rows cannot be compared",
                    hint="Leave the column out of the changelog, or make it an array of structs.",
                )
    names = {column.name for column in source.columns}
    _check_partitions(source, what, names)
    for name, of_what in (*((name, "key") for name in source.key), (source.ordered_by, "order")):
        if name and name not in names:
            raise SpecError(
                f"{what}: the column {name} of its {of_what} is not among its columns",
                hint=f"Its columns are {', '.join(column.name for column in source.columns)}.",
            )
    if source.ordered_by and source.change == "changelog":
        raise SpecError(
            f"{what} comes in the order of {source.ordered_by}, and is a changelog",
            hint="Leave ordered_by out: it is of no use where rows are taken back.",
        )


def _check_partitions(source: SourceSpec, what: str, names: set[str]) -> None:
    if unknown := [name for name in source.partitioned_by if name not in names]:
        raise SpecError(
            f"{what}: the partition column {unknown[0]} is not among its columns",
            hint="Declare it with its type: it is a column as any other to the query.",
        )
    has_name = source.format == "iceberg"
    if bool(source.catalog) != has_name or (has_name and source.catalog.count(".") < 2):
        raise SpecError(
            f"{what}: the format {source.format} with the catalog {source.catalog!r}",
            hint='An Iceberg table has a name in a catalog: format="iceberg", '
            'catalog="lake.shop.orders" for shop.orders in the catalog lake of pyiceberg\'s '
            "configuration. Other formats have none.",
        )
    if source.partitioned_by and source.format in LOGGED:
        raise SpecError(
            f"{what}: partitioned_by of a {source.format} table, whose log says it by itself",
            hint="Leave partitioned_by out.",
        )
    if len(source.partitioned_by) == len(source.columns):
        raise SpecError(
            f"{what}: all of its columns are partitions", hint="Declare those of the files, too."
        )
