"""One wheel and one environment with it for all of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package.installed import Installed, build, install, sources, team_project


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, into = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    done = build(sources(folder), into)
    assert done.returncode == 0, done.stderr
    return into / done.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A project of a team in an environment with the wheel, and a migrated database."""
    folder = tmp_path_factory.mktemp("team")
    made = team_project(folder, install(wheel, folder / "venv"))
    made.said("-m", "airflow", "db", "migrate")
    return made
