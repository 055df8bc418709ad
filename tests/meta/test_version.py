"""One version: what the package says, what the command says, and no other number anywhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from forerun.cli.app import run
from forerun.planner.version import VERSION
from tests.meta.sources import modules


def test_the_command_says_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"forerun {VERSION}\n"


def test_the_package_reads_its_version_where_it_stands() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert "version" in project["project"]["dynamic"]
    where = project["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert where == "forerun.planner.version.VERSION"
    # What setuptools reads without importing anything, as it does when it builds.
    from setuptools.config.expand import read_attr

    assert read_attr(where, root_dir=Path.cwd()) == VERSION


def test_the_version_is_written_once() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    written = [path for path in modules() if f'"{VERSION}"' in path.read_text()]
    assert written == [Path("planner/version.py")]


def test_the_job_on_the_cluster_can_read_it(tmp_path: Path) -> None:
    from forerun.include.machine.job_archive import job_archive

    archive = job_archive(tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "import forerun.planner.version as v; print(v.__file__, v.VERSION)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, archive],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.split() == [f"{archive}/forerun/planner/version.py", VERSION]
