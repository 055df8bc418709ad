"""The doctor sees what is wrong, says what to do, and answers by its exit code."""

from __future__ import annotations

import json
import os
import stat

import pytest

from forerun.cli import app as cli
from forerun.cli import doctor
from forerun.doctors.package import examine_package


def _states(out: str) -> dict[str, str]:
    return {f["name"]: f["state"] for f in json.loads(out)["findings"]}


@pytest.fixture
def fake_java(tmp_path, monkeypatch):
    """Makes JAVA_HOME a folder whose java claims the version it is given."""

    def make(version: str) -> None:
        program = tmp_path / "jdk" / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    return make


@pytest.mark.parametrize(
    ("version", "state"),
    [("1.8.0_392", "problem"), ("11.0.2", "problem"), ("17.0.9", "ok"), ("25", "ok")],
)
def test_java_must_be_17_or_newer(fake_java, version, state):
    fake_java(version)
    found = doctor.java()
    assert found.state == state
    assert bool(found.todo) == (state == "problem")


def test_no_java_at_all(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.java().state == "problem"


def test_jars_are_a_problem_only_for_a_store_on_s3(monkeypatch, tmp_path):
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    assert doctor.jars(needed=False).state == "note"
    assert doctor.jars(needed=True).state == "problem"


def test_an_archive_of_another_java_is_noted(monkeypatch, tmp_path):
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    (tmp_path / "cds").mkdir()
    (tmp_path / "cds" / "driver.jsa").write_bytes(b"x")
    (tmp_path / "cds" / "driver.json").write_text('{"java": "another"}')
    assert "ignores" in doctor.archive(on_s3=False).found


def test_a_store_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    (found,) = (f for f in doctor.examine(str(blocked)) if f.name == "store")
    assert found.state == "problem"
    assert found.todo


@pytest.mark.spark
def test_a_set_up_machine_is_fine(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORERUN_STORE", str(tmp_path))
    assert cli.run(["doctor", "--json"]) == 0
    states = _states(capsys.readouterr().out)
    assert {"java", "pyspark", "spark-submit", "airflow", "disk", "store"} <= states.keys()
    assert "problem" not in states.values()


@pytest.mark.spark
def test_a_problem_is_exit_code_2(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert cli.run(["doctor"]) == 2
    said = capsys.readouterr().out
    assert "problem java" in said
    assert "->" in said
    assert os.linesep + "ok" in said, "one broken thing must not hide the others"


def test_two_versions_in_one_environment_are_a_problem(monkeypatch, tmp_path):
    for number in ("9.8.6", "9.8.7"):
        info = tmp_path / number / f"forerun-{number}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: forerun\nVersion: {number}\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / "9.8.6"), str(tmp_path / "9.8.7")])
    found = examine_package()
    assert found.state == "problem"
    assert "9.8.6 and 9.8.7" in found.found
    assert "pip uninstall -y forerun" in found.todo
    monkeypatch.setattr("sys.path", [str(tmp_path / "9.8.7")])
    found = examine_package()
    assert found.state == "note"
    assert "9.8.7 is installed" in found.found
