"""The files of a source that are data on a day: one answer for all who count, pin or read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from forerun.include.reports.complete_when import CompleteWhen, HourlyMarkers, MarkerFile
from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.files import Location, SourcePathError, locate
from forerun.include.sources.formats import format_of
from forerun.include.state.store import StoredFile


def data_files(source: SourceSpec, day: date) -> tuple[Location, tuple[StoredFile, ...]]:
    """Return where the source lies on ``day``, and its data files by key
    (:meth:`forerun.include.sources.files.Location.files`); of a source that is read over several
    days those of all their folders, and where the last of these lies. The marker that the source is
    complete by is none of them, whatever its name.

    Raises :class:`forerun.include.sources.table_formats.TableFormatError` if a table of another
    format lies there, and :class:`SourcePathError` for days that lie in different buckets.
    """
    locations = [locate(path) for path in source.folders_on(day)]
    roots = {location.store.root for location in locations}
    if len(roots) > 1:
        raise SourcePathError(
            f"source {source.name} lies in {len(roots)} buckets: {', '.join(sorted(roots))}",
            hint="Let the days that one report reads lie in one bucket.",
        )
    markers, suffix = _markers(source.complete_when), format_of(source.format).suffix
    found = {file.key: file for at in locations for file in at.files(suffix, markers)}
    return locations[-1], tuple(found[key] for key in sorted(found))


def said(paths: Sequence[str]) -> str:
    """Return folders in words for people: all of one or two, of more the first and the last."""
    if len(paths) < 3:
        return " and ".join(paths)
    return f"the {len(paths)} folders from {paths[0]} to {paths[-1]}"


def _markers(rule: CompleteWhen | None) -> Callable[[str], bool] | None:
    """Return what tells the paths of markers below the folder of a day."""
    match rule:
        case MarkerFile(name=name):
            return lambda path: path == name
        case HourlyMarkers():
            return rule.is_marker
        case _:
            return None
