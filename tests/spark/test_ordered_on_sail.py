"""Ordered results on Sail: in order, in a memory that does not grow with a limit that is none."""

from __future__ import annotations

import subprocess
import sys

import pytest

_MOST_BYTES = 40 << 30
"""Of address space, of which Sail's stacks take a part: a limit of 2**31 - 1 groups takes more."""
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))
import pyarrow.parquet as pq
from pathlib import Path
from forerun.spark_jobs.engines.sail import start_sail

engine = start_sail()
for number, sql in enumerate(sys.argv[2:]):
    folder = Path(sys.argv[1]) / str(number)
    with engine.working_on("write"):
        engine.write_result(engine.session.sql(sql), folder.as_uri(), ordered=True)
    rows = [row for file in sorted(folder.glob("*.parquet")) for row in
            pq.read_table(file).column("o").to_pylist()]
    print(len(rows), rows == sorted(rows))
"""
ROWS = "(SELECT id % 977 AS k, id * 7919 % 10007 AS x FROM range(20000)) t"
QUERIES = (
    f"SELECT DISTINCT k AS o FROM {ROWS} ORDER BY o",
    f"SELECT k AS o FROM {ROWS} GROUP BY k ORDER BY o",
    f"SELECT max(x) AS o FROM {ROWS} GROUP BY k ORDER BY max(x)",
    f"SELECT k, min(x) AS o FROM {ROWS} GROUP BY k ORDER BY o",
    f"SELECT x AS o, k FROM {ROWS} ORDER BY x, k",
    f"SELECT DISTINCT k AS o FROM {ROWS} WHERE k < 0 ORDER BY o",
)


@pytest.mark.timeout(240)
def test_ordered_results_reserve_what_they_need(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(most=_MOST_BYTES), str(tmp_path), *QUERIES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [
        "977 True", "977 True", "977 True", "977 True", "20000 True", "0 True",
    ]  # fmt: skip
