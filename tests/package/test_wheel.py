"""What is in the wheel and in the source distribution, and what an index is told."""

from __future__ import annotations

import email
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

import setup
from forerun.planner.version import VERSION
from tests.meta.sources import ROOT, tracked
from tests.package.installed import build, run_python, sources

_NO_CODE = (".css", ".svg", ".html", ".sql", ".typed", ".xml")


def inside(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def metadata(wheel: Path) -> email.message.Message:
    data = zipfile.ZipFile(wheel).read(f"forerun-{VERSION}.dist-info/METADATA")
    return email.message_from_bytes(data)


def test_the_wheel_has_one_top_level_name(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in inside(wheel)}
    assert tops == {"forerun", f"forerun-{VERSION}.dist-info"}


def test_the_wheel_has_every_file_of_the_rooms(wheel: Path) -> None:
    """Code, and what pages and reports read beside it."""
    rooms = {"plugins/forerun_airflow": "forerun/airflow"}
    rooms |= {room: f"forerun/{room}" for room in ("planner", "include", "spark_jobs")}
    wanted = set()
    for path in tracked():
        name = path.as_posix()
        folder = next((room for room in rooms if name.startswith(f"{room}/")), "")
        if path.suffix in (".py", *_NO_CODE) and (folder or path.parts[0] == "forerun"):
            wanted.add(rooms[folder] + name.removeprefix(folder) if folder else name)
    assert len(wanted) > 500
    assert {Path(name).suffix for name in wanted} == {".py", *_NO_CODE}
    assert wanted - inside(wheel) == set()


def test_the_source_distribution_has_no_links_and_makes_the_same_wheel(
    wheel: Path, tmp_path: Path
) -> None:
    (tmp_path / "checkout").mkdir()
    done = build(sources(tmp_path / "checkout"), tmp_path, "sdist")
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / done.stdout.splitlines()[-1]) as archive:
        assert [member.name for member in archive if member.issym() or member.islnk()] == []
        archive.extractall(tmp_path)
    done = build(tmp_path / f"forerun-{VERSION}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert inside(tmp_path / done.stdout.splitlines()[-1]) == inside(wheel)


def test_a_wheel_is_not_built_without_the_links(tmp_path: Path) -> None:
    """A zip download has small text files in their place."""
    folder = sources(tmp_path)
    (folder / "forerun" / "planner").unlink()
    (folder / "forerun" / "planner").write_text("../planner")
    done = build(folder, tmp_path)
    assert done.returncode != 0
    assert "core.symlinks=true" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("*.whl")) == []


def test_importing_a_checkout_without_its_links_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "forerun").mkdir()
    shutil.copy(ROOT / "forerun" / "__init__.py", tmp_path / "forerun")
    (tmp_path / "forerun" / "planner").write_text("../planner")
    done = run_python("import forerun.planner", tmp_path, flags=("-S",))
    assert done.returncode == 1
    assert "links are lost in zip downloads" in done.stderr.splitlines()[-1]


def test_what_an_index_is_told(wheel: Path) -> None:
    said = metadata(wheel)
    assert said["Version"] == VERSION
    assert "Framework :: Apache Airflow :: Provider" in said.get_all("Classifier", [])
    extras = said.get_all("Provides-Extra", [])
    everything = [d for d in said.get_all("Requires-Dist", []) if 'extra == "all"' in d]
    named = ",".join(re.findall(r"\[(.*)\]", each)[0] for each in everything).split(",")
    assert sorted([*named, "all"]) == sorted(extras)


def test_the_readme_on_an_index_has_no_dead_link(wheel: Path) -> None:
    text = metadata(wheel).get_payload()
    assert "forerun doctor" in text
    assert re.findall(r"\]\((?!https?://|#)[^)]*\)", text) == []
    assert "![" not in text


@pytest.mark.parametrize(
    ("home", "shown"),
    [
        ("", "see reports, this and "),
        (
            "https://docs.example/x/",
            (
                "see [reports](https://docs.example/x/docs/reports.md#sql), this and "
                "![a day](https://docs.example/x/docs/day.svg)"
            ),
        ),
    ],
)
def test_links_of_the_readme_lead_to_the_home_of_the_docs(home: str, shown: str) -> None:
    text = "see [reports](docs/reports.md#sql), this and ![a day](docs/day.svg)"
    assert setup.readme(text, home) == shown
    assert setup.readme("[a](https://b.example) [c](#d)", home) == "[a](https://b.example) [c](#d)"


def test_the_changelog_and_the_package_agree_on_the_version() -> None:
    newest = re.findall(r"(?m)^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text())[0]
    assert newest == VERSION
