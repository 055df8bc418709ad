"""The files of a source: where they lie, which of them are data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forerun.include.sources.constants import Constants
from forerun.include.sources.days import DayBounds, DayColumn
from forerun.include.sources.raw import Raw
from forerun.include.sources.table_formats import refuse_tables_below
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.opening import refuse_credentials
from forerun.include.stores.store import Store, StoredFile, is_hidden
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError


class SourcePathError(ForerunError):
    """The path of a source cannot be read, or has no files."""

    code = "source-path"


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table that keeps a log: ``table`` tells it from one that is created anew in
    its place. ``columns``: those that it has in this version; None where only the rows say it."""

    table: str
    version: int
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class SameRows:
    """The keys of files that are ``gone`` from a table, and of those that are there with all of
    their rows and no other ones."""

    gone: frozenset[str]
    there: frozenset[str]


@dataclass(frozen=True, slots=True)
class Location:
    """A folder (or a single file) of a source: the store of its disk or bucket, and the key.

    ``has_etags``: what identifies a file there is its content; on a disk it is the time of its last
    change, which a copy may keep.
    """

    store: Store
    key: str
    has_etags: bool = False

    def files(
        self, suffix: str, is_marker: Callable[[str], bool] | None = None
    ) -> tuple[StoredFile, ...]:
        """The data files, by key: all that lie below the folder, whatever their names, but

        - hidden ones (:func:`forerun.include.stores.store.is_hidden`, Spark's own rule);
        - those whose path below the folder ``is_marker`` says to be that of a marker;
        - empty ones, which Spark leaves out, too. One that ends in ``suffix``, as files of the
          format are usually called, was cut short: it counts, so that reading it fails.

        Raises :class:`forerun.include.sources.table_formats.TableFormatError` if a table of another
        format lies in the folder.
        """
        listed = self.store.list(self.key)
        if not listed:
            alone = self.store.stat(self.key)
            if alone is not None and is_hidden(self.key.rpartition("/")[2]):
                raise SourcePathError(
                    f"{self.store.uri(self.key)} is a hidden file, which Spark does not read",
                    hint="Give it a name that does not begin with _ or a dot.",
                )
            return (alone,) if alone is not None and alone.size else ()
        refuse_tables_below(self.store, self.key, (file.key for file in listed))
        start = len(self.key) + 1
        for file in listed:
            if not {"", ".", ".."}.isdisjoint(file.key.split("/")):
                raise SourcePathError(
                    f"the key {file.key!r} of {self.store.root} has a part that no path has (//, "
                    "/./ or /../), so that Spark cannot name it",
                    hint="Copy the object to a key without it, and delete this one.",
                )
        return tuple(
            file
            for file in listed
            if not is_hidden(file.key[start:])
            and not (is_marker and is_marker(file.key[start:]))
            and (file.size or file.key.lower().endswith(suffix))
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """The data files of a source, by key, and where the folder of its last day lies; None of a
    source that is asked for its rows, and has no files.

    ``raw``: rows beside those of the files, which have to be spooled. ``constants``: by key, what
    the files lack since it is the same in all their rows. ``days``: by key, the day of all rows
    there, as ISO has it, where the source tells it. ``table``: the version of the table that
    has these files, of a format with a log. ``kept``: files of the last pin that hold the same rows
    still, though they are no longer, or elsewhere, in the source. ``compacted``: files of the last
    pin, or of that of the day before, that were compacted since.
    """

    folder: Location | None
    files: tuple[StoredFile, ...] = ()
    raw: tuple[Raw, ...] = ()
    constants: Mapping[str, Constants] = field(default_factory=dict)
    days: Mapping[str, str] = field(default_factory=dict)
    table: TableVersion | None = None
    kept: tuple[PinnedFile, ...] = ()
    compacted: tuple[SameRows, ...] = ()

    @property
    def location(self) -> Location:
        """The folder. Raises :class:`SourcePathError` for a source that has none."""
        if self.folder is None:
            raise SourcePathError(
                "the source has no files", hint="What is asked for here is known of files alone."
            )
        return self.folder

    @property
    def keys(self) -> frozenset[str]:
        """The files that hold the rows of the source, whatever is read in their place."""
        return frozenset([file.key for file in self.files] + [one.key for one in self.raw])


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a format: the places of a source, the last one that of the last day.

    ``day_of``: the day of each place, as ISO has it, of a source that is read over several days and
    has a place for each of them; else empty. ``is_marker`` tells the paths of markers below a
    folder, which are no data. ``last`` is the newest pin of the same source, if there is one;
    ``catalog`` the name of the table in a catalog, of a format whose tables have one. ``signed``:
    whether rows may be taken back; ``ignores``: whether what is not declared is left out;
    ``accepts_loss``: whether rows that the source has deleted before they were read are done
    without. ``days``: those that are read, in order, of a source that tells days by time, or by the
    column ``day_by``; ``now``: when it is asked, for whether they are over; ``before``: the newest
    pin of an earlier day, if there is none of this one; ``first``: the first pin of the day of that
    or of ``last``, of a table with a log. ``columns`` and ``where``: the declared columns, and
    which rows are read, as a database asks; ``slot``: its replication slot, which tells the changes
    of rows by their ``key``; ``store``: the URI of the one that has the results of another report,
    empty for the deployment's own.
    """

    paths: Sequence[str]
    day_of: Mapping[str, str] = field(default_factory=dict)
    is_marker: Callable[[str], bool] | None = None
    last: Pin | None = None
    catalog: str = ""
    signed: bool = False
    ignores: bool = False
    accepts_loss: bool = False
    days: Sequence[DayBounds] = ()
    day_by: DayColumn | None = None
    now: datetime | None = None
    before: Pin | None = None
    first: Pin | None = None
    columns: Sequence[ColumnSpec] = ()
    where: str = ""
    slot: str = ""
    key: Sequence[ColumnSpec] = ()
    store: str = ""

    @property
    def locations(self) -> list[Location]:
        """The places as folders of one store. Raises :class:`SourcePathError` for days that lie in
        different buckets."""
        found = [locate(path) for path in self.paths]
        roots = {location.store.root for location in found}
        if len(roots) > 1:
            raise SourcePathError(
                f"the source lies in {len(roots)} buckets: {', '.join(sorted(roots))}",
                hint="Let the days that one report reads lie in one bucket.",
            )
        return found


def listed_below(
    locations: Sequence[Location], suffix: str, is_marker: Callable[[str], bool] | None = None
) -> Listing:
    """List the files that lie below the folders (:meth:`Location.files`)."""
    found = {file.key: file for at in locations for file in at.files(suffix, is_marker)}
    return Listing(locations[-1], tuple(found[key] for key in sorted(found)))


def locate(path: str) -> Location:
    """Return where a source lies: ``/folder``, ``folder``, ``file:///folder`` or
    ``s3://bucket/prefix``.

    Raises :class:`SourcePathError` for anything else.
    """
    refuse_credentials(path)
    parts = urlsplit(path)
    if parts.scheme in ("", "file") and parts.path:
        plain = path if not parts.scheme else unquote(parts.path)
        key = os.path.abspath(plain).strip("/")  # noqa: PTH100 - resolve() would follow links
        if key:
            return Location(_disk(), key)
    if parts.scheme in ("s3", "s3a") and parts.netloc and parts.path.strip("/"):
        from forerun.include.machine.settings import s3_settings
        from forerun.include.stores.s3_store import S3Store

        bucket = S3Store(parts.netloc, "", s3_settings())
        return Location(bucket, parts.path.strip("/"), has_etags=True)
    raise SourcePathError(
        f"{path!r} is not the folder of a source",
        hint="Use /folder, file:///folder or s3://bucket/prefix.",
    )


def _disk() -> FileStore:
    """The disk as a store. Tables that a report publishes into are for others to read, as the umask
    of the process has it."""
    return FileStore(Path("/"), access="umask")


def locate_file(uri: str) -> Location:
    """Return where a pinned file lies. Its URI is as Spark reads it: nothing in it is escaped."""
    if uri.startswith("file://"):
        return Location(_disk(), uri.removeprefix("file://").strip("/"))
    return locate(uri)
