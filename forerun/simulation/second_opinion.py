"""A second opinion where the small engine and a plan disagree: DuckDB's, where it is installed.

On the small engine the plain query is run by an engine that itself is wrong now and then. Where it
disagrees with the day's result, a third engine that has nothing in common with either is asked. Its
SQL is another one (:mod:`sqlglot` translates), and its types are: values are compared, numbers as
floating point. It counts only where it agrees with the day's result to the value; where it does
not, or does not know the query, nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import pyarrow as pa
import sqlglot
from sqlglot.errors import SqlglotError

from forerun.include.verify.equality import compare


def agrees(sql: str, tables: Mapping[str, pa.Table], result: pa.Table) -> bool:
    """Return whether DuckDB gives the rows of ``result`` for a query over these tables; False also
    where it is not installed, or cannot run the query."""
    found = _asked(sql, tables) if find_spec("duckdb") else None
    if found is None:
        return False
    if not result.num_rows or found.num_columns != result.num_columns:
        return bool(found.num_rows == result.num_rows == 0)
    names = [f"c{place}" for place in range(result.num_columns)]
    expected, actual = (_plain(one.rename_columns(names)) for one in (result, found))
    try:
        actual = actual.cast(expected.schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return compare(expected, actual).equal


def _asked(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    import duckdb

    try:
        # As Databricks has it, a cast that fails is an error; as Spark had it once, NULL.
        text = sqlglot.transpile(sql, read="databricks", write="duckdb")[0]
        with duckdb.connect() as connection:
            for name, table in tables.items():
                connection.register(name, table)
            return connection.sql(text).to_arrow_table()
    except (SqlglotError, duckdb.Error):
        return None


def _plain(rows: pa.Table) -> pa.Table:
    """The rows with every number as floating point, and times without a zone."""
    columns = []
    for column in rows.columns:
        kind = column.type
        if pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            kind = pa.float64()
        elif pa.types.is_timestamp(kind):
            kind = pa.timestamp("us")
        columns.append(column.cast(kind))
    return pa.table(columns, names=rows.column_names)
