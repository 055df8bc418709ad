"""Rows of files in types that every reader has; INT96 as Spark reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.simulation.read_rows import read_batches, read_schema

AT = datetime(2026, 3, 1, 12, 30, 5, 250_000)
MOMENT = pa.timestamp("us", tz="UTC")


def test_old_timestamps_are_moments_wherever_they_are_nested(tmp_path: Path) -> None:
    table = pa.table(
        {
            "at": pa.array([AT, None], pa.timestamp("us")),
            "s": pa.array([{"at": AT, "n": 1}, None]),
            "list": pa.array([[AT], []], pa.list_(pa.timestamp("us"))),
            "text": pa.array(["a", None], pa.string_view()),
        }
    )
    path = tmp_path / "old.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    (batch,) = read_batches(path, 10)
    assert batch.schema.remove_metadata() == read_schema(path)
    assert batch.schema.field("at").type == MOMENT
    assert batch.schema.field("s").type.field("at").type == MOMENT
    assert batch.schema.field("text").type == pa.string()
    aware = AT.replace(tzinfo=UTC)
    assert batch.to_pylist()[0] == {
        "at": aware,
        "s": {"at": aware, "n": 1},
        "list": [aware],
        "text": "a",
    }


def test_local_times_of_the_new_type_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "new.parquet"
    pq.write_table(pa.table({"at": pa.array([AT], pa.timestamp("us"))}), path)
    (batch,) = read_batches(path, 10)
    assert batch.schema.field("at").type == pa.timestamp("us")
    assert batch.to_pylist() == [{"at": AT}]
