"""Splitting whole tables into what would have arrived by each run of a day.

Every row has a position in the day, a number in [0, 1): a seeded hash of its row number, or of a
key, so that rows of two tables with equal keys arrive together. Row ``r`` is there at a run with
fraction ``f`` exactly if its position is below ``f``. Same tables, same seed: same deliveries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forerun.planner.errors import RequestError
from forerun.simulation.read_rows import read_batches
from forerun.simulation.tables import Table
from forerun.simulation.updates import Part, with_updates

_BATCH_ROWS = 1 << 20
_Positions = Callable[[pa.RecordBatch, int], np.ndarray]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Rows of ``child`` arrive with the row of ``parent`` that has the same key."""

    child: str
    child_key: str
    parent: str
    parent_key: str


def parse_correlation(text: str) -> Correlation:
    """Read ``child.key=parent.key``. Raises RequestError if it is written otherwise."""
    sides = [side.strip().split(".") for side in text.split("=")]
    if len(sides) != 2 or any(len(side) != 2 or not all(side) for side in sides):
        raise RequestError(
            f"--correlate {text!r} is not of the form child.key=parent.key",
            hint="For example --correlate lineitem.l_orderkey=orders.o_orderkey.",
        )
    (child, child_key), (parent, parent_key) = sides
    return Correlation(child, child_key, parent, parent_key)


def check_correlations(
    correlations: Sequence[Correlation], tables: Mapping[str, Table], changing: frozenset[str]
) -> None:
    """Refuse correlations that name what is not there, or go in a circle."""
    for one in correlations:
        for name, key in ((one.child, one.child_key), (one.parent, one.parent_key)):
            if name not in tables:
                raise RequestError(
                    f"--correlate names the table {name}, which is not there",
                    hint=f"The tables are {', '.join(sorted(tables))}.",
                )
            columns = [column.name for column in tables[name].columns]
            if key not in columns:
                raise RequestError(
                    f"--correlate names the column {name}.{key}, which is not there",
                    hint=f"Its columns are {', '.join(columns)}.",
                )
            if name not in changing:
                raise RequestError(
                    f"--correlate names {name}, which does not change during the day",
                    hint=f"Add it to --changing, or leave it out: {', '.join(sorted(changing))}.",
                )
    children = [one.child for one in correlations]
    parents = {one.child: one.parent for one in correlations}
    for child in children:
        if children.count(child) > 1:
            raise RequestError(
                f"--correlate gives {child} two parents", hint="A row arrives once: give one."
            )
        seen = {child}
        while (child := parents.get(child, "")) != "":
            if child in seen:
                raise RequestError(
                    f"--correlate goes in a circle through {child}", hint="Leave one of them out."
                )
            seen.add(child)


@dataclass(slots=True)
class Splitter:
    """Writes the deliveries of the changing tables.

    ``arrived`` are the fractions at each run, rising, the last one 1. ``changelogs``: tables whose
    deliveries also take rows back, see :mod:`forerun.simulation.updates`. ``orders``: the column in
    whose order the rows of a table come, those that tie in it together; else they come at random.
    """

    tables: Mapping[str, Table]
    arrived: tuple[float, ...]
    seed: int
    correlations: Sequence[Correlation] = ()
    changelogs: frozenset[str] = frozenset()
    orders: Mapping[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def write(
        self, name: str, folder: Path, progress: Callable[[int], None] | None = None
    ) -> tuple[int, ...]:
        """Write the deliveries of table ``name`` as ``folder/run-<i>.parquet``; return their rows.

        A delivery without rows is no file. Streams, so a table may be larger than memory.
        ``progress`` is told of rows done."""
        table = self.tables[name]
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"run-{run}.parquet" for run in range(1, len(self.arrived) + 1)]
        writers: dict[int, pq.ParquetWriter] = {}
        counts = [0] * len(paths)
        positions = self._positions(name)
        with ExitStack() as stack:
            for batch, first in _batches(table):
                runs = np.searchsorted(self.arrived, positions(batch, first), side="right")
                for run, part in self._parts(name, batch, runs, first):
                    if run not in writers:
                        writer = pq.ParquetWriter(paths[run], part.schema, compression="snappy")
                        writers[run] = stack.enter_context(writer)
                    writers[run].write_batch(part)
                    counts[run] += part.num_rows
                if progress is not None:
                    progress(batch.num_rows)
        return tuple(counts)

    def _parts(
        self, name: str, batch: pa.RecordBatch, runs: np.ndarray, first: int
    ) -> Iterator[Part]:
        """Yield (run, rows): the rows of a batch that are in the delivery of each run."""
        if name not in self.changelogs:
            for run in np.unique(runs):
                yield run, batch.filter(pa.array(runs == run))
            return
        own = {one.child_key for one in self.correlations if one.child == name}
        own |= {one.parent_key for one in self.correlations if one.parent == name}
        chances = _by_row(f"{name} again", self.seed + 1)(batch, first)
        yield from with_updates(batch, runs, len(self.arrived) - 1, chances, own)

    def _positions(self, name: str) -> _Positions:
        if name in self.orders:
            return self._in_order(name)
        for one in self.correlations:
            if one.child == name:
                return self._as_parent(one)
        for one in self.correlations:
            if one.parent == name:
                return _by_key(one.parent_key, self.seed)
        return _by_row(name, self.seed)

    def _in_order(self, name: str) -> _Positions:
        """The share of rows that are before a row in the order of a column. NULL is first."""
        column = self.orders[name]
        tied = [one for one in self.correlations if name in (one.child, one.parent)]
        if column not in [known.name for known in self.tables[name].columns] or tied:
            why = "has no such column" if not tied else "comes with the rows of another table"
            raise RequestError(
                f"--ordered-by {name}.{column}: {name} {why}",
                hint="Name a column of the table, and leave --correlate of that table out.",
            )
        found = [_places(batch.column(column)) for batch, _ in _batches(self.tables[name])]
        ordered = np.sort(np.concatenate(found)) if found else np.empty(0)

        def positions(batch: pa.RecordBatch, _first: int) -> np.ndarray:
            return np.searchsorted(ordered, _places(batch.column(column))) / max(1, len(ordered))

        return positions

    def _as_parent(self, one: Correlation) -> _Positions:
        """The parent's position by key; rows without a parent go by their row number."""
        first = next(c for c in self.correlations if c.parent == one.parent)
        is_root = all(c.child != one.parent for c in self.correlations)
        if is_root and one.parent_key == first.parent_key:
            return _by_key(one.child_key, self.seed)
        keys, positions = self._lookup(one.parent, one.parent_key)
        alone = _by_row(one.child, self.seed)

        def found(batch: pa.RecordBatch, start: int) -> np.ndarray:
            hashes = _hash_keys(batch.column(one.child_key), self.seed)
            at = np.searchsorted(keys, hashes).clip(max=max(0, len(keys) - 1))
            hit = keys[at] == hashes if len(keys) else np.zeros(len(hashes), dtype=bool)
            own = alone(batch, start)
            return np.where(hit, positions[at], own) if len(keys) else own

        return found

    def _lookup(self, parent: str, key: str) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of a parent's keys, sorted, and the latest position of each."""
        if (parent, key) not in self._known:
            positions = self._positions(parent)
            hashes, places = [np.empty(0, np.uint64)], [np.empty(0)]
            for batch, first in _batches(self.tables[parent]):
                hashes.append(_hash_keys(batch.column(key), self.seed))
                places.append(positions(batch, first))
            keys, place = np.concatenate(hashes), np.concatenate(places)
            order = np.lexsort((place, keys))
            keys, place = keys[order], place[order]
            last = np.append(keys[1:] != keys[:-1], True) if len(keys) else np.empty(0, bool)
            self._known[parent, key] = (keys[last], place[last])
        return self._known[parent, key]


def _batches(table: Table) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The rows of a table in order, in pieces, with the number of the first row of each."""
    first = 0
    for path in table.files:
        for batch in read_batches(path, _BATCH_ROWS):
            yield batch, first
            first += batch.num_rows


def _by_row(name: str, seed: int) -> _Positions:
    salt = int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "little")

    def positions(batch: pa.RecordBatch, first: int) -> np.ndarray:
        numbers = np.arange(first, first + batch.num_rows, dtype=np.uint64)
        return _unit(_mix(_mix(numbers, seed), salt))

    return positions


def _by_key(key: str, seed: int) -> _Positions:
    def positions(batch: pa.RecordBatch, _first: int) -> np.ndarray:
        return _unit(_hash_keys(batch.column(key), seed))

    return positions


def _places(values: pa.Array) -> np.ndarray:
    """Numbers, dates and moments on a line, NULL before all others."""
    kind = values.type
    if pa.types.is_temporal(kind):
        values = values.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise RequestError(
            f"--ordered-by names a column of type {kind}",
            hint="Rows come in the order of a number, a date or a moment.",
        )
    places: np.ndarray = values.cast(pa.float64()).fill_null(-np.inf).to_numpy(zero_copy_only=False)
    return places


def _hash_keys(values: pa.Array, seed: int) -> np.ndarray:
    """Equal values have equal hashes, whatever the width of the integer; NULL has one too."""
    if pa.types.is_integer(values.type):
        numbers = values.cast(pa.int64()).fill_null(-(2**62)).to_numpy(zero_copy_only=False)
        return _mix(numbers.view(np.uint64), seed)
    encoded = values.cast(pa.string()).dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    hashes = np.array([_text_hash(text) for text in texts] + [0], dtype=np.uint64)
    at = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return _mix(hashes[at], seed)


def _text_hash(text: str) -> int:
    """FNV-1a with 64 bits: stable between processes, unlike hash()."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def _mix(numbers: np.ndarray, seed: int) -> np.ndarray:
    """The finalizer of splitmix64 over number and seed; overflow wraps as it should."""
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF)
    mixed = numbers + start
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return result


def _unit(hashes: np.ndarray) -> np.ndarray:
    """Hashes as numbers in [0, 1)."""
    places: np.ndarray = (hashes >> np.uint64(11)).astype(np.float64) / 2.0**53
    return places
