"""``forerun demo``: three reports through Airflow and spark-submit, equal to batch, and a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]


def test_every_report_of_the_demo_equals_batch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "forerun", "demo", "--scale", "0.002", "--json"],
        env={**os.environ, "FORERUN_HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    shown = json.loads(done.stdout)
    assert len(shown["reports"]) == 3
    assert shown["equal"]
    assert 0 < shown["process_ratio"] < 1
    for day in shown["reports"]:
        assert day["equal"], day["differences"]
        assert day["runs"][-1]["skipped"] is False
        assert day["batch"]["cpu_s"] > 0
    page = Path(shown["page"])
    assert page.is_relative_to(tmp_path)
    assert all(day["report"].split("_")[0] in page.read_text().lower() for day in shown["reports"])
