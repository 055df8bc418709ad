"""Proof that source files are still what was pinned.

A run reads exactly its pins. A file that was written again, cut short or removed since then would
silently change the result, so every file is looked at before Spark reads it and once more before
the run commits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from include.state.opening import open_store
from include.state.records import PinnedFile
from planner.errors import ForerunError

_LOCAL = "file://"


class SourceChangedError(ForerunError):
    """A pinned source file is gone or is another one now."""

    code = "source-changed"


def verify_pinned(files: Iterable[PinnedFile]) -> None:
    """Compare size and identity of every file with its pin. Raises :class:`SourceChangedError`."""
    remote: dict[str, list[PinnedFile]] = defaultdict(list)
    for file in files:
        if file.uri.startswith(_LOCAL):
            _compare(file, _look(file.uri.removeprefix(_LOCAL)))
        else:
            remote[file.uri.rpartition("/")[0]].append(file)
    for folder, expected in sorted(remote.items()):
        parent, _, last = folder.rpartition("/")
        listed = open_store(parent).list(last)
        there = {f"{parent}/{item.key}": (item.size, item.identity) for item in listed}
        for file in expected:
            _compare(file, there.get(file.uri))


def _look(path: str) -> tuple[int, str] | None:
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceChangedError(
            f"{path} cannot be read: {error.strerror}", hint="Check the permissions of the file."
        ) from None
    return found.st_size, str(found.st_mtime_ns)


def _compare(file: PinnedFile, there: tuple[int, str] | None) -> None:
    if there is None:
        raise _changed(file, "is gone since it was pinned")
    size, identity = there
    if size != file.size:
        raise _changed(file, f"has {size} bytes now, {file.size} when it was pinned")
    if identity != file.identity:
        raise _changed(file, "was written again since it was pinned")


def _changed(file: PinnedFile, what: str) -> SourceChangedError:
    return SourceChangedError(
        f"{file.uri} {what}",
        hint="Nothing is committed. Restore the file, or clear the day to pin its sources anew.",
    )
