"""``python -m tests.include.machine.scrubbed_log`` writes ``event_log.jsonl`` anew.

It is the event log of an application that Spark has run, without what is of the machine it ran on.
Only the fields that are named here stay; the folder of the application is called ``file:/lake``,
and its clock starts at two in the night of 1 January 2026.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forerun.include.machine.event_files import find_event_files
from forerun.include.machine.jvm import driver_environment
from tests.spark import past_application

LOG = Path(__file__).with_name("event_log.jsonl")
STARTED = datetime(2026, 1, 1, 2, tzinfo=UTC)
_EVENT: dict[str, tuple[str, ...]] = {
    "SparkListenerApplicationStart": ("App Name", "Timestamp"),
    "SparkListenerApplicationEnd": ("Timestamp",),
    "SparkListenerJobStart": ("Stage IDs", "Properties"),
    "SparkListenerTaskEnd": ("Stage ID", "Task Metrics"),
    "SparkListenerStageCompleted": ("Stage Info",),
    "SparkListenerSQLExecutionStart": (
        "executionId", "rootExecutionId", "description", "sparkPlanInfo", "time",
    ),
    "SparkListenerSQLExecutionEnd": ("executionId", "time"),
    "SparkListenerDriverAccumUpdates": ("executionId", "accumUpdates"),
}  # fmt: skip
_INSIDE = {
    "Properties": ("spark.sql.execution.id", "spark.sql.execution.root.id"),
    "Task Metrics": ("Executor CPU Time", "Input Metrics"),
    "Input Metrics": ("Bytes Read", "Records Read"),
    "Stage Info": ("Accumulables",),
    "Accumulables": ("ID", "Value", "Metadata"),
    "sparkPlanInfo": ("nodeName", "simpleString", "children", "metadata", "metrics"),
    "children": ("nodeName", "simpleString", "children", "metadata", "metrics"),
    "metadata": ("Location",),
    "metrics": ("name", "accumulatorId"),
}
_TIMES = ("Timestamp", "time")


def scrubbed(lines: Iterable[str], folder: Path, started: datetime = STARTED) -> Iterator[str]:
    """The lines with what is named alone, of an application that ran in a folder."""
    shift, checkout = 0, str(Path(past_application.__file__).parents[2])
    for line in lines:
        event = json.loads(line.replace(str(folder), "/lake").replace(checkout, "/job"))
        kept = _EVENT.get(event["Event"].rpartition(".")[2])
        if kept is None:
            continue
        if "App Name" in kept:
            shift = round(started.timestamp() * 1000) - event["Timestamp"]
        record = {"Event": event["Event"]} | {key: _only(key, event.get(key)) for key in kept}
        for key in _TIMES:
            if key in record:
                record[key] += shift
        yield json.dumps(record, separators=(",", ":")) + "\n"


def _only(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _only(key, value[key]) for key in _INSIDE[name] if key in value}
    if isinstance(value, list) and name in _INSIDE:
        found = [_only(name, one) for one in value]
        return [one for one in found if name != "Accumulables" or one.get("Metadata") == "sql"]
    return value


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [sys.executable, past_application.__file__, name, "none", "false", "stopped"],
            env=driver_environment(), check=True, cwd=folder,
        )  # fmt: skip
        (log,) = find_event_files(folder / "logs")
        LOG.write_text("".join(scrubbed(log.lines(), folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
