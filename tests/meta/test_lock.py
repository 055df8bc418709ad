"""The lock installs from any index, checked by hashes, and leaves pyspark whole."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from forerun.include.machine import jvm
from tests.meta.sources import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENTRIES = re.split(r"\n(?=[a-z0-9])", LOCK.strip(), flags=re.IGNORECASE)


def _pins() -> dict[str, str]:
    names = (re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", entry) for entry in ENTRIES)
    return {m[1].lower().replace("_", "-"): m[2] for m in names if m}


def test_the_lock_names_no_address_and_no_option():
    assert "://" not in LOCK
    assert not re.search(r"^\s*-(?!-hash=)", LOCK, re.MULTILINE)


def test_every_entry_is_pinned_and_hashed():
    bad = [e for e in ENTRIES if not re.match(r"[\w.-]+==\S+", e) or "--hash=sha256:" not in e]
    assert not bad
    assert len(ENTRIES) > 100


def test_every_dependency_is_locked_as_declared():
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"].values()
    groups = (project["dependencies"], PYPROJECT["dependency-groups"]["dev"], *extras)
    pins = _pins()
    for text in (text for group in groups for text in group):
        wanted = Requirement(text)
        if wanted.name == "forerun":
            assert wanted.extras <= set(project["optional-dependencies"]), text
            continue
        assert pins[wanted.name.lower().replace("_", "-")] in wanted.specifier, text


def test_pyspark_client_is_kept_out():
    # The Spark provider asks for it; its files overwrite those of pyspark, and removing it again
    # deletes files of pyspark: spark-submit and `import pyspark` then fail.
    assert "pyspark-client" not in _pins()
    assert "pyspark-client" in PYPROJECT["tool"]["uv"]["exclude-dependencies"]
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.distribution("pyspark-client")


def test_the_installed_pyspark_is_whole():
    # Every file that pyspark's own record lists is there with the recorded size: any other
    # package that wrote into pyspark/ would show. Scripts beside it name the interpreter in their
    # first line, so that their size is that of the path of the environment.
    distribution = metadata.distribution("pyspark")
    wrong = []
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        if file.suffix == ".pyc" or file.name in {"RECORD", "INSTALLER", "REQUESTED"}:
            continue
        if not path.is_file():
            wrong.append(f"missing: {file}")
        elif (
            file.parts[0] == "pyspark"
            and file.size is not None
            and path.stat().st_size != file.size
        ):
            wrong.append(f"changed: {file}")
    assert not wrong[:10]
    assert distribution.version == _pins()["pyspark"]


@pytest.mark.spark
def test_spark_submit_starts():
    done = subprocess.run(
        [jvm.spark_submit(), "--version"],
        env=jvm.driver_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"version {_pins()['pyspark']}" in done.stdout + done.stderr


def test_the_lock_is_up_to_date_with_its_source():
    # What `make lock` would keep: the same set of direct dependencies, nothing forgotten.
    assert set(PYPROJECT["build-system"]["requires"]) <= set(_pins())
