"""The demo's data for an Airflow of one's own: staged as the demo's DAGs deliver it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.cli import app as cli
from forerun.demo.reports import DAY, POLICY, deliver


def test_a_staged_day_can_be_delivered_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORERUN_DATA", (tmp_path / "data").as_uri())
    assert cli.run(["demo", "--stage", "--scale", "0.002"]) == 0
    runs = len(POLICY.runs)
    for run in range(1, runs + 1):
        assert deliver(("orders", "lineitem"), DAY, run, last=run == runs) == 2
    whole = tmp_path / "home" / "demo" / "generated" / "scale-0.002" / "whole"
    for table in ("orders", "lineitem"):
        arrived = tmp_path / "data" / "arrived" / date.isoformat(DAY) / table
        rows = sum(pq.read_metadata(path).num_rows for path in arrived.glob("*.parquet"))
        assert rows == pq.read_metadata(whole / f"{table}.parquet").num_rows
        assert (arrived / "_SUCCESS").is_file()
