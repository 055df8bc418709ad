"""Parquet files whose footers say what is not so: numbers in the Thrift structure, patched.

Only values that keep their length in bytes are written, so everything else stays where it is.
Thrift's compact protocol: https://github.com/apache/thrift/blob/master/doc/specs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_STOP, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY = 0, 3, 4, 5, 6, 7, 8
_LISTS, _STRUCT = (9, 10), 12
# Field ids of parquet.thrift.
_ROWS, _ROW_GROUPS, _COLUMNS, _META_DATA, _PATH, _STATISTICS = 3, 4, 1, 3, 3, 12
_NULLS, _BOUNDS = 3, (1, 2, 5, 6)

Found = tuple[tuple[int, ...], int, int]
"""The path of field ids and list places to a value, and the first and last + 1 of its bytes."""


def lie(
    path: Path, *, nulls: bool = False, rows: bool = False, ones: str = "", small: str = ""
) -> None:
    """Let the footer say that no column has a NULL (``nulls``), that the file has no rows
    (``rows``), that every value of the BIGINT column ``ones`` is 1, or that every value of the
    DECIMAL column ``small`` is the smallest above 0."""
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - size
    found = list(_values(data, start, ()))
    names = {p[:4]: data[a:b].decode() for p, a, b in found if _in_column(p, (_PATH, 0))}
    for path_, first, end in found:
        if nulls and _in_column(path_, (_STATISTICS, _NULLS)):
            _zero(data, first, end)
        if rows and path_ == (_ROWS,):
            _zero(data, first, end)
        is_bound = any(_in_column(path_, (_STATISTICS, bound)) for bound in _BOUNDS)
        if ones and is_bound and names.get(path_[:4]) == ones:
            data[first:end] = (1).to_bytes(8, "little")
        if small and is_bound and names.get(path_[:4]) == small:
            data[first:end] = (1).to_bytes(end - first, "big")
    path.write_bytes(bytes(data))


def _in_column(path: tuple[int, ...], rest: tuple[int, ...]) -> bool:
    """Whether a path is ``rest`` within the metadata of a column chunk."""
    is_chunk = len(path) > 5 and (path[0], path[2], path[4]) == (_ROW_GROUPS, _COLUMNS, _META_DATA)
    return is_chunk and path[5:] == rest


def _zero(data: bytearray, first: int, end: int) -> None:
    """0 as a number with as many bytes as the one that is there."""
    data[first:end] = bytes([0x80] * (end - first - 1) + [0])


def _values(data: bytearray, at: int, path: tuple[int, ...]) -> Iterator[Found]:
    """Every number and text of a struct that starts here, last the struct itself."""
    start, field = at, 0
    while data[at] != _STOP:
        kind, step = data[at] & 0x0F, data[at] >> 4
        at += 1
        if step:
            field += step
        else:
            raw, at = _number(data, at)
            field = (raw >> 1) ^ -(raw & 1)
        for found in _value(data, at, kind, (*path, field)):
            yield found
            at = found[2]
    yield path, start, at + 1


def _value(data: bytearray, at: int, kind: int, path: tuple[int, ...]) -> Iterator[Found]:
    """A value, and first those within it."""
    if kind in (1, 2):  # a truth is in the kind
        yield path, at, at
    elif kind == _BYTE:
        yield path, at, at + 1
    elif kind in (_I16, _I32, _I64):
        yield path, at, _number(data, at)[1]
    elif kind == _DOUBLE:
        yield path, at, at + 8
    elif kind == _BINARY:
        size, at = _number(data, at)
        yield path, at, at + size
    elif kind in _LISTS:
        count, inside = data[at] >> 4, data[at] & 0x0F
        at += 1
        if count == 15:
            count, at = _number(data, at)
        for place in range(count):
            if inside in (1, 2):
                at += 1
                continue
            for found in _value(data, at, inside, (*path, place)):
                yield found
                at = found[2]
        yield path, at, at
    elif kind == _STRUCT:
        yield from _values(data, at, path)
    else:
        raise ValueError(f"type {kind} is in no footer")


def _number(data: bytearray, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift, more = at + 1, shift + 7, data[at] & 0x80
        if not more:
            return value, at
