"""An application that does a run as ``spark_jobs/run.py`` does, and writes down after each phase
what has been used by then: see :mod:`tests.benchmarks.fixed_cost`, which submits it.

The first statement and the first job stand alone here, where a run has them within its stages.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

MARK = "MARK "
KINDS = ("python", "jvm", "compilers", "collector", "classes")
"""CPU seconds of Python and of the JVM; of its threads that compile and that collect garbage; and
the wall seconds that all its threads together spent loading classes."""
_TICKS = os.sysconf("SC_CLK_TCK")
_COMPILERS = ("C1 CompilerThre", "C2 CompilerThre", "Sweeper thread")
_COLLECTORS = ("VM Thread", "GC Thread", "G1 ")
_SEEN: dict[tuple[str, str], float] = {}
"""CPU seconds by thread, of those that have ended, too."""


def used_by_now(jvm: int) -> dict[str, float]:
    """The :data:`KINDS`; ``jvm`` is the process that started this one. Its children that have
    ended (the launcher) are its own, here."""
    for thread in Path(f"/proc/{jvm}/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            name = (thread / "comm").read_text().strip()
            _SEEN[thread.name, name] = int((thread / "schedstat").read_text().split()[0]) / 1e9
    own, ended = os.times(), Path(f"/proc/{jvm}/stat").read_text().rpartition(")")[2].split()
    return {
        "python": own.user + own.system,
        "jvm": sum(map(int, ended[11:15])) / _TICKS,
        "compilers": _sum_of(_COMPILERS),
        "collector": _sum_of(_COLLECTORS),
        "classes": _loading_classes(jvm),
    }


def _sum_of(names: tuple[str, ...]) -> float:
    return sum(took for (_, name), took in _SEEN.items() if name.startswith(names))


def _loading_classes(jvm: int) -> float:
    """From the counters that HotSpot keeps in a file: a header, then entries with a name and, for
    those asked for here, a number of 8 bytes."""
    (found,) = Path("/tmp").glob(f"hsperfdata_*/{jvm}")
    data, counters = found.read_bytes(), {}
    at, entries = struct.unpack_from("<ii", data, 24)
    for _ in range(entries):
        length, name, _, _, _, _, _, value = struct.unpack_from("<iiibbbbi", data, at)
        text = data[at + name : data.index(b"\0", at + name)].decode()
        if text in ("sun.cls.time", "sun.os.hrt.frequency"):
            (counters[text],) = struct.unpack_from("<q", data, at + value)
        at += length
    return float(counters["sun.cls.time"] / counters["sun.os.hrt.frequency"])


def main(uri: str) -> None:
    jvm = os.getppid()

    def mark(phase: str) -> None:
        sys.stdout.write(MARK + json.dumps({"phase": phase} | used_by_now(jvm)) + "\n")
        sys.stdout.flush()

    mark("spark-submit, JVM, Python")
    import forerun.spark_jobs  # noqa: F401, I001 - it decides which pyspark is imported
    import pyspark.sql  # noqa: F401

    mark("import of pyspark")
    import forerun.spark_jobs.run as job

    mark("import of the job")
    (stored,) = job.read_plans([uri])[0]
    mark("reading the plan")
    engine = job.start_engine(job.ENGINES["spark"], master=None, name="fixed cost")
    mark("session")
    frame = engine.session.sql("SELECT 1 AS x")
    mark("catalog: the first statement")
    frame.collect()
    mark("first job, of one row")

    def progress(line: str) -> None:
        if line.startswith("stage "):
            mark("binding, the plan's stages")

    job.run_all(engine, [stored], "t1-fixed", progress, job.Meter(whole_process=True))
    mark("checks and commit")
    engine.stop()
    mark("stopping the session")


if __name__ == "__main__":
    main(sys.argv[1])
