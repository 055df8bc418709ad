"""What spark-submit runs for ``make bench-streaming``: Spark Structured Streaming, and no Forerun.

Started as an application of its own, it knows nothing of the package that it lies in. ``follow``
keeps one query up to date over the files of a folder; ``try`` asks of many queries in which output
mode streaming takes them, and runs those that it takes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

MODES = ("append", "update", "complete")
_TAKEN_S = 120


def views(spark: SparkSession, folder: Path, streams: list[str], files: int) -> None:
    """Every folder below ``folder`` as a view: those of ``streams`` as streams whose micro-batches
    take at most so many files."""
    for table in sorted(folder.iterdir()):
        if table.name not in streams:
            spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
            continue
        schema = spark.read.parquet(str(next(table.glob("*.parquet")))).schema
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", files)
        stream.parquet(str(table)).createOrReplaceTempView(table.name)


def follow(spark: SparkSession, sql: str, checkpoint: Path, result: Path) -> int:
    """Process all files that are there; how many micro-batches they took."""
    rows = spark.sql(sql)
    query = (
        rows.writeStream.format("memory").queryName("result").outputMode("complete")
        .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    spark.table("result").coalesce(1).write.parquet(str(result))
    # Spark keeps the newest hundred of them.
    return 1 + max(int(one.name) for one in (checkpoint / "commits").glob("[0-9]*"))


def tried(spark: SparkSession, queries: Path, out: Path) -> Iterator[dict[str, str]]:
    """What streaming says to each query in each mode, ``""`` where it ran; the rows of those that
    ran are written below ``out``. In the mode ``update`` they are changes of rows, not the rows."""
    for path in sorted(queries.glob("q*.sql")):
        for mode in MODES:
            name = f"{path.stem}_{mode}"
            said = _said(partial(_take, spark, path.read_text(), name, mode, out))
            yield {"query": path.stem, "mode": mode, "said": said}


def _take(spark: SparkSession, sql: str, name: str, mode: str, out: Path) -> None:
    query = (
        spark.sql(sql).writeStream.format("memory").queryName(name).outputMode(mode)
        .option("checkpointLocation", str(out / "checkpoints" / name))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    if not query.awaitTermination(_TAKEN_S):
        query.stop()
        raise TimeoutError(f"not through after {_TAKEN_S} s")
    spark.table(name).coalesce(1).write.parquet(str(out / name))


def _said(take: Callable[[], None]) -> str:
    try:
        take()
    except (AnalysisException, StreamingQueryException) as error:
        return f"{error.getCondition() or type(error).__name__}: {str(error).splitlines()[0]}"
    except Exception as error:  # noqa: BLE001 - whatever it fails by is the answer
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("follow", "try"))
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--streams", required=True, help="tables, such as orders,lineitem")
    parser.add_argument("--files", type=int, default=1_000_000, help="of a micro-batch, at most")
    parser.add_argument("--sql", type=Path, required=True, help="a query, or a folder of some")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints, and what comes out")
    parser.add_argument("--result", type=Path)
    given = parser.parse_args()
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    views(spark, given.tables, given.streams.split(","), given.files)
    if given.what == "follow":
        batches = follow(spark, given.sql.read_text(), given.work, given.result)
        (given.work / "micro-batches").write_text(str(batches))
    else:
        found = list(tried(spark, given.sql, given.work))
        views(spark, given.tables, [], 0)
        for query in {one["query"] for one in found if not one["said"]}:
            rows = spark.sql((given.sql / f"{query}.sql").read_text())
            rows.coalesce(1).write.parquet(str(given.work / f"{query}_batch"))
        (given.work / "said.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
