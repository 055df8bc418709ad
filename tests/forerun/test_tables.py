"""Folders of tables: what counts as one, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.sources.parquet.footers import SourceFileError
from forerun.planner.errors import ForerunError, RequestError, SqlError
from forerun.simulation.planning import ReportFileError, read_day_tables, read_report
from forerun.simulation.tables import TablesError, find_tables


def test_files_and_folders_are_tables(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "one.parquet")
    (tmp_path / "two" / "deep").mkdir(parents=True)
    pq.write_table(pa.table({"b": ["x"]}), tmp_path / "two" / "p.parquet")
    pq.write_table(pa.table({"b": ["y", "z"]}), tmp_path / "two" / "deep" / "q.parquet")
    (tmp_path / "two" / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("not a table")
    tables = find_tables(tmp_path)
    assert {name: (t.rows, len(t.files)) for name, t in tables.items()} == {
        "one": (2, 1),
        "two": (3, 2),
    }
    assert [(c.name, c.type) for c in tables["two"].columns] == [("b", "STRING")]


def test_types_are_sparks(tmp_path: Path) -> None:
    kind = pa.struct([("a", pa.list_(pa.int64())), ("b", pa.map_(pa.string(), pa.float32()))])
    kinds = {
        "nested": kind,
        "exact": pa.decimal128(15, 2),
        "plain": pa.timestamp("us"),
        "at": pa.timestamp("us", "UTC"),
    }
    table = pa.table({name: pa.nulls(1, kind) for name, kind in kinds.items()})
    (tmp_path / "one").mkdir()
    pq.write_table(table, tmp_path / "one" / "1.parquet")
    assert [column.type for column in find_tables(tmp_path)["one"].columns] == [
        "STRUCT<a:ARRAY<BIGINT>,b:MAP<STRING,FLOAT>>", "DECIMAL(15,2)", "TIMESTAMP_NTZ",
        "TIMESTAMP",
    ]  # fmt: skip


def refused(folder: Path) -> str:
    with pytest.raises(TablesError) as caught:
        find_tables(folder)
    assert caught.value.hint
    return caught.value.message


def test_no_folder_and_no_files(tmp_path: Path) -> None:
    assert "is not a folder" in refused(tmp_path / "nowhere")
    assert "no Parquet files in" in refused(tmp_path)
    (tmp_path / "t").mkdir()
    assert "holds no Parquet files" in refused(tmp_path)


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(100))}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SourceFileError, match="not a readable Parquet file") as caught:
        find_tables(tmp_path)
    assert str(path) in caught.value.message


def test_sparks_old_timestamps_are_timestamps_as_in_pins(tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array([0, 1], pa.timestamp("us"))})
    pq.write_table(rows, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    (column,) = find_tables(tmp_path)["t"].columns
    assert column.type == "TIMESTAMP"


def test_files_that_disagree_are_named(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t" / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "t" / "2.parquet")
    assert "2.parquet has the columns a STRING" in refused(tmp_path)


def test_only_what_the_query_reads_is_looked_at(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"a": [1] * 20_000}), tmp_path / "Two.parquet")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("no table")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "twice").mkdir()
    for place in (tmp_path / "twice" / "p.parquet", tmp_path / "twice.parquet"):
        pq.write_table(pa.table({"a": [1]}), place)
    sql = "WITH w AS (SELECT a FROM one) SELECT a FROM w JOIN TWO USING (a)"
    tables, changing = read_day_tables(tmp_path, [sql], None)
    assert (sorted(tables), changing) == (["Two", "one"], {"Two"})
    assert read_day_tables(tmp_path, [sql], "one,broken")[1] == {"one"}
    with pytest.raises(RequestError, match="the table nowhere, which is not there") as caught:
        read_day_tables(tmp_path, [sql], "nowhere")
    assert "Two, broken, notes, one, twice" in caught.value.hint
    for name, words in (
        ("notes", "holds no Parquet files"),
        ("broken", "not a readable Parquet file"),
        ("twice", "has table twice twice"),
    ):
        with pytest.raises(ForerunError, match=words):
            read_day_tables(tmp_path, [f"SELECT (SELECT max(a) FROM {name}) AS a FROM one"], None)
    with pytest.raises(SqlError, match="unknown table onee") as misspelt:
        read_day_tables(tmp_path, ["SELECT a FROM onee"], None)
    assert misspelt.value.hint == "did you mean one?"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.sql", None, "there is no file"),
        ("empty.sql", b" ", "is empty"),
        ("latin.sql", b"SELECT '\xe9'", "cannot be read"),
        ("spec.json", b'{"version": 1, "sql": "SELECT 1"}', "is JSON, and a file with the SQL"),
    ],
)
def test_a_file_that_is_no_query_is_refused(tmp_path: Path, name, content, said: str):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReportFileError, match=said):
        read_report(path)
