"""Thrift's compact protocol, as far as footers of Parquet files need it: structs by field number.

Source: the protocol's own description (thrift-compact-protocol.md of Apache Thrift).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_DEEPEST = 64


class ThriftError(ValueError):
    """Bytes that are no struct of the protocol."""


class CompactReader:
    """Reads one struct from bytes; nothing is read beyond what is asked for."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def fields(self, depth: int = 0) -> Iterator[tuple[int, Any]]:
        """The fields of a struct in the order in which they lie there: number and value. A value is
        a bool, an int, bytes (a double, too), a list, or the dict of a struct by field number.

        Raises :class:`ThriftError` where the bytes end or make no sense.
        """
        if depth > _DEEPEST:
            raise ThriftError("structs inside one another are too deep")
        number = 0
        while (head := self._byte()) != _STOP:
            delta, kind = head >> 4, head & 15
            number = number + delta if delta else self._zigzag()
            yield number, self._value(kind, depth)

    def _value(self, kind: int, depth: int, *, listed: bool = False) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE if listed else kind == _TRUE
        if kind == _BYTE:
            return int.from_bytes(self._take(1), "little", signed=True)
        if _BYTE < kind <= _I64:
            return self._zigzag()
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _MAP:
            return self._map(depth)
        if kind == _STRUCT:
            return dict(self.fields(depth + 1))
        raise ThriftError(f"there is no type {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        return [self._value(head & 15, depth + 1, listed=True) for _ in range(self._bounded(size))]

    def _map(self, depth: int) -> list[Any]:
        size = self._bounded(self._varint())
        kinds = self._byte() if size else 0
        of = (kinds >> 4, kinds & 15)
        return [tuple(self._value(k, depth + 1, listed=True) for k in of) for _ in range(size)]

    def _bounded(self, size: int) -> int:
        if size > len(self._data) - self._at:
            raise ThriftError(f"{size} values in {len(self._data) - self._at} bytes")
        return size

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ThriftError("a number is too long")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise ThriftError("the bytes end too early")
        taken = self._data[self._at : end]
        self._at = end
        return taken
