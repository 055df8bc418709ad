from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.demo.reports import deliver, demo_sources
from forerun.include.reports.spec import SpecError

DAY = date(2026, 1, 15)


@pytest.fixture
def staged(tmp_path, monkeypatch):
    monkeypatch.setenv("FORERUN_DATA", tmp_path.as_uri())
    for table in ("orders", "lineitem"):
        for run in (1, 2):
            folder = tmp_path / "staged" / DAY.isoformat() / f"run-{run}" / table
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"x": [run]}), folder / "part-0.parquet")
    return tmp_path


def arrived(root: Path) -> list[str]:
    folder = root / "arrived" / DAY.isoformat()
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_deliveries_arrive_one_after_the_other(staged):
    tables = ("orders", "lineitem")
    assert deliver(tables, DAY, 1, last=False) == 2
    assert arrived(staged) == ["lineitem/run-1-part-0.parquet", "orders/run-1-part-0.parquet"]
    before = (staged / "arrived" / DAY.isoformat() / "orders/run-1-part-0.parquet").stat()
    assert deliver(tables, DAY, 1, last=False) == 0
    after = (staged / "arrived" / DAY.isoformat() / "orders/run-1-part-0.parquet").stat()
    assert after.st_mtime_ns == before.st_mtime_ns
    assert deliver(tables, DAY, 2, last=True) == 2
    assert "orders/_SUCCESS" in arrived(staged)
    assert deliver(tables, DAY, 1, last=False) == 0
    assert arrived(staged) == ["lineitem/run-1-part-0.parquet", "orders/run-1-part-0.parquet"]


def test_a_day_that_was_not_generated(staged):
    with pytest.raises(SpecError, match="no demo data is staged for 2026-02-01"):
        deliver(("orders",), date(2026, 2, 1), 1, last=False)


def test_sources_lie_where_deliveries_arrive(staged):
    deliver(("orders",), DAY, 1, last=False)
    (source,) = demo_sources("orders")
    assert Path(source.path_on(DAY).removeprefix("file://"), "run-1-part-0.parquet").is_file()


def test_the_declared_columns_are_those_of_the_generator(tmp_path, monkeypatch):
    from forerun.demo.data import generate_day

    tables = generate_day(tmp_path, 0.001)
    for source in demo_sources(*tables):
        schema = pq.read_schema(tmp_path / f"{source.name}.parquet")
        assert [c.name for c in source.columns] == schema.names
        kinds = {c.name: _parquet_kind(schema.field(c.name).type) for c in source.columns}
        assert kinds == {c.name: c.type for c in source.columns}


def _parquet_kind(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    names = {"int64": "BIGINT", "int32": "INT", "date32[day]": "DATE"}
    return names.get(str(kind), "STRING")
