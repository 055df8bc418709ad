"""The one zip that goes to the cluster with ``--py-files``: the job, the plan contract, the store.

The same sources give the same bytes, wherever and whenever it is built.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_PARTS = (
    "spark_jobs/**/*.py",
    "planner/__init__.py",
    "planner/errors.py",
    "planner/contract/**/*.py",
    "include/__init__.py",
    "include/check_report.py",
    "include/eventlog.py",
    "include/expectations.py",
    "include/pinned.py",
    "include/process.py",
    "include/settings.py",
    "include/source_files.py",
    "include/state/**/*.py",
)
_TIME = (1980, 1, 1, 0, 0, 0)


def build_archive(target: Path) -> Path:
    """Write the zip to ``target`` and return it. A reader never sees it half-written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    # Stored, not deflated: another zlib would compress to other bytes.
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for path in _sources():
            entry = zipfile.ZipInfo(path.relative_to(_ROOT).as_posix(), date_time=_TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return partial.replace(target)


def _sources() -> Iterator[Path]:
    """Every source file, once, by path."""
    yield from sorted({path for part in _PARTS for path in _ROOT.glob(part)})
