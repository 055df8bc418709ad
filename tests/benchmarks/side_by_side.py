"""Queries of one application one after the other, and two at a time in FAIR pools: wall and CPU.

All queries of a suite, or some of them, are run in one session as ``A B B A``, after a round that
warms it up and is not counted. Their rows go nowhere.

    python -m tests.benchmarks.side_by_side tpch --scale 1 --only q01,q03,q06,q12,q14,q18
    python -m tests.benchmarks.side_by_side demo --scale 1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psutil
from pyspark.sql import SparkSession

from forerun.simulation.tables import find_tables
from tests.benchmarks.common_work import ALL_SUITES


def run_texts(session: SparkSession, texts: Sequence[str], at_once: int) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of this process and the JVM, of all texts."""

    def one(number: int) -> None:
        session.sparkContext.setLocalProperty("spark.scheduler.pool", f"pool-{number}")
        session.sql(texts[number]).write.format("noop").mode("overwrite").save()

    wall, cpu = time.monotonic(), cpu_s()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, range(len(texts))))
    return time.monotonic() - wall, cpu_s() - cpu


def cpu_s() -> float:
    """CPU seconds of this process and of those below it, such as a JVM."""
    me = psutil.Process()
    times = [one.cpu_times() for one in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("suite", choices=ALL_SUITES)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="", help="queries, such as q05,q09")
    given = parser.parse_args()
    suite = ALL_SUITES[given.suite]
    wanted = [name for name in given.only.split(",") if name]
    texts = [text for name, text in suite.texts().items() if not wanted or name in wanted]
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.scheduler.mode", "FAIR")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    for name, table in find_tables(suite.generate(given.scale)).items():
        files = [str(path) for path in table.files]
        session.read.parquet(*files).createOrReplaceTempView(name)
    run_texts(session, texts, 1)
    for at_once in (1, 2, 2, 1):
        wall, cpu = run_texts(session, texts, at_once)
        print(f"{len(texts)} queries, {at_once} at a time: {wall:.1f} s, {cpu:.1f} CPU s")
    session.stop()


if __name__ == "__main__":
    main()
