"""Every TPC-DS text plans, and to the same bytes whatever Python's hash seed. Texts are fetched."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.benchmarks import tpcds
from tests.benchmarks.page import ROOT

pytestmark = pytest.mark.slow

PROGRAM = """
import hashlib
from forerun.planner.api import plan
from forerun.planner.contract import encode_plan
from forerun.planner.request import PlanRequest
from tests.benchmarks.planning import points, tasks

for task in tasks(0.01):
    for method in ("auto", "progressive"):
        found = plan(PlanRequest(report="r", sql=task.sql, sources=task.sources,
                                 points=points(3), method=method))
        print(task.name, method, hashlib.sha256(encode_plan(found.plan)).hexdigest())
"""


def plans(seed: str) -> list[str]:
    """The digests of all plans, made in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line.count(" ") == 2]


def test_the_same_request_gives_the_same_bytes() -> None:
    first = plans("1")
    names = {line.split()[0] for line in first}
    assert set(tpcds.NAMES) <= names
    assert plans("77") == first
