"""The files of Iceberg's metadata, read by pyiceberg through the stores of this package."""

from __future__ import annotations

from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile

from forerun.include.sources.files import Location, locate_file
from forerun.include.state.store import MissingKeyError


def locate_path(path: str) -> Location:
    """Return where a file of a table lies. Nothing in its path is escaped, and one of Hadoop's has
    a single slash."""
    single = path.startswith("file:/") and not path.startswith("file://")
    return locate_file(path.replace("file:/", "file:///", 1) if single else path)


class StoredInput(InputFile):
    """Implements pyiceberg's ``InputFile`` on a store."""

    def __len__(self) -> int:
        """Return the bytes of the file."""
        found = self._found()
        if found is None:
            raise FileNotFoundError(self.location)
        return int(found.size)

    def exists(self) -> bool:
        """Return whether the file is there."""
        return self._found() is not None

    def open(self, seekable: bool = True) -> Any:  # noqa: ARG002 - pyiceberg's own
        """Open the file. Raises FileNotFoundError if it is gone."""
        at = locate_path(self.location)
        try:
            return at.store.open(at.key)
        except MissingKeyError:
            raise FileNotFoundError(self.location) from None

    def _found(self) -> Any:
        at = locate_path(self.location)
        return at.store.stat(at.key)


class StoreIO(FileIO):
    """Implements pyiceberg's ``FileIO`` for reading: a source is never written."""

    def new_input(self, location: str) -> InputFile:
        """Return the file at a location."""
        return StoredInput(location)

    def new_output(self, location: str) -> OutputFile:
        """Refuse to write."""
        raise PermissionError(f"{location} is of a source, which is only read")

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refuse to delete."""
        raise PermissionError(f"{location} is of a source, which is only read")
