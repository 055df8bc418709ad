"""The zip: the same bytes every time, and enough to do a run with nothing else on the path."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from forerun.include.machine.job_archive import job_archive
from forerun.include.state.commits import read_commit
from tests.bare_python import bare_python
from tests.spark.days import Day, expected, publish, save_rows, save_sums

ROWS = [(1, "a", 100), (2, "b", 250)]
OURS = ("forerun", "include", "planner", "plugins", "spark_jobs", "tests")
_ORIGINS = """
import runpy, sys
sys.argv[0] = "run.py"
try:
    runpy.run_module("forerun.spark_jobs.run", run_name="__main__")
finally:
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == "forerun":
            print("origin", name, module.__file__, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter without this project."""
    return bare_python(tmp_path_factory.mktemp("bare"))


def start(
    python: Path, path: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with ``path`` as all that is added to it, away from the checkout."""
    return subprocess.run(
        [str(python), *arguments],
        check=False, cwd="/", env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True, text=True,
    )  # fmt: skip


def job(python: Path, archive: Path, day: Day, *extra: str) -> subprocess.CompletedProcess[str]:
    plan = f"{day.store.root}/{day.at.plan(day.plan.current, 'p1')}"
    return start(
        python, str(archive), "-c", _ORIGINS, "--plan", plan, "--engine", "sail", *extra
    )  # fmt: skip


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = job_archive(tmp_path / "a"), job_archive(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    assert first.name == second.name
    assert job_archive(tmp_path / "a") == first
    assert [p.name for p in (tmp_path / "a").iterdir()] == [first.name]


def test_the_python_of_these_tests_has_the_packages_and_not_the_project(python: Path) -> None:
    """Else nothing here would notice a module that the archive lacks."""
    code = (
        "import importlib.util as u; import pyarrow, pyspark, boto3;"
        f"print([n for n in {OURS} if u.find_spec(n)])"
    )
    done = start(python, "", "-c", code)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_every_module_of_the_archive_can_be_imported_from_it(python: Path, tmp_path: Path) -> None:
    archive = job_archive(tmp_path)
    names = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in zipfile.ZipFile(archive).namelist()
    ]
    code = (
        f"import importlib; modules = [importlib.import_module(n) for n in {names}];"
        "print(*sorted({m.__file__.partition('.zip')[0] for m in modules}))"
    )
    done = start(python, str(archive), "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(archive).removesuffix(".zip")]


def test_a_run_with_only_the_zip(tmp_path: Path, day: Day, python: Path) -> None:
    archive = job_archive(tmp_path)
    day.deliver(ROWS)
    day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    done = job(python, archive, day, "--run", "1", "--attempt", "x1")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome == {
        "report": day.at.report, "run": 1, "attempt": "x1", "won": True, "critical": 0,
        "warnings": 0,
    }  # fmt: skip
    assert "stage 3/3 publish -> result: 2 rows" in done.stderr
    origins = [line.split()[1:] for line in done.stderr.splitlines() if line[:7] == "origin "]
    assert {"forerun.spark_jobs.executor", "forerun.include.machine.jvm"} <= {
        name for name, _ in origins
    }
    assert [name for name, file in origins if not file.startswith(f"{archive}/")] == []
    again = job(python, archive, day, "--run", "1", "--attempt", "x2")
    assert again.returncode == 0
    assert json.loads(again.stdout.splitlines()[-1])["won"] is False
    assert day.rows(read_commit(day.store, day.at, 1)) == expected([ROWS])


def test_errors_are_sentences(tmp_path: Path, day: Day, python: Path) -> None:
    archive = job_archive(tmp_path)
    day.deliver(ROWS).unlink()
    day.plan_run(1, (save_rows(1),))
    for extra, words in (
        (("--run", "1", "--attempt", "x1"), "vanished after it was pinned"),
        (("--run", "2", "--attempt", "x1"), "plans run 1, not run 2"),
    ):
        done = job(python, archive, day, *extra)
        assert done.returncode == 2
        assert words in done.stderr
        assert "hint:" in done.stderr
        assert "Traceback" not in done.stderr
