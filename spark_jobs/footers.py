"""Row counts from Parquet footers."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.engine import Session

_LOCAL = "file://"


def count_rows(session: Session, files: Sequence[str]) -> int:
    """Rows in Parquet files. Local footers are read here; others by a job of the session, which
    for a count without columns reads footers only."""
    if not files:
        return 0
    if all(file.startswith(_LOCAL) for file in files):
        from pyarrow.parquet import read_metadata

        return sum(int(read_metadata(file.removeprefix(_LOCAL)).num_rows) for file in files)
    return int(session.read.parquet(*files).count())
