"""The wheel of this checkout, installed where nothing else knows of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.bare_python import bare_python
from tests.meta.sources import ROOT

_BUILT_OF = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
_FOLDERS = ("forerun", "planner", "include", "spark_jobs", "plugins")
_NO_CACHES = shutil.ignore_patterns("__pycache__")


def sources(folder: Path) -> Path:
    """Copy into ``folder`` what the package is built of, links as links."""
    for name in _BUILT_OF:
        shutil.copy(ROOT / name, folder / name)
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=_NO_CACHES)
    return folder


def run_python(
    code: str, folder: Path, *arguments: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in ``folder``, with no variable that leads to the checkout. With the flag ``-S``
    Python has no installed package."""
    return subprocess.run(
        [sys.executable, *flags, "-c", code, *arguments],
        check=False, cwd=folder, env=_clean(), capture_output=True, text=True,
    )  # fmt: skip


def build(folder: Path, into: Path, what: str = "wheel") -> subprocess.CompletedProcess[str]:
    """Build the wheel (or the ``sdist``) of the sources in ``folder``, as an installer would."""
    code = f"import sys; from setuptools import build_meta as b; print(b.build_{what}(sys.argv[1]))"
    return run_python(code, folder, str(into))


def _clean() -> dict[str, str]:
    """The environment without what leads to the checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV") and not name.startswith("AIRFLOW")
    }


@dataclass(frozen=True)
class Installed:
    """An environment with the locked packages and the wheel, beside the project of a team."""

    python: Path
    project: Path
    environment: dict[str, str]

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments in the folder of the project."""
        return subprocess.run(
            [str(self.python), *arguments], check=False, cwd=self.project,
            env=self.environment | more, capture_output=True, text=True,
        )  # fmt: skip

    def said(self, *arguments: str, **more: str) -> str:
        """The same for what must not fail; return what it printed."""
        done = self.run(*arguments, **more)
        assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
        return done.stdout


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into a new environment in ``folder``; return its interpreter."""
    python = bare_python(folder)
    uv = subprocess.run(
        [ROOT / "scripts" / "uv.sh"], check=True, capture_output=True, text=True
    ).stdout.strip()
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel],
        check=True,
    )
    # Spark's own programs are no Python, and find Spark by the Python that starts them.
    for program in Path(sysconfig.get_paths()["scripts"]).iterdir():
        if "spark" in program.name and not (folder / "bin" / program.name).exists():
            (folder / "bin" / program.name).symlink_to(program)
    return python


def team_project(folder: Path, python: Path) -> Installed:
    """Lay out an Airflow project of a team that has its own ``include`` and ``plugins``."""
    project = folder / "project"
    shutil.copytree(Path(__file__).parent / "project", project, ignore=_NO_CACHES)
    environment = _clean() | {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(project / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(project / "plugins"),
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "FORERUN_STORE": (folder / "store").as_uri(),
        "TEAM_DATA": str(folder / "data"),
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        # As deployments with a project folder do it: its own names come before all that is
        # installed.
        "PYTHONPATH": str(project),
    }
    environment.pop("FORERUN_TEST_ROOT", None)
    return Installed(python, project, environment)
