"""The formats of sources by name, and the types of their columns: what a value need not import of
:mod:`forerun.include.sources.formats`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from forerun.include.reports.values.fields import SpecError
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import ColumnSpec

FORMATS = ("parquet", "csv", "json", "delta", "iceberg", "kafka", "postgresql", "report")
"""The names of :data:`forerun.include.sources.formats.FORMATS`, each as there."""
LOGGED = ("delta", "iceberg")
"""Those of tables with a log: it says itself which columns are partitions, and what goes."""
SERVICES = {"kafka": "a topic", "postgresql": "a table"}
"""Those that are asked of a server by an Airflow connection, and what holds the rows there."""
STREAMS = ("kafka",)
"""Those of them whose rows only come, with times that tell their days apart."""
RESULTS = "report"
"""The one of results that other reports publish."""
_COLLATED = re.compile(r"STRING COLLATE \w+", re.ASCII)
_SPARK_TYPES = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
}  # fmt: skip


def check_types(columns: Iterable[ColumnSpec], what: str) -> None:
    """Raise :class:`SpecError` for a column of a type that Spark has not."""
    for column in columns:
        try:
            kind = parse_type(column.type).name
            known = kind in _SPARK_TYPES or "<" in kind or _COLLATED.fullmatch(kind)
        except ValueError as error:
            raise SpecError(f"{what}: column {column.name}: {error}", hint="") from None
        if not known:
            raise SpecError(
                f"{what}: column {column.name} has the unknown type {column.type!r}",
                hint="Use a Spark SQL type such as BIGINT, DECIMAL(12,2), STRING or DATE.",
            )
