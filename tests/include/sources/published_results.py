"""Results of reports, published into a store as a report publishes them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.state.layout import pointer_key, version_folder
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import ArtifactFile, encode
from forerun.include.stores.store import Store


def publish(
    store: Store,
    report: str,
    day: dt.date,
    version: int,
    *files: pa.Table,
    early: bool = False,
    incomplete: tuple[tuple[str, str], ...] = (),
) -> Pointer:
    """Publish tables as the files of a version, which readers find from now on."""
    folder = version_folder(report, str(day), f"1-{version}-a")
    written = []
    for number, rows in enumerate(files):
        data, key = pa.BufferOutputStream(), f"{folder}/part-{number}.parquet"
        pq.write_table(rows, data)
        store.put(key, data.getvalue().to_pybytes())
        stored = store.stat(key)
        assert stored is not None
        checksum = store.checksum(key)
        written.append(
            ArtifactFile(
                name=f"part-{number}.parquet",
                size=stored.size,
                identity="" if checksum else stored.identity,
                checksum=checksum,
            )
        )
    pointer = Pointer(
        report=report,
        day=str(day),
        version=f"1-{version}-a",
        generation=1,
        run=version,
        folder=store.uri(folder),
        files=tuple(written),
        rows=sum(rows.num_rows for rows in files),
        published_at="2026-03-01T12:00:00+00:00",
        early=early,
        incomplete=incomplete,
    )
    store.put(pointer_key(report, str(day)), encode(pointer))
    return pointer
