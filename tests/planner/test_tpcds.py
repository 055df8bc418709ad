"""Every TPC-DS text plans, and to the same bytes whatever Python's hash seed. Texts are fetched."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import SourceInput
from forerun.planner.errors import Reason
from forerun.planner.explain.reasons import reason_text
from forerun.planner.request import PlanRequest, Settings
from tests.benchmarks import planning, tpcds
from tests.benchmarks.page import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "lab" / "analysts.md"
NO_WANT = {Reason.COST, Reason.INPUT_WAITS, Reason.LIMIT}
"""Reasons that are no want of a rule: cost decides, what is below waits, or ORDER BY."""
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


def waiting() -> str:
    """The table of the page: what waits of the 99 queries, where all that may be early is."""
    by_what: dict[str, list[str]] = {}
    for task in planning.tasks(0.01):
        if task.name not in tpcds.texts_of_99():
            continue
        asked = PlanRequest(
            report="r",
            sql=task.sql,
            sources=task.sources,
            points=planning.points(3),
            method="progressive",
            settings=Settings(temporal="early"),
        )
        found, growing = plan(asked).plan, {one.name for one in task.sources if one.changing}
        read = {
            given.source
            for stage in found.runs[-1].stages
            for given in stage.inputs
            if isinstance(given, SourceInput) and given.version == "snapshot"
        }
        reasons = {one.reason for one in found.not_incremental} - NO_WANT
        what = {reason_text(reason) for reason in reasons}
        what |= {"reads a table that grows again"} if read & growing else set()
        for one in what or {"nothing"}:
            by_what.setdefault(one, []).append(task.name.lstrip("q"))
    lines = ["| what waits for the final run | queries | which |", "| --- | --- | --- |"]
    for one, names in sorted(by_what.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        listed = "all others" if one == "nothing" else ", ".join(names)
        lines.append(f"| {one} | {len(names)} | {listed} |")
    return "\n".join(lines)


def test_the_page_says_what_waits(accept: bool) -> None:
    part = re.compile(r"(?<=<!-- tpcds -->\n\n).*?(?=\n\n<!-- end of tpcds -->)", re.DOTALL)
    text = PAGE.read_text(encoding="utf-8")
    (table,) = part.findall(text)
    if accept:
        PAGE.write_text(part.sub(lambda _: waiting(), text), encoding="utf-8")
        return
    assert table == waiting(), "run it with --accept"
