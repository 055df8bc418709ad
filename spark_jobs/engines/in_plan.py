"""Few rows as a part of the plan, in place of a table that is held in memory.

What is held (``persist``) is a query stage of its own to adaptive execution, and no two of these
are the same to Spark 4.1.4 (``TableCacheQueryStageExec``): what is computed twice over one is
computed and shuffled twice, where Spark would have shuffled it once. Rows in the plan are the same
wherever they have the same values, and the driver sends them to all workers without a job.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, types

from forerun.spark_jobs.engine import quoted

JAVA_TIME = ("spark.sql.datetime.java8API.enabled", "true")
"""The setting with which days and instants go through Java as they are; its older classes of time
move some of them."""
_AS_THEY_ARE = (
    types.BooleanType,
    types.IntegralType,
    types.FractionalType,
    types.DateType,
    types.TimestampType,
    types.TimestampNTZType,
    types.StringType,
    types.BinaryType,
)


def can_be_in_plan(frame: Any) -> bool:
    """Return whether rows have only types whose values are the same after a way through Java."""
    return all(isinstance(field.dataType, _AS_THEY_ARE) for field in frame.schema.fields)


def in_plan(frame: Any) -> Any:
    """Return a frame of the same rows with these as a part of its plan, computed now. The session
    has :data:`JAVA_TIME`. Texts go as bytes, since not every text is UTF-8."""
    fields = frame.schema.fields
    texts = {f.name: f.dataType for f in fields if isinstance(f.dataType, types.StringType)}
    as_bytes = frame.withColumns({name: frame[quoted(name)].cast("binary") for name in texts})
    session = frame.sparkSession._jsparkSession  # noqa: SLF001 - Python's own way takes RDDs
    schema = session.parseDataType(as_bytes.schema.json())
    rows = session.createDataFrame(as_bytes._jdf.collectAsList(), schema)  # noqa: SLF001 - the same
    there = DataFrame(rows, frame.sparkSession)
    return there.withColumns({n: there[quoted(n)].cast(kind) for n, kind in texts.items()})
