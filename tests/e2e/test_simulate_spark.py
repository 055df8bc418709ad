"""Days on Spark: every run a spark-submit of its own, figures from the event log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forerun.cli.app import run

TPCH = Path(__file__).parents[1] / "tpch"
pytestmark = pytest.mark.spark


TWO, THREE = ("0.58,1", "0.25,1"), ("0.58,0.79,1", "0.25,0.3,1")
DEAR = ("q01", "q03", "q06", "q13", "q14", "q18")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "points"),
    [("q13", TWO), *((q, THREE) for q in DEAR)],
)
def test_applications_that_follow_one_another_give_the_batch_result(
    query: str, points: tuple[str, str], tables: Path, tmp_path: Path
) -> None:
    target = tmp_path / "day.json"
    arguments = ["simulate", str(TPCH / f"{query}.sql"), "--tables", str(tables)]
    arguments += ["--method", "progressive", "--json", str(target), "--master", "local[2]"]
    arguments += ["--arrived", points[0], "--weights", points[1]]
    arguments += ["--store", str(tmp_path / "store"), "--changing", "orders,lineitem,customer"]
    used = TPCH.joinpath(f"{query}.sql").read_text()
    if "lineitem" in used and "orders" in used:
        arguments += ["--correlate", "lineitem.l_orderkey=orders.o_orderkey"]
    assert run(arguments) == 0
    day = json.loads(target.read_text())
    assert day["equal"]
    assert day["batch"]["cpu_s"] > 0
    assert day["batch"]["process_cpu_s"] > day["batch"]["cpu_s"]
    for one in day["runs"]:
        if not one["skipped"]:
            assert one["process_cpu_s"] > one["cpu_s"] > 0
            assert one["stages"]
    if query in ("q01", "q06", "q13", "q14"):
        assert day["early_work"]
        assert day["runs"][-1]["rows_read"] < day["batch"]["rows_read"]
