"""Event logs as Spark writes them: plain, in parts, compressed, of killed applications."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from forerun.include.machine.event_files import find_event_files
from forerun.include.machine.jvm import driver_environment
from forerun.include.machine.past_queries import PastApplication, read_past
from tests.spark import past_application
from tests.spark.past_application import TEXT

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def run_application(folder: Path, codec: str, rolling: str, end: str) -> PastApplication:
    command = [sys.executable, past_application.__file__, str(folder), codec, rolling, end]
    subprocess.run(command, env=driver_environment(), check=True, cwd=folder, capture_output=True)
    (log,) = find_event_files(folder / "logs")
    return read_past(log)


@pytest.mark.parametrize(
    ("codec", "rolling", "end"),
    [
        ("none", "false", "stopped"),
        ("zstd", "true", "stopped"),
        ("lz4", "false", "killed"),
        ("zstd", "true", "killed"),
    ],
)
def test_statements_are_found_with_what_they_took(
    tmp_path: Path, codec: str, rolling: str, end: str
):
    found = run_application(tmp_path, codec, rolling, end)
    assert found.name == "nightly"
    assert found.damaged <= (end == "killed")  # the last line, which is cut off
    assert found.ended is (end == "stopped")
    texts = [query.sql for query in found.queries]
    assert texts == [TEXT, TEXT, ""]
    shapes = [query.shape for query in found.queries]
    assert shapes[0] == shapes[1] != shapes[2]
    for query in found.queries:
        ((place, size),) = query.tables
        assert place == (tmp_path / "orders").as_uri().replace("file://", "file:")
        assert size > 1000
        assert query.cpu_s >= query.reading_s > 0
        assert query.ended is not None or end == "killed"


def test_a_codec_that_cannot_be_read_is_named(tmp_path: Path):
    found = run_application(tmp_path, "snappy", "false", "stopped")
    assert "only zstd and lz4" in found.cut_off
    assert found.events == 0
