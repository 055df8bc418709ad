"""``spark-submit cluster_probe.py --folder URI --wait S``: say what a cluster's executors have.

``forerun doctor --master`` submits it, the way a run is submitted. The last line of stdout is a
JSON object: facts, and for each thing that was tried and failed the engine's own words. What they
mean, and what to do about it, is the doctor's part.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forerun.include.machine.wall_clock import utc_now
from forerun.planner.errors import ForerunError
from forerun.spark_jobs.engine import Session
from forerun.spark_jobs.failures import explained

PACKAGES = ("pyspark", "pyarrow", "pandas")
_POLL = 0.2
_ROWS = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code, 0 also if the cluster lacks something."""
    from forerun.spark_jobs.engines.spark import start_spark

    parser = argparse.ArgumentParser(prog="cluster_probe.py")
    parser.add_argument("--folder", required=True, help="URI below which executors write and read")
    parser.add_argument("--wait", type=float, default=60.0, help="seconds to wait for executors")
    options = parser.parse_args(arguments)
    engine = start_spark(name="forerun doctor")
    try:
        facts = probe(engine.session, options.folder, options.wait)
    finally:
        engine.stop()
    sys.stdout.write(json.dumps(facts) + "\n")
    return 0


def probe(session: Session, folder: str, wait: float) -> dict[str, object]:
    """Everything that can be found out; one thing that fails never hides the next. Without an
    executor after ``wait`` seconds nothing more is tried: no task would ever start."""
    context = session.sparkContext
    started = time.monotonic()
    while not (hosts := _executors(context)) and time.monotonic() - started < wait:
        time.sleep(_POLL)
    facts: dict[str, object] = {"executors": hosts, "waited_s": round(time.monotonic() - started)}
    if hosts:
        tasks = 2 * len(hosts)  # so that, more likely than not, each has one
        for name, look in (
            ("python", lambda: _python(context, tasks)),
            ("store", lambda: _store(session, folder, tasks)),
        ):
            facts[name] = _tried(name, look)
    return facts


def _executors(context: Any) -> list[str]:
    """The hosts of the application's executors; of a local master, of the driver itself."""
    scala_context = context._jsc.sc()  # noqa: SLF001 - no public way in from Python
    infos = scala_context.statusTracker().getExecutorInfos()
    found = [f"{info.host()}:{info.port()}" for info in infos]
    driver = f"{context.getConf().get('spark.driver.host')}:"
    port = scala_context.env().blockManager().blockManagerId().port()
    return found if scala_context.isLocal() else [f for f in found if f != f"{driver}{port}"]


def _tried(name: str, look: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        with explained(name):
            return look()
    except ForerunError as error:
        return {"failed": error.message}


def _python(context: Any, tasks: int) -> dict[str, object]:
    """Python's versions on the executors, what they lack, and how far their clocks are from the
    driver's: at least so much, for the time that tasks take to answer is taken off."""
    looked = context.parallelize(range(tasks), tasks).mapPartitions(look_around)
    looked.count()  # the first time, executors start Python
    before = utc_now().timestamp()
    found = looked.collect()
    after = utc_now().timestamp()
    return {
        "versions": sorted({version for version, _, _ in found}),
        "missing": sorted({name for _, missing, _ in found for name in missing}),
        "clocks_apart_s": round(max(max(before - t, t - after, 0.0) for _, _, t in found), 3),
    }


def look_around(_rows: Iterator[int]) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Run by an executor: its Python's version, which packages it lacks, and what time it is."""
    from importlib import util

    version = ".".join(map(str, sys.version_info[:3]))
    missing = tuple(name for name in PACKAGES if util.find_spec(name) is None)
    yield version, missing, utc_now().timestamp()


def _store(session: Session, folder: str, tasks: int) -> dict[str, object]:
    """Executors write files into the store and read them back; ``rows`` is what they found."""
    session.range(0, _ROWS, 1, tasks).write.parquet(folder)
    return {"rows": session.read.parquet(folder).count(), "written": _ROWS, "files": tasks}


if __name__ == "__main__":
    sys.exit(main())
