"""Somebody who is called with alerts: writes them down below ``FORERUN_TEST_ROOT``."""

from __future__ import annotations

import os
from pathlib import Path


def send(alert):
    folder = Path(os.environ["FORERUN_TEST_ROOT"]) / "alerts"
    folder.mkdir(exist_ok=True)
    (folder / f"{alert.report}-{alert.kind}.txt").write_text(alert.text)


def is_away(alert):
    raise OSError("nobody answers")
