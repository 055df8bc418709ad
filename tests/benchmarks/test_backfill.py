"""The days of the backfill benchmark are the table, cut in the order of its rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.simulation.tables import find_tables
from tests.benchmarks.backfill import DAYS, split_days


def test_a_table_is_cut_into_days_and_the_wide_day_has_them_all(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    for name, rows in (("lineitem", 1501), ("part", 3)):
        (tables / name).mkdir(parents=True)
        for place, part in enumerate((range(rows // 2), range(rows // 2, rows))):
            pq.write_table(
                pa.table({"a": list(part)}), tables / name / f"{place}.parquet", row_group_size=77
            )
    split_days(find_tables(tables), tmp_path / "days")
    daily = sorted((tmp_path / "days" / "daily").glob("*/part.parquet"))
    assert len(daily) == DAYS
    sizes = [pq.read_metadata(path).num_rows for path in daily]
    assert max(sizes) - min(sizes) == 1
    assert pa.concat_tables(map(pq.read_table, daily))["a"].to_pylist() == list(range(1501))
    (wide,) = (tmp_path / "days" / "wide").iterdir()
    assert pq.read_table(sorted(wide.iterdir()))["a"].to_pylist() == list(range(1501))
    assert (tmp_path / "days" / "static" / "part").is_dir()
