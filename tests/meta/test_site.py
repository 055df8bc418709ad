"""The docs are a site that one command builds, in which every link and anchor leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from scripts.site import site_text
from tests.meta.sources import ROOT, tracked

KNOWN = {"index.md", "how/planning.md", "lab/benchmarks.md", "CONTRIBUTING.md"}


def _text(text: str, page: str) -> str:
    return site_text(text, page, KNOWN, ROOT)


def test_links_of_pages_are_those_of_the_site() -> None:
    assert _text("[a](../../CONTRIBUTING.md#x)", "how/planning.md") == "[a](../CONTRIBUTING.md#x)"
    assert _text("[a](docs/how/planning.md)", "CONTRIBUTING.md") == "[a](how/planning.md)"
    assert _text("![a](docs/pictures/day.svg)", "CONTRIBUTING.md") == "![a](pictures/day.svg)"
    assert _text("[a](https://spark.apache.org)", "index.md") == "[a](https://spark.apache.org)"


def test_what_is_no_page_is_named_and_not_linked() -> None:
    assert _text("[`planner`](../../planner/schedule)", "how/planning.md") == "`planner`"


def test_a_link_that_leads_nowhere_stays_for_the_build_to_name() -> None:
    assert _text("[a](../nowhere.md)", "how/planning.md") == "[a](../nowhere.md)"


def test_marks_for_tests_are_not_shown() -> None:
    assert _text("```sh run\nls\n```", "index.md") == "```sh\nls\n```"


def _build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _copy(folder: Path) -> None:
    names = ("docs/", "mkdocs.yml", "scripts/")
    for path in tracked():
        if str(path).startswith(names) or (len(path.parts) == 1 and path.suffix == ".md"):
            there = folder / path
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes((ROOT / path).read_bytes())
    for room in ("planner", "include", "plugins", "spark_jobs", "forerun", "tests", "dags"):
        (folder / room).symlink_to(ROOT / room)


def test_the_site_is_built_and_a_dead_link_ends_the_build(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    _copy(checkout)
    done = _build(checkout, tmp_path / "site")
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "site" / "how" / "planning.html").read_text(encoding="utf-8")
    elsewhere = re.findall(r'(?:src|<link[^>]* href)="https?:[^"]*', page)
    assert not elsewhere, "a page of the site loads what is not part of it"
    index = checkout / "docs" / "index.md"
    for dead in ("[a](how/nowhere.md)", "[a](how/planning.md#nowhere)"):
        index.write_text(f"# Forerun\n\n{dead}\n", encoding="utf-8")
        assert _build(checkout, tmp_path / "dead").returncode != 0, dead
