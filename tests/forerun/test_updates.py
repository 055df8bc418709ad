"""Deliveries of a changelog add up to the table, and take back only what came before."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forerun.simulation.deliveries import Splitter
from forerun.simulation.tables import find_tables
from forerun.simulation.updates import with_updates

ROWS = 4000


def table() -> pa.Table:
    return pa.table({"id": range(ROWS), "v": [n % 7 for n in range(ROWS)]})


def deliveries(folder: Path) -> list[pa.Table]:
    pq.write_table(table(), folder / "t.parquet")
    splitter = Splitter(find_tables(folder), (0.5, 0.8, 1.0), 1, changelogs=frozenset({"t"}))
    counts = splitter.write("t", folder / "out")
    made = [pq.read_table(folder / "out" / f"run-{run}.parquet") for run in (1, 2, 3)]
    assert [one.num_rows for one in made] == list(counts)
    return made


def test_the_deliveries_add_up_to_the_table(tmp_path: Path) -> None:
    times: Counter[tuple[int, int]] = Counter()
    for delivery in deliveries(tmp_path):
        for row in delivery.to_pylist():
            times[row["id"], row["v"]] += row["__w"]
        assert min(times.values()) >= 0
    there = {row: count for row, count in times.items() if count}
    assert there == {(row["id"], row["v"]): 1 for row in table().to_pylist()}


def test_some_rows_are_taken_back_and_come_again_with_other_values(tmp_path: Path) -> None:
    made = deliveries(tmp_path)
    back = [sum(w < 0 for w in one.column("__w").to_pylist()) for one in made]
    assert back[0] == 0
    assert 0.02 * ROWS < sum(back) < 0.15 * ROWS
    assert min(back[1:]) > 0


def test_columns_that_rows_arrive_by_keep_their_values() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    parts = list(with_updates(batch, np.array([0, 0]), 1, np.array([0.0, 0.01]), {"c"}))
    first = [(row["a"], row["b"], row["c"]) for run, p in parts for row in p.to_pylist() if not run]
    assert sorted(first) == [(1, 4, 5), (2, 3, 6)]
