"""Tables that Spark has written, by the jars of their formats, are read as Spark reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.tables_by_spark import DELTA, ICEBERG

JARS = (
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta:delta-storage:4.4.0",
)
RENAMES = ("renamed", "names that are given again")
ROWS = ("append", "append after it", "delete", "update", "merge", "after all")
HIDDEN = tuple(f"hidden partition by {part}" for part in ("day", "month", "year"))
EARLY = ("early result", "second one", "whole day", "branch after it")
BY_COLUMN = "days by a column"
COMPACTIONS = ("compaction", "compaction of what was changed")


def fetched(folder: Path) -> str:
    """Fetch the jars by Maven, once for a machine; the class path of all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for jar in JARS:
        _, name, version = jar.split(":")
        if not (folder / f"{name}-{version}.jar").exists():
            command = ["mvn", "-q", "dependency:copy", f"-Dartifact={jar}"]
            subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True)
    return ":".join(map(str, sorted(folder.glob("*.jar"))))


@pytest.mark.slow
@pytest.mark.spark
def test_tables_that_spark_has_written(tmp_path: Path) -> None:
    home = Path(os.environ.get("FORERUN_HOME", Path(__file__).parents[2] / ".forerun"))
    program = [sys.executable, "-m", "tests.spark.tables_by_spark", str(tmp_path)]
    done = subprocess.run(
        [*program, fetched(home / "jars" / "tables")],
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    found = {(table, step): came for table, step, came in json.loads(done.stdout)}
    expected = {("iceberg", step): "same" for step in (*HIDDEN, *EARLY, BY_COLUMN)}
    expected |= {("delta", BY_COLUMN): "same"}
    for table in (*(f"iceberg {name}" for name in ICEBERG), *(f"delta {name}" for name in DELTA)):
        expected |= {(table, step): "same" for step in ROWS}
        expected |= {(table, step): "unchanged" for step in COMPACTIONS}
        if table.startswith("iceberg") or table == "delta mapped":
            expected |= {(table, step): "same" for step in RENAMES}
    assert found == expected
