"""The files of Iceberg tables, read and written by pyiceberg through the stores of this package."""

from __future__ import annotations

import io
from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile, OutputStream

from forerun.include.sources.files import Location, locate_file
from forerun.include.stores.store import MissingKeyError


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


class _Written(io.BytesIO):
    """A file that is being written, until it is put as a whole."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self._location = location

    def close(self) -> None:
        """Put what was written, once."""
        if not self.closed:
            at = locate_path(self._location)
            at.store.put(at.key, self.getvalue())
        super().close()

    def __exit__(self, *failed: Any) -> None:
        """Put nothing if what was to be written is not whole."""
        if failed[0] is not None:
            super().close()
        self.close()


class StoredOutput(OutputFile):
    """Implements pyiceberg's ``OutputFile`` on a store."""

    def __len__(self) -> int:
        """Return the bytes of the file."""
        return len(self.to_input_file())

    def exists(self) -> bool:
        """Return whether the file is there."""
        return self.to_input_file().exists()

    def to_input_file(self) -> InputFile:
        """Return the file, to be read."""
        return StoredInput(self.location)

    def create(self, overwrite: bool = False) -> OutputStream:
        """Begin a file. Raises FileExistsError if it is there already."""
        if not overwrite and self.exists():
            raise FileExistsError(self.location)
        return _Written(self.location)


class WritingStoreIO(StoreIO):
    """Implements pyiceberg's ``FileIO`` for a table that a report publishes into."""

    def new_output(self, location: str) -> OutputFile:
        """Return a file to be written."""
        return StoredOutput(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file, such as a manifest that was not committed."""
        name = location if isinstance(location, str) else location.location
        at = locate_path(name)
        at.store.delete(at.key)
