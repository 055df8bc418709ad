"""Fetching the S3A jars: what is there stays, and without Maven an error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from forerun.include.machine.jvm import JAR_FOLDER
from forerun.include.machine.s3a_jars import JarsError, fetch_jars


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and a path without Maven."""
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_without_maven_an_error_says_what_to_do(home: Path) -> None:
    with pytest.raises(JarsError) as caught:
        fetch_jars(lambda _line: None)
    assert "apt-get install maven" in caught.value.hint
    assert list(home.iterdir()) == []


def test_what_maven_says_is_in_the_error(home: Path) -> None:
    maven = home / "mvn"
    maven.write_text("#!/bin/sh\necho 'cannot reach the mirror'; exit 1\n")
    maven.chmod(0o755)
    with pytest.raises(JarsError, match="cannot reach the mirror"):
        fetch_jars(lambda _line: None)
    assert list((home / JAR_FOLDER).parent.iterdir()) == [], "nothing is left half done"
