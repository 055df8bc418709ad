"""The one zip that goes to the cluster with ``--py-files``: the job and the rooms it reads.

The same sources give the same bytes, wherever and whenever it is built.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from forerun.include.machine.jvm import home_folder

_PACKAGE = Path(__file__).absolute().parents[2]
"""The package ``forerun``. Not resolved: in a checkout its rooms are links, and behind one of them
the folder above is no package."""
JOB = _PACKAGE / "spark_jobs" / "run.py"
"""What spark-submit runs."""
PROBE = _PACKAGE / "spark_jobs" / "cluster_probe.py"
"""What `forerun doctor --cluster` submits."""
CLASS_DATA = _PACKAGE / "spark_jobs" / "class_data_job.py"
"""What loads the classes of a class-data archive."""
_ROOMS = ("spark_jobs", "planner", "include")
"""Shipped whole: a list of single files would be wrong at the next import."""
_TIME = (1980, 1, 1, 0, 0, 0)


def job_archive(folder: Path | None = None) -> Path:
    """The zip of the job as it is now, in ``folder`` (default: ``job`` in Forerun's home).

    Its name carries a hash of its content: one that is there is right, and a task that starts
    while the code is being updated never submits half of each.
    """
    data = _build()
    folder = folder or home_folder() / "job"
    target = folder / f"forerun-job-{hashlib.sha256(data).hexdigest()[:12]}.zip"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as partial:
        partial.write(data)
    # Several tasks may build it at once: each replaces it with the same bytes.
    return Path(partial.name).replace(target)


def _build() -> bytes:
    memory = io.BytesIO()
    # Stored, not deflated: another zlib would compress to other bytes.
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as archive:
        for path in _sources():
            entry = zipfile.ZipInfo(path.relative_to(_PACKAGE.parent).as_posix(), date_time=_TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return memory.getvalue()


def _sources() -> Iterator[Path]:
    """Every source file, once, by path."""
    yield _PACKAGE / "__init__.py"
    yield from sorted({path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py")})
