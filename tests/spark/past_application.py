"""A Spark application as there are many: its statements leave an event log behind.

``python past_application.py FOLDER CODEC ROLLING END`` has it write its log into ``FOLDER/logs``,
plain if the codec is ``none``; END is ``stopped``, or ``killed`` for one whose JVM is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import SparkSession

TEXT = "SELECT k, sum(v) AS s FROM orders WHERE v > 17 GROUP BY k"


def main(folder: Path, codec: str, rolling: str, end: str) -> None:
    logs, orders = folder / "logs", str(folder / "orders")
    logs.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": str(codec != "none").lower(),
        "spark.eventLog.rolling.enabled": rolling,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
    }
    if codec != "none":
        settings["spark.eventLog.compression.codec"] = codec
    spark = SparkSession.builder.master("local[2]").appName("nightly").config(map=settings)
    session = spark.getOrCreate()
    session.range(1000).selectExpr("id % 10 AS k", "id AS v").write.parquet(orders)
    session.read.parquet(orders).createOrReplaceTempView("orders")
    session.sparkContext.setJobDescription(TEXT)
    session.sql(TEXT).collect()
    session.sparkContext.setJobDescription(f"CREATE TABLE t AS {TEXT}")
    session.sql(f"CREATE TABLE t USING parquet AS {TEXT}")
    session.sparkContext.setJobDescription(None)
    session.read.parquet(orders).groupBy("k").count().collect()
    if end == "stopped":
        session.stop()
        return
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    os.kill(session.sparkContext._gateway.proc.pid, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
