"""A check that the files of pyspark are those of pyspark, without importing it.

Airflow's Spark provider asks for ``pyspark-client``, whose files go to the same folder as those of
``pyspark`` and overwrite them; removing it deletes them. What is left then fails somewhere else.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from forerun.planner.errors import ForerunError

_CLIENT = "pyspark-client"
_REPAIR = f"pip uninstall -y {_CLIENT} pyspark && pip install --no-deps pyspark=={{version}}"
_VERSION = re.compile(r"^__version__[^=]*=\s*[\"']([^\"']+)", re.MULTILINE)


class PysparkError(ForerunError):
    """The pyspark of this environment cannot run an application."""

    code = "pyspark"


@dataclass(frozen=True, slots=True)
class PysparkTrouble:
    """A fault of pyspark, with what to do about it. ``broken``: nothing can be submitted."""

    found: str
    todo: str
    broken: bool


def pyspark_version() -> str:
    """Return the version of the package pyspark, or an empty text where it is not installed."""
    return _installed("pyspark")


def find_trouble() -> PysparkTrouble | None:
    """Look at what is installed, and at two files of it; takes a few milliseconds."""
    version, client = pyspark_version(), _installed(_CLIENT)
    if not version:
        todo = "pip install 'forerun[spark]'"
        if client:
            todo = f"pip uninstall -y {_CLIENT} && {todo}"
        found = f"only {_CLIENT} {client} is installed, which has no Spark" if client else ""
        return PysparkTrouble(found or "pyspark is not installed", f"Run `{todo}`.", broken=True)
    todo = f"Run `{_REPAIR.format(version=version)}` (in a checkout: `make setup`)."
    spec = importlib.util.find_spec("pyspark")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    said = _VERSION.search(_text(folder / "version.py"))
    jar = next((folder / "jars").glob("spark-core_*.jar"), None)
    if said is None or said[1] != version or jar is None or f"-{version}." not in jar.name:
        by = f", overwritten or removed by {_CLIENT} {client}" if client else ""
        found = f"the files in {folder} are not those of pyspark {version}{by}"
        return PysparkTrouble(found, todo, broken=True)
    if client:
        found = f"{_CLIENT} {client} lies over pyspark {version}"
        return PysparkTrouble(found, todo, broken=False)
    return None


def require_pyspark() -> None:
    """Raise :class:`PysparkError` if nothing can be submitted with what is installed."""
    trouble = find_trouble()
    if trouble is not None and trouble.broken:
        raise PysparkError(trouble.found, hint=trouble.todo)


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
