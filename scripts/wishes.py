"""The requirements of an environment with other versions of Airflow and Spark than the locked ones.

    python scripts/wishes.py AIRFLOW SPARK

Prints requirements: the two that are asked for, and beside them the locked versions of what the
project depends on. Where Airflow is an older one its own packages decide.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_OF_AIRFLOW = (
    "sqlalchemy",
    "apache-airflow-providers-standard",
    "apache-airflow-providers-apache-spark",
)
_CAPS = ("cadwyn<7.2", "fastapi<0.138", "pydantic<2.14", "svcs<26.2")
"""Airflow 3.1 and 3.2 set no upper bounds, and newer ones refuse its models."""


def wishes(airflow: str, spark: str) -> Iterator[str]:
    """Yield the requirements, one text each."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = dict(re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock))
    pins |= {"apache-airflow": airflow, "pyspark": spark}
    locked = airflow == _locked(lock)
    for name in _names():
        if name.startswith("forerun"):
            continue
        free = not locked and re.split(r"[\[]", name)[0] in _OF_AIRFLOW
        pinned = pins.get(re.split(r"[\[]", name.lower())[0])
        yield f"{name}=={pinned}" if pinned and not free else name
    if not locked:
        yield from _CAPS


def _locked(lock: str) -> str:
    found = re.search(r"(?m)^apache-airflow==([^\s;\\]+)", lock)
    return found[1] if found else ""


def _names() -> dict[str, None]:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    texts = [*project["dependencies"], *pyproject["dependency-groups"]["dev"]]
    texts += [text for extra in project["optional-dependencies"].values() for text in extra]
    found = (re.match(r"[A-Za-z0-9._-]+(\[[^\]]*\])?", text) for text in texts)
    return dict.fromkeys(match[0] for match in found if match)


if __name__ == "__main__":
    print(*wishes(*sys.argv[1:3]), sep="\n")
