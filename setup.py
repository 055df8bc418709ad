"""The part of the build that pyproject.toml cannot say: a check of the rooms, and the README.

``forerun/planner`` and its like are links in a checkout. Windows without developer mode and zip
downloads have them as small text files: a wheel built then would have no code in it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).absolute().parent
ROOMS = ("airflow", "include", "planner", "spark_jobs")
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!https?://|#)[^)]*)\)")


def check_rooms(package: Path) -> None:
    """End the build, and say what to do, unless every room of ``package`` is a folder or a link to
    one."""
    if missing := [room for room in ROOMS if not (package / room / "__init__.py").is_file()]:
        raise SystemExit(
            f"forerun cannot be built: {package / missing[0]} is no folder with the code. It is a "
            "symbolic link, and links are lost in zip downloads and on Windows without developer "
            "mode. Clone the repository with `git clone -c core.symlinks=true`, or build from the "
            "source distribution (forerun-*.tar.gz), which has plain folders."
        )


def readme(text: str, home: str) -> str:
    """Return the README as an index shows it, where links to files of the checkout lead nowhere:
    they lead to ``home`` in place of that; without a home their texts stay, and pictures go."""

    def one(found: re.Match[str]) -> str:
        if home:
            target = f"{home.rstrip('/')}/{found['target']}"
            return f"{found['image']}[{found['text']}]({target})"
        return "" if found["image"] else found["text"]

    return _LINK.sub(one, text)


def long_description(root: Path) -> str:
    """Return the README of ``root``, for the home that ``[project.urls]`` names as
    ``Documentation``. A build of an image has no README, and needs none."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    file = root / "README.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return readme(text, project.get("urls", {}).get("Documentation", ""))


if __name__ == "__main__":
    check_rooms(ROOT / "forerun")
    setup(long_description=long_description(ROOT), long_description_content_type="text/markdown")
