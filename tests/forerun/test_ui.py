"""``forerun demo --up`` before Airflow starts: what can be said at once is."""

from __future__ import annotations

import socket

import pytest

from forerun.cli import app as cli


def test_a_port_that_is_taken_is_named_before_anything_starts(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setenv("AIRFLOW__API__PORT", str(port))
        assert cli.run(["demo", "--up"]) == 2
    said = capsys.readouterr().err
    assert f"port {port} cannot be used" in said
    assert "hint:" in said
    assert list(tmp_path.iterdir()) == []
