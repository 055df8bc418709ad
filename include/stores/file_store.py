"""A store in a folder of a local or mounted disk.

*Put if absent*: write a temporary file in the same folder, flush it to the disk, ``link`` it to its
name. The link either exists whole or does not exist; a process that is killed in between leaves a
hidden temporary file that nobody reads. (An exclusive create and a kill would leave an empty file
that blocks the key for ever.) *Put if match*: under ``flock`` of a hidden file next to the key,
which the kernel releases when the process dies; the replacement itself is one atomic rename, so
readers need no lock.

What is written is for this user alone, unless the store is opened otherwise (:data:`ACCESS`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from forerun.include.stores.store import (
    MissingKeyError,
    StoreDeniedError,
    StoredFile,
    StoreDownError,
    StoreError,
    StoreFullError,
    Tagged,
    check_key,
    checksum_text,
)

ACCESS = {"private": (0o700, 0o600), "group": (0o770, 0o660)}
"""Rights of new folders and files, by the name of the setting; ``umask`` leaves them to the umask
of the process. What is there already keeps its rights."""

_PRIVATE = ".forerun-"
_FOLDER_TRIES = 20
"""So often a folder is made again that somebody takes away."""
_CHUNK = 1 << 20


class FileStore:
    """Implements :class:`forerun.include.stores.store.Store` on a folder."""

    def __init__(self, folder: Path, *, access: str = "private") -> None:
        """``access`` is a key of :data:`ACCESS`, or ``umask``."""
        self._folder = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        self._start = len(str(self._folder / "_")) - 1
        self._rights = None if access == "umask" else ACCESS[access]

    @property
    def root(self) -> str:
        return "file://" + quote(str(self._folder), safe="/:@!$&'()*+,;=~-._")

    def path(self, key: str) -> Path:
        """The path of a key on this machine."""
        return self._folder / check_key(key)

    def uri(self, key: str) -> str:
        # Hadoop's Path takes the text after the scheme as it is: no percent signs here.
        return f"file://{self.path(key)}"

    def find(self, key: str) -> Tagged | None:
        with _explained("read", key):
            try:
                data = self.path(key).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None
        return Tagged(data, _tag(data))

    def get(self, key: str) -> bytes:
        found = self.find(key)
        if found is None:
            raise missing(key, self.root)
        return found.data

    def list(self, prefix: str) -> tuple[StoredFile, ...]:
        base = self._folder / check_key(prefix.rstrip("/"))
        with _explained("list", prefix):
            found = []
            for path in sorted(_files(base)):
                with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                    if os.path.isfile(path):  # noqa: PTH113 - of tens of thousands, as texts
                        found.append((path, os.stat(path)))  # noqa: PTH116 - as above
        return tuple(self._stored(p, s) for p, s in found)

    def _stored(self, path: str, status: os.stat_result) -> StoredFile:
        return StoredFile(
            key=path[self._start :],
            size=status.st_size,
            identity=str(status.st_mtime_ns),
            modified=status.st_mtime,
        )

    def stat(self, key: str) -> StoredFile | None:
        path = self.path(key)
        with _explained("read", key):
            return self._stored(str(path), path.stat()) if path.is_file() else None

    def open(self, key: str) -> BinaryIO:
        with _explained("read", key):
            try:
                return self.path(key).open("rb")
            except FileNotFoundError:
                raise missing(key, self.root) from None

    def folders(self, prefix: str) -> tuple[str, ...]:
        base = self._folder / check_key(prefix.rstrip("/"))
        with _explained("list", prefix):
            try:
                with os.scandir(base) as entries:
                    return tuple(sorted(entry.name for entry in entries if entry.is_dir()))
            except (FileNotFoundError, NotADirectoryError):
                return ()

    def checksum(self, key: str) -> str:
        """CRC-32 of the content: 2.6 GB/s, and the page cache then serves Spark's own read."""
        value = 0
        with _explained("read", key):
            try:
                with self.path(key).open("rb") as file:
                    while chunk := file.read(_CHUNK):
                        value = zlib.crc32(chunk, value)
            except FileNotFoundError:
                raise missing(key, self.root) from None
        return checksum_text(value)

    def put(self, key: str, data: bytes) -> None:
        path = self.path(key)
        with _explained("write", key), self._temporary(path, data) as temporary:
            temporary.replace(path)
            _flush_folder(path.parent)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        path = self.path(key)
        with _explained("write", key):
            if path.exists():
                return False
            with self._temporary(path, data) as temporary:
                try:
                    path.hardlink_to(temporary)
                except FileExistsError:
                    return False
                _flush_folder(path.parent)
        return True

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        path = self.path(key)
        with _explained("write", key):
            self._make(path.parent)
            lock = path.with_name(f"{_PRIVATE}lock-{path.name}")
            with self._opened(lock, os.O_APPEND) as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                found = self.find(key)
                if found is None or found.tag != tag:
                    return False
                with self._temporary(path, data) as temporary:
                    temporary.replace(path)
                _flush_folder(path.parent)
        return True

    def copy(self, source: str, target: str) -> None:
        path = self.path(target)
        with _explained("write", target):
            self._make(path.parent)
            temporary = path.with_name(f"{_PRIVATE}tmp-{uuid.uuid4().hex}")
            try:
                try:
                    original = self.path(source).open("rb")
                except FileNotFoundError:
                    raise missing(source, self.root) from None
                with original, self._opened(temporary, os.O_EXCL) as file:
                    shutil.copyfileobj(original, file, _CHUNK)
                _flush_file(temporary)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            _flush_folder(path.parent)

    def _make(self, folder: Path) -> None:
        """Make a folder with all that are missing above it; those of the store with its rights."""
        if folder.is_dir():
            return
        if self._rights is None or not folder.is_relative_to(self._folder):
            folder.mkdir(parents=True, exist_ok=True)
            return
        self._make(folder.parent)
        try:
            folder.mkdir(self._rights[0])
        except FileExistsError:
            return
        folder.chmod(self._rights[0])  # whatever the umask takes away

    def _opened(self, path: Path, flags: int) -> BinaryIO:
        """A file opened for writing, made with the rights of the store if it is not there."""
        rights = 0o666 if self._rights is None else self._rights[1]
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | flags, rights)
        if self._rights is not None and flags & os.O_EXCL:
            os.fchmod(handle, rights)
        return os.fdopen(handle, "wb")

    def _opened_new(self, path: Path) -> BinaryIO:
        """A new file opened for writing, in a folder that clean-up may take away, empty as it is,
        between any two steps."""
        for _ in range(_FOLDER_TRIES):
            with contextlib.suppress(FileNotFoundError):
                self._make(path.parent)
                return self._opened(path, os.O_EXCL)
        return self._opened(path, os.O_EXCL)

    @contextlib.contextmanager
    def _temporary(self, path: Path, data: bytes) -> Iterator[Path]:
        """``data``, on the disk, under a private name next to ``path``; gone afterwards."""
        temporary = path.with_name(f"{_PRIVATE}tmp-{uuid.uuid4().hex}")
        try:
            with self._opened_new(temporary) as file:
                file.write(data)
            _flush_file(temporary)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def delete(self, key: str) -> None:
        """Delete a file, and the folders above it that this leaves empty."""
        path = self.path(key)
        with _explained("delete", key):
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # not empty, or a writer has just come back
                while (path := path.parent) != self._folder:
                    path.rmdir()

    def sweep(self, older_than: float) -> int:
        """Delete what killed writers left: temporary files last changed before ``older_than``,
        seconds since the epoch. Returns how many."""
        swept = 0
        for path in (Path(here) / name for here, name in _walked(self._folder)):
            if not path.name.startswith(f"{_PRIVATE}tmp-"):
                continue
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < older_than:
                    path.unlink()
                    swept += 1
        return swept


def _files(base: Path) -> Iterator[str]:
    """All files below a folder but our own temporary ones."""
    return (f"{here}{name}" for here, name in _walked(base) if not name.startswith(_PRIVATE))


def _walked(base: Path) -> Iterator[tuple[str, str]]:
    """All files below a folder. Links to folders are followed, as Spark does; a folder that goes
    meanwhile is empty, and one that cannot be read is an error, for its files would silently be
    lost."""

    def complain(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    for folder, below, names in os.walk(base, followlinks=True, onerror=complain):
        here = Path(folder)
        below[:] = [b for b in below if not _leads_back(here / b)]
        start = str(here / "_")[:-1]
        yield from ((start, name) for name in names)


def _leads_back(folder: Path) -> bool:
    return folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())


def missing(key: str, root: str) -> MissingKeyError:
    """The error for a key that should be there and is not."""
    return MissingKeyError(
        f"{key} is not in the store {root}",
        hint="It was deleted, or the store's root is not the one the day was started with.",
    )


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _flush_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(path: Path) -> None:
    """Make a new name durable, where the file system can flush a folder."""
    with contextlib.suppress(OSError):
        _flush_file(path)


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_AWAY = {
    errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.ENODEV,
    errno.ENXIO, errno.EREMOTEIO,
}  # fmt: skip
_NO_LINKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}


@contextlib.contextmanager
def _explained(verb: str, key: str) -> Iterator[None]:
    """Turn what the operating system says into an error that says what to do."""
    try:
        yield
    except OSError as error:
        message = f"cannot {verb} {key}: {error.strerror or error}"
        if error.errno in _FULL:
            raise StoreFullError(
                message, hint="Free space (forerun expire, or a larger disk), then retry the run."
            ) from error
        if error.errno in _NO_LINKS:
            raise StoreError(
                message + " (commits need hard links)", hint="Put the store on another disk."
            ) from error
        if error.errno in _DENIED:
            raise StoreDeniedError(
                message, hint=f"Let this user write to the store's folder; tried {error.filename}."
            ) from error
        if error.errno in _AWAY:
            raise StoreDownError(
                message, hint="Is the disk mounted, and its server up? Then retry the task."
            ) from error
        raise StoreError(message, hint="Check the disk that holds the store.") from error
