"""Find what has changed in a source since a pin: files that are new, written again, or gone.

A source that only grows has none but new files. Whoever corrects a day that is over may also write
a file again or take one away; what such a file held then has to be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from forerun.include.reports.sources.source_formats import LOGGED
from forerun.include.reports.spec import SourceSpec
from forerun.include.sources.contents import with_digests
from forerun.include.sources.files import locate, locate_file
from forerun.include.sources.formats import format_of
from forerun.include.sources.tables.compactions import unchanged_files
from forerun.include.state.records import Pin, PinnedFile

Kind = Literal["new", "changed", "vanished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A file that is not as it was pinned: ``before`` is None for a new one, ``now`` for one that
    vanished."""

    source: str
    before: PinnedFile | None = None
    now: PinnedFile | None = None

    @property
    def kind(self) -> Kind:
        if self.before is None:
            return "new"
        return "changed" if self.now is not None else "vanished"

    @property
    def uri(self) -> str:
        file = self.now or self.before
        return file.name if file is not None else ""


def find_corrections(before: Pin, now: Pin) -> tuple[Correction, ...]:
    """Compare two pins of a source; return what has changed in between, by URI.

    A file that was written again with the content that it had is no correction, and files that a
    table has compacted are none.
    """
    then, there = ({file.uri: file for file in pin.files} for pin in (before, now))
    return tuple(
        Correction(source=now.name, before=then.get(uri), now=there.get(uri))
        for uri in sorted((then.keys() | there.keys()) - unchanged_files(before, now))
        if not _same(then.get(uri), there.get(uri))
    )


def came(corrections: Iterable[Correction]) -> tuple[PinnedFile, ...]:
    """The files whose rows are to be added: new ones, and changed ones as they are now."""
    return tuple(one.now for one in corrections if one.now is not None)


def went(corrections: Iterable[Correction]) -> tuple[PinnedFile, ...]:
    """The files whose rows are to be taken back: vanished ones, and changed ones as they were."""
    return tuple(one.before for one in corrections if one.before is not None)


def rewritten(source: SourceSpec, before: Pin, now: Pin) -> tuple[PinnedFile, ...]:
    """The files of a table whose rows a delivery takes back: the table has written what was left of
    them into others. None of a source that only grows, of which nothing may go."""
    if source.format not in LOGGED or source.change != "changelog":
        return ()
    return went(find_corrections(before, now))


def still_lie_there(files: Iterable[PinnedFile]) -> bool:
    """Return whether all files lie where they were pinned, as they were."""
    return all(map(_lies_there, files))


def find_copies(
    files: Sequence[PinnedFile], folders: Sequence[str], source: SourceSpec
) -> dict[str, PinnedFile]:
    """Look in ``folders`` for files that have the content of ``files``, whatever their names: the
    copy of each that was found, by the URI of the original. What a table with a log has dropped
    lies where it was until the table is cleaned up.

    The content is compared by etag in a bucket, and else by size and digest. A file that was pinned
    without a digest, by an older version, has no copy.
    """
    form = format_of(source.format)
    lying = [file for file in files if (form.has_log or file.origin) and _lies_there(file)]
    found = {file.uri: file for file in lying}
    sizes = {file.size for file in files if not file.origin}
    for folder in folders if sizes else ():
        location = locate(folder)
        listed = [file for file in location.files(form.suffix) if file.size in sizes]
        described = form.describe(location, listed, source.held_columns)
        keyed = [(file, at.key) for file, at in zip(described, listed, strict=True)]
        for copy in with_digests(form, location, keyed):
            for file in files:
                if _is_copy(file, copy):
                    held = replace(
                        copy, constants=file.constants, columns=file.columns, day=file.day
                    )
                    found.setdefault(file.uri, held)
    return found


def _lies_there(file: PinnedFile) -> bool:
    location = locate_file(file.uri)
    there = location.store.stat(location.key)
    return there is not None and (there.size, there.identity) == (file.size, file.identity)


def _is_copy(file: PinnedFile, copy: PinnedFile) -> bool:
    if file.size != copy.size or bool(file.digest) != bool(copy.digest):
        return False
    return file.digest == copy.digest if file.digest else file.identity == copy.identity


def _same(before: PinnedFile | None, now: PinnedFile | None) -> bool:
    """Return whether a file has the content that it had: by digest where both pins have one."""
    if before is None or now is None or before.size != now.size:
        return False
    if before.digest and now.digest:
        return before.digest == now.digest
    return before.identity == now.identity
