"""A tiny engine: sums by key over Parquet files in the simulated store, as one Spark driver would.

It implements :class:`forerun.spark_jobs.engine.Engine`. It reads its inputs when a stage writes, as
Spark does, and every file that it reads or writes is a store call of its own. An error of the store
comes out as Spark's kind of exception.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException

from forerun.include.machine.eventlog import ApplicationUse
from forerun.include.stores.store import Store, StoreError
from forerun.planner.contract import ColumnSpec, Family
from forerun.spark_jobs.engine import Judgement, Partition
from tests.simulation.store import is_data

Rows = tuple[tuple[int, int], ...]
_NULL = re.compile(r"CAST\(NULL AS (.+?)\) AS `(.+?)`")
_SUM = re.compile(r"SUM\(v\) BY k OF (.+)")


_KNOWN: dict[bytes, Rows] = {}
"""The rows of files that were written here: to read a tiny file takes milliseconds."""


@lru_cache(maxsize=1 << 13)
def parquet(rows: Rows) -> bytes:
    """Rows of (k, v) as a Parquet file."""
    columns = {
        "k": pa.array([row[0] for row in rows], pa.int64()),
        "v": pa.array([row[1] for row in rows], pa.int64()),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="none", use_dictionary=False)
    data = sink.getvalue()
    _KNOWN[data] = tuple(sorted(rows))
    return data


def rows_of(data: bytes) -> Rows:
    """The rows of such a file, sorted."""
    if (known := _KNOWN.get(data)) is None:
        table = pq.ParquetFile(io.BytesIO(data)).read(use_threads=False)
        columns = (table.column(name).to_pylist() for name in ("k", "v"))
        if len(_KNOWN) > 1 << 15:
            _KNOWN.clear()
        known = _KNOWN[data] = tuple(sorted(zip(*columns, strict=True)))
    return known


def total(rows: Iterable[tuple[int, int]]) -> Rows:
    """SUM(v) by k."""
    sums: dict[int, int] = {}
    for k, v in rows:
        sums[k] = sums.get(k, 0) + v
    return tuple(sorted(sums.items()))


@dataclass(frozen=True)
class Frame:
    """Rows that are read when they are asked for."""

    of: tuple[ColumnSpec, ...]
    read: Callable[[], Rows]

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self.of]

    @property
    def schema(self) -> SimpleNamespace:
        return _schema(self.of)

    def toDF(self, *names: str) -> Frame:  # noqa: N802 - Spark's name
        return replace(
            self, of=tuple(replace(c, name=n) for c, n in zip(self.of, names, strict=True))
        )


class _Type:
    """A data type that says its name as Spark does."""

    def __init__(self, name: str) -> None:
        self._name = name.lower()

    def simpleString(self) -> str:  # noqa: N802 - Spark's name
        return self._name


@lru_cache(maxsize=64)
def _schema(columns: tuple[ColumnSpec, ...]) -> SimpleNamespace:
    fields = [SimpleNamespace(name=c.name, dataType=_Type(c.type), nullable=True) for c in columns]
    return SimpleNamespace(fields=fields)


class TinyEngine:
    """One driver. ``buckets``: whether what it keeps is written in buckets; ``token`` is in the
    names of its files."""

    name = "tiny"
    reports_scans = False
    reports_cpu = True

    def __init__(
        self, whole: Store, key_of: Callable[[str], str], token: str, *, buckets: bool
    ) -> None:
        self._store, self._key_of, self._token = whole, key_of, token
        self.has_buckets = buckets
        self.session = self
        self._views: dict[str, Callable[[], Rows]] = {}

    def sql(self, text: str) -> Frame:
        """What the plans of :mod:`tests.simulation.plans` say, and a SELECT of typed nulls."""
        found = _SUM.fullmatch(text)
        if found is None:
            nulls = tuple(ColumnSpec(name=n, type=t) for t, n in _NULL.findall(text))
            return Frame(nulls, lambda: ())
        names = found[1].split(", ")
        columns = (ColumnSpec(name="k", type="bigint"), ColumnSpec(name="v", type="bigint"))
        return Frame(columns, lambda: total(row for n in names for row in self._views[n]()))

    def configure(self, pairs: Iterable[tuple[str, str]]) -> None:
        """There is nothing to set."""

    def read(
        self, files: Sequence[str], columns: Sequence[ColumnSpec], form: str = "parquet"
    ) -> Frame:
        return Frame(tuple(columns), lambda: self._rows(files))

    def _rows(self, files: Sequence[str]) -> Rows:
        with _as_spark():
            found = [rows_of(self._store.get(self._key_of(file))) for file in files]
        return tuple(row for rows in found for row in rows)

    def conform(self, frame: Frame, columns: Sequence[ColumnSpec]) -> Frame:
        return frame

    def bind_view(self, name: str, frame: Frame) -> None:
        self._views[name] = frame.read

    def open_family(self, family: Family, folder: str) -> None:
        self._views[family.id] = lambda: ()

    def add_partition(self, family: Family, partition: Partition) -> None:
        before, folder = self._views[family.id], partition.folder
        self._views[family.id] = lambda: (*before(), *self._in(folder))

    def _in(self, folder: str) -> Rows:
        """As Spark reads a partition: whatever lies in its folder, nothing if it is gone."""
        with _as_spark():
            files = [f.key for f in self._store.list(self._key_of(folder)) if is_data(f.key)]
            found = [rows_of(self._store.get(key)) for key in files]
        return tuple(row for rows in found for row in rows)

    def partitions_for(self, size: int) -> int:
        return 0

    @contextlib.contextmanager
    def shuffling_into(self, partitions: int) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def running(self, sql: str) -> Iterator[None]:
        yield

    def write_artifact(self, frame: Frame, family: Family, folder: str) -> int:
        return self._write(frame.read(), folder, family.buckets if self.has_buckets else 0)

    def write_result(self, frame: Frame, folder: str, *, ordered: bool) -> int:
        return self._write(frame.read(), folder, 0)

    def _write(self, rows: Rows, folder: str, buckets: int) -> int:
        key = self._key_of(folder)
        with _as_spark():
            for bucket in range(max(1, buckets)):
                mine = tuple(row for row in rows if not buckets or row[0] % buckets == bucket)
                number = f"_{bucket:05d}.c000" if buckets else f"-{bucket:05d}"
                if mine or not buckets:
                    # As Spark's, names differ from attempt to attempt.
                    name = f"part-{self._token}{number}.parquet"
                    self._store.put(f"{key}/{name}", parquet(mine))
        return len(rows)

    @contextlib.contextmanager
    def working_on(self, stage: str) -> Iterator[None]:
        yield

    def used(self) -> ApplicationUse:
        return ApplicationUse(())

    def judge(self) -> str:
        return ""  # it reads no SQL, so nothing is asked of it

    def compared(self, *_asked: object) -> Judgement:
        return Judgement("not-asked", "the engine of the simulation reads no SQL")

    def stop(self) -> None:
        """There is nothing to end."""


@contextlib.contextmanager
def _as_spark() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise PySparkException(message=f"[TINY] {error.message}") from None
