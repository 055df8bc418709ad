"""The event logs that Spark leaves in a folder, and their lines, whatever they are packed in.

An application has one file, or a folder ``eventlog_v2_<id>`` of numbered ones. Both end in
``.inprogress`` while it runs, and for ever if it was killed; the end of the last file may then be
cut off. What Spark has compressed is named after the codec, by default ``zstd``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

import pyarrow as pa

from forerun.planner.errors import ForerunError

_ROLLING = "eventlog_v2_"
_ROLLED = re.compile(r"events_(\d+)_")
_RUNNING, _COMPACTED = ".inprogress", ".compact"
_BLOCK = b"LZ4Block"
_PLAIN_BLOCK = 0x10
_LONGEST_BLOCK = 1 << 26


class EventLogError(ForerunError):
    """An event log that cannot be read."""

    code = "event-log"


@dataclass(frozen=True, slots=True)
class EventFiles:
    """The event log of one application: its files in order."""

    name: str
    files: tuple[Path, ...]

    def lines(self) -> Iterator[str]:
        """Every line. Raises :class:`EventLogError` where a file cannot be read on; all lines
        before that have been given."""
        for path in self.files:
            try:
                with _opened(path) as file:
                    yield from file
            except (OSError, EOFError, pa.ArrowException) as error:
                raise EventLogError(
                    f"{path} cannot be read to its end: {error}",
                    hint="It is damaged, or its application was killed.",
                ) from None


def find_event_files(place: Path) -> tuple[EventFiles, ...]:
    """The event logs in a folder, or the one that is a file or the folder of a rolling log, by
    name. Raises :class:`EventLogError` if there is none."""
    if not place.exists():
        raise EventLogError(
            f"there is no {place}", hint="Give an event log, or the folder that has some."
        )
    if place.is_dir() and not place.name.startswith(_ROLLING):
        found = tuple(_log(one) for one in sorted(place.iterdir()) if _may_be_log(one))
    else:
        found = (_log(place),)
    if not any(log.files for log in found):
        raise EventLogError(
            f"{place} holds no event log",
            hint="Spark writes them where spark.eventLog.dir says, if spark.eventLog.enabled is "
            "true.",
        )
    return tuple(log for log in found if log.files)


def _may_be_log(path: Path) -> bool:
    if path.name.startswith((".", "_")):
        return False
    return path.name.startswith(_ROLLING) if path.is_dir() else path.stat().st_size > 0


def _log(path: Path) -> EventFiles:
    if not path.is_dir():
        return EventFiles(path.name, (path,))
    numbered = sorted(
        (int(found[1]), one) for one in path.iterdir() if (found := _ROLLED.match(one.name))
    )
    # A compacted file says what is left to say of all before it.
    compacted = [number for number, one in numbered if one.name.endswith(_COMPACTED)]
    last = max(compacted, default=0)
    return EventFiles(
        path.name,
        tuple(
            one
            for number, one in numbered
            if number > last or (number == last and one.name.endswith(_COMPACTED))
        ),
    )


def _opened(path: Path) -> TextIOWrapper:
    named = path.name.removesuffix(_RUNNING).removesuffix(_COMPACTED)
    suffix = named.rpartition(".")[2] if "." in named else ""
    if suffix in _UNREADABLE:
        raise OSError("of what Spark compresses, only zstd and lz4 can be read")
    if suffix == "lz4":
        return TextIOWrapper(BufferedReader(_Lz4Blocks(path)), "utf-8", "replace")
    # Without a codec the file is read as it is.
    file: Any = pa.input_stream(str(path), compression=_CODECS.get(suffix))
    return TextIOWrapper(file, "utf-8", "replace")


_CODECS = {"zstd": "zstd", "gz": "gzip"}
_UNREADABLE = ("snappy", "lzf")


class _Lz4Blocks(RawIOBase):
    """The stream of data that Spark compresses with lz4: not the frames of the lz4 program, but
    blocks of its own."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        target = memoryview(into)
        while not self._left:
            block = self._block()
            if block is None:
                return 0
            self._left = memoryview(block)
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _block(self) -> bytes | None:
        """The next block; None at the end of the file."""
        head = self._file.read(21)
        if not head:
            return None
        packed, size = (int.from_bytes(head[at : at + 4], "little") for at in (9, 13))
        if not head.startswith(_BLOCK) or max(packed, size) > _LONGEST_BLOCK:
            raise OSError("it is no block of lz4")
        data = self._file.read(packed)
        if len(head) < 21 or len(data) < packed:
            raise EOFError("its end is cut off")
        if head[8] & 0xF0 == _PLAIN_BLOCK or not size:
            return data
        unpacked: bytes = pa.Codec("lz4_raw").decompress(data, size, asbytes=True)
        return unpacked


def all_event_files(places: Iterable[Path]) -> tuple[EventFiles, ...]:
    """The event logs of several places; see :func:`find_event_files`."""
    return tuple(log for place in places for log in find_event_files(place))
