"""pyspark-client over pyspark, and a pyspark that is not whole: seen at once, with what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forerun.include.machine import pyspark_files
from tests.meta.sources import ROOT

VERSION = pyspark_files.pyspark_version()
_REQUIRE = "from forerun.include.machine.pyspark_files import require_pyspark as r; r()"


def packages(folder: Path, *, client: str = "", version: str = "", jar: str = "") -> Path:
    """A folder of packages that comes before the real one: with ``client``, pyspark-client; with
    ``version``, a pyspark whose files say so."""
    for name, number in (("pyspark-client", client), ("pyspark", VERSION if version else "")):
        if number:
            info = folder / f"{name.replace('-', '_')}-{number}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n"
            )
    if version:
        (folder / "pyspark" / "jars").mkdir(parents=True)
        (folder / "pyspark" / "__init__.py").touch()
        (folder / "pyspark" / "version.py").write_text(f'__version__: str = "{version}"\n')
        (folder / "pyspark" / "jars" / f"spark-core_2.13-{jar or version}.jar").touch()
    return folder


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
             "AIRFLOW_HOME": str(folder / "airflow")},
    )  # fmt: skip


def test_the_locked_environment_is_whole() -> None:
    assert VERSION
    assert pyspark_files.find_trouble() is None


def test_a_client_beside_pyspark_is_told_by_the_plugin(tmp_path: Path) -> None:
    """Which of the two wrote last is luck: reports are submitted as long as it was pyspark."""
    folder = packages(tmp_path, client="9.8.7")
    assert run(_REQUIRE, folder).returncode == 0
    done = run("import forerun.airflow.plugin", folder)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert f"pyspark-client 9.8.7 lies over pyspark {VERSION}" in said
    assert "pip uninstall -y pyspark-client pyspark && pip install" in said
    assert f"pyspark=={VERSION}" in said


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"version": "9.8.7", "client": "9.8.7"}, "overwritten or removed by pyspark-client 9.8.7"),
        ({"version": VERSION, "jar": "9.8.7"}, f"are not those of pyspark {VERSION}"),
    ],
)
def test_files_of_another_version_end_a_run_before_it_starts(
    made: dict[str, str], words: str, tmp_path: Path
) -> None:
    done = run(_REQUIRE, packages(tmp_path, **made))
    assert done.returncode == 1
    assert words in done.stderr
    assert f"pip install --no-deps pyspark=={VERSION}" in done.stderr


def test_no_pyspark_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages(tmp_path, client="9.8.7")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    trouble = pyspark_files.find_trouble()
    assert trouble is not None
    assert trouble.broken
    assert "which has no Spark" in trouble.found
    assert trouble.todo == (
        "Run `pip uninstall -y pyspark-client && pip install 'forerun[spark]'`."
    )
