"""Invents small tables with the columns of real ones, made to break things.

Keys meet, NULLs and duplicates are common, and now and then a value is at the limit of its type.
Half of the values are those of the real table, so that what a query's filters name is there.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.simulation.read_rows import read_batches, read_schema
from forerun.simulation.tables import Table

_SAMPLE = 64
"""So many rows of a real table give the values that are drawn from."""
_ROWS = (0, 1, 2, 5, 8, 13, 21, 40)
_NULLS = (0.0, 0.1, 0.3)
_DUPLICATED = 0.3
_FEBRUARY_2024_S = 1_706_745_600
_SMALL = tuple(range(6))
_TEXTS = ("", "a", "A", "ab", "ä", "x y", "0", "null", "é", "z" * 40)


@dataclass(frozen=True, slots=True)
class RealTable:
    """What is taken over of a real table: its schema, and values by column."""

    schema: pa.Schema
    values: Mapping[str, tuple[Any, ...]]


def read_real(table: Table) -> RealTable:
    """Read the schema of a table and some of its values."""
    schema = read_schema(table.files[0])
    some = next(read_batches(table.files[0], _SAMPLE), None)
    values = {
        name: tuple(some.column(name).to_pylist()) if some is not None else ()
        for name in schema.names
    }
    return RealTable(schema, values)


def invent(
    real: Mapping[str, RealTable],
    rng: random.Random,
    *,
    limits: bool,
    foreign_keys: Sequence[ReliedForeignKey] = (),
) -> dict[str, pa.Table]:
    """Return a small table for each real one. With ``limits`` some values are at the limits of
    their types, where sums overflow. Declared ``foreign_keys`` hold: the parent's key is unique,
    and a child's is one of the parent's, or NULL."""
    made = {name: _table(one, rng, limits=limits) for name, one in real.items()}
    for key in foreign_keys:
        if key.source in made and key.key.parent in made:
            parent = _with_unique(made[key.key.parent], key.key.parent_columns)
            made[key.key.parent] = parent
            made[key.source] = _with_parents(
                made[key.source], key.key.columns, parent, key.key.parent_columns, rng
            )
    return made


def write_tables(tables: Mapping[str, pa.Table], folder: Path) -> None:
    """Write each table as ``folder/NAME.parquet``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")


def rows_at(table: pa.Table, places: Sequence[int]) -> pa.Table:
    """Return the rows at these places, of which there may be none."""
    return table.take(pa.array(places, pa.int64()))


def _table(real: RealTable, rng: random.Random, *, limits: bool) -> pa.Table:
    size, nulls = rng.choice(_ROWS), rng.choice(_NULLS)
    columns = [
        pa.array([_value(real, field, rng, nulls, limits=limits) for _ in range(size)], field.type)
        for field in real.schema
    ]
    made = pa.Table.from_arrays(columns, schema=real.schema)
    if size and rng.random() < _DUPLICATED:
        again = [rng.randrange(size) for _ in range(rng.randint(1, 3))]
        made = pa.concat_tables([made, rows_at(made, again)])
    return made


def _value(
    real: RealTable, field: pa.Field, rng: random.Random, nulls: float, *, limits: bool
) -> Any:
    if field.nullable and rng.random() < nulls:
        return None
    known = [value for value in real.values[field.name] if value is not None]
    if known and rng.random() < 0.5:
        return rng.choice(known[:8] if rng.random() < 0.5 else known)
    drawn = _drawn(field.type, rng, limits=limits and rng.random() < 0.1)
    if drawn is not None:
        return drawn
    return rng.choice(known) if known else (None if field.nullable else _zero(field.type))


def _drawn(kind: pa.DataType, rng: random.Random, *, limits: bool) -> Any:
    """A value of a type, None for a type of which only real values are taken."""
    if pa.types.is_integer(kind):
        bits = kind.bit_width - (0 if pa.types.is_unsigned_integer(kind) else 1)
        lowest = 0 if pa.types.is_unsigned_integer(kind) else -(2**bits)
        return rng.choice((lowest, 2**bits - 1, 0)) if limits else rng.choice(_SMALL)
    if pa.types.is_floating(kind):
        odd = (float("nan"), float("inf"), -0.0, 1e300 if kind.bit_width == 64 else 1e38)
        return rng.choice(odd) if limits else rng.choice((0.0, -0.0, 1.5, -2.25, 3.0, 1024.5))
    if pa.types.is_decimal(kind):
        unscaled = 10**kind.precision - 1 if limits else rng.choice((0, 1, 105, -235, 9999))
        unscaled = min(unscaled, 10**kind.precision - 1)
        return Decimal(unscaled).scaleb(-kind.scale)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return rng.choice(_TEXTS if limits else _TEXTS[:5])
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_date(kind):
        return rng.choice((date(1, 1, 1), date(9999, 12, 31))) if limits else _day(rng)
    if pa.types.is_timestamp(kind):
        at = _FEBRUARY_2024_S + 1800 * rng.randrange(29 * 48)
        return pa.scalar(at, pa.timestamp("s")).cast(pa.timestamp(kind.unit)).as_py()
    return None


def _day(rng: random.Random) -> date:
    return date(2024, rng.choice((1, 2, 12)), rng.choice((1, 15, 28)))


def _zero(kind: pa.DataType) -> Any:
    return pa.scalar(0, pa.int64()).cast(kind).as_py()


def _with_unique(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The first row of each key without NULL."""
    keys = list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))
    first = {key: place for place, key in reversed(list(enumerate(keys))) if None not in key}
    return rows_at(table, sorted(first.values()))


def _with_parents(
    table: pa.Table,
    columns: Sequence[str],
    parent: pa.Table,
    parent_columns: Sequence[str],
    rng: random.Random,
) -> pa.Table:
    """The rows with keys of the parent; those for which there is none have NULL."""
    keys = list(zip(*(parent.column(name).to_pylist() for name in parent_columns), strict=True))
    nothing = (None,) * len(columns)
    drawn = [rng.choice(keys) if keys else nothing for _ in range(table.num_rows)]
    for place, name in enumerate(columns):
        index = table.schema.get_field_index(name)
        values = pa.array([key[place] for key in drawn], table.schema.field(index).type)
        table = table.set_column(index, table.schema.field(index), values)
    return table
