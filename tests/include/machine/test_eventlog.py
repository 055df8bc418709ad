"""Reading an event log: by stage, by family, only whole lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forerun.include.machine.eventlog import EventLogError, EventLogReader

SQL = "org.apache.spark.sql.execution.ui."


def scan(name: str, rows: int, size: int) -> dict[str, object]:
    metrics = [
        {"name": "number of output rows", "accumulatorId": rows},
        {"name": "size of files read", "accumulatorId": size},
    ]
    return {"nodeName": name, "metrics": metrics, "children": []}


def task(stage: int, cpu_ns: int, *, read: int = 0) -> dict[str, object]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task Metrics": {
            "Executor CPU Time": cpu_ns,
            "Input Metrics": {"Bytes Read": read, "Records Read": 1},
            "Output Metrics": {"Bytes Written": 10, "Records Written": 2},
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 3},
        },
    }


def events() -> list[dict[str, object]]:
    plan = {
        "nodeName": "Join",
        "metrics": [],
        "children": [
            scan("Scan parquet ", 1, 2),
            scan("Scan parquet spark_catalog.default.f_a", 3, 4),
        ],
    }
    accumulated = [
        {"ID": 1, "Name": "number of output rows", "Value": "70", "Metadata": "sql"},
        {"ID": 3, "Name": "number of output rows", "Value": "30", "Metadata": "sql"},
    ]
    return [
        {"Event": SQL + "SparkListenerSQLExecutionStart", "executionId": 5, "sparkPlanInfo": plan},
        {
            "Event": "SparkListenerJobStart",
            "Stage IDs": [0, 1],
            "Properties": {"forerun.stage": "s1", "spark.sql.execution.id": "5"},
        },
        {"Event": SQL + "SparkListenerDriverAccumUpdates", "executionId": 5,
         "accumUpdates": [[2, 700], [4, 300]]},
        task(0, 2_000_000_000, read=50),
        {"Event": "SparkListenerStageCompleted", "Stage Info": {"Accumulables": accumulated}},
        # Adaptive execution shows the same scans once more.
        {"Event": SQL + "SparkListenerSQLAdaptiveExecutionUpdate", "executionId": 5,
         "sparkPlanInfo": plan},
        task(1, 500_000_000),
        {"Event": "SparkListenerJobStart", "Stage IDs": [2], "Properties": {}},
        task(2, 1_000_000_000),
    ]  # fmt: skip


def lines() -> list[str]:
    return [json.dumps(event, separators=(",", ":")) + "\n" for event in events()]


def test_figures_belong_to_their_stage(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(lines()))
    used = EventLogReader(log).read()
    stage = used.stage("s1")
    assert stage.cpu_s == 2.5
    assert (stage.source_rows, stage.state_rows) == (70, 30)
    assert [(scan.family, scan.bytes) for scan in stage.scans] == [("", 700), ("f_a", 300)]
    assert (stage.bytes_read, stage.rows_written, stage.bytes_shuffled) == (50, 4, 6)
    assert used.stage("").cpu_s == 1.0
    assert used.cpu_s == 3.5
    assert used.stage("no such").cpu_s == 0.0


def test_nodes_without_a_name_are_no_scans(tmp_path: Path) -> None:
    """Spark names some nodes of adaptive plans with nothing, or with blanks."""
    log = tmp_path / "log"
    odd = [
        {"nodeName": name, "metrics": scan("", 70, 71)["metrics"], "children": [scan("", 8, 9)]}
        for name in ("", "  ")
    ]
    plan = {"nodeName": "", "metrics": [], "children": [scan("Scan parquet ", 1, 2), *odd]}
    start, *rest = events()
    start["sparkPlanInfo"] = plan
    written = [start, *(event for event in rest if "sparkPlanInfo" not in event)]
    log.write_text("".join(json.dumps(e, separators=(",", ":")) + "\n" for e in written))
    stage = EventLogReader(log).read().stage("s1")
    assert [(one.family, one.rows, one.bytes) for one in stage.scans] == [("", 70, 700)]
    assert stage.cpu_s == 2.5


def test_a_log_that_grows_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = "".join(lines())
    reader = EventLogReader(log)
    for end in range(0, len(text), 97):
        log.write_text(text[:end])
        reader.read()
    log.write_text(text)
    assert reader.read() == EventLogReader(log).read()
    assert reader.read().cpu_s == 3.5


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(lines())[:-20])
    assert EventLogReader(log).read().cpu_s == 2.5


def test_no_log_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match=r"(?s)cannot be read.*temporary folder"):
        EventLogReader(tmp_path / "none").read()
