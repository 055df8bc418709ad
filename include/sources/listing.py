"""The files of a source that are data on a day: one answer for all who count, pin or read them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from forerun.include.reports.complete_when import CompleteWhen, HourlyMarkers, MarkerFile
from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.files import Location, locate
from forerun.include.sources.formats import format_of
from forerun.include.state.store import StoredFile


def data_files(source: SourceSpec, day: date) -> tuple[Location, tuple[StoredFile, ...]]:
    """Return where the source lies on ``day``, and its data files by key
    (:meth:`forerun.include.sources.files.Location.files`). The marker that the source is complete
    by is none of them, whatever its name.

    Raises :class:`forerun.include.sources.table_formats.TableFormatError` if a table of another
    format lies there.
    """
    location = locate(source.path_on(day))
    markers = _markers(source.complete_when)
    return location, location.files(format_of(source.format).suffix, markers)


def _markers(rule: CompleteWhen | None) -> Callable[[str], bool] | None:
    """Return what tells the paths of markers below the folder of a day."""
    match rule:
        case MarkerFile(name=name):
            return lambda path: path == name
        case HourlyMarkers():
            return rule.is_marker
        case _:
            return None
