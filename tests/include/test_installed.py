"""Which copy of pyspark an application imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forerun.include.machine.jvm import spark_home
from forerun.spark_jobs.installed import prefer_installed


def zips(package: Path) -> list[str]:
    """Spark's zips in a package of pyspark, as spark-submit puts them in front."""
    libraries = package / "python" / "lib"
    return [str(libraries / "pyspark.zip"), str(libraries / "py4j-0.10.9.9-src.zip")]


def path_after(monkeypatch: pytest.MonkeyPatch, path: list[str]) -> list[str]:
    monkeypatch.setattr(sys, "path", path)
    prefer_installed()
    return sys.path


def test_what_is_installed_is_preferred_to_the_zips_within_it(monkeypatch):
    package = spark_home()
    installed = str(package.parent)
    path = ["/job.zip", *zips(package), "/more", installed]
    assert path_after(monkeypatch, path) == ["/job.zip", "/more", installed]
    assert all(Path(zipped).is_file() for zipped in zips(package)[:1]), "Spark has them there"


@pytest.mark.parametrize("missing", ["pyspark", "py4j", "on the path"])
def test_spark_of_another_place_keeps_its_own(monkeypatch, tmp_path: Path, missing: str):
    for name in {"pyspark", "py4j"} - {missing}:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    path = ["/job.zip", *zips(tmp_path / "pyspark")]
    path += [] if missing == "on the path" else [str(tmp_path)]
    assert path_after(monkeypatch, list(path)) == path
