"""Tell whether a file still has the content that was pinned, where its size and time cannot."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from forerun.include.sources.files import Location
from forerun.include.sources.formats import SourceFormat
from forerun.include.state.records import PinnedFile
from forerun.include.stores.store import MissingKeyError

_THREADS, _AT_ONCE = 8, 100

Keyed = tuple[PinnedFile, str]
"""A file and its key in the store of its location."""


def with_digests(
    form: SourceFormat, location: Location, files: Sequence[Keyed]
) -> list[PinnedFile]:
    """The files with a digest of what they hold. As they are, where their identity is an etag, and
    in a table with a log: no name is used there twice."""
    if location.has_etags or form.has_log:
        return [file for file, _ in files]
    digests = _digests(form, location, files)
    return [replace(file, digest=one) for (file, _), one in zip(files, digests, strict=True)]


def changed_contents(form: SourceFormat, location: Location, files: Sequence[Keyed]) -> set[str]:
    """The URIs of those of the files that have not the pinned content.

    A file may be written again with the size and the time that it had (``cp -p``, ``rsync -t``).
    Files that are pinned by an etag, or by an older version, have no digest and are not read.
    """
    known = [(file, key) for file, key in files if file.digest]
    digests = _digests(form, location, known)
    return {file.uri for (file, _), one in zip(known, digests, strict=True) if one != file.digest}


def _digests(form: SourceFormat, location: Location, files: Sequence[Keyed]) -> list[str]:
    """Return a digest of each file; an empty one for a file that is gone."""

    def digest(one: Keyed) -> str:
        file, key = one
        try:
            with location.store.open(key) as handle:
                return form.digest(handle, file.size)
        except MissingKeyError:
            return ""

    def digests(some: Sequence[Keyed]) -> list[str]:
        return [digest(one) for one in some]

    if not files:
        return []
    parts = [files[at : at + _AT_ONCE] for at in range(0, len(files), _AT_ONCE)]
    with ThreadPoolExecutor(_THREADS) as pool:
        return [one for part in pool.map(digests, parts) for one in part]
