"""What footers say of the leaves of nested columns, and what the planner makes of it, beside what
is counted in the rows."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.sources.files import locate
from forerun.include.sources.parquet.footers import read_footers
from forerun.include.sources.statistics import column_stats
from forerun.include.state.records import PinnedFile, decode, encode
from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.estimate import Estimator

KIND = "ARRAY<STRUCT<sku:STRING,qty:INT,tags:ARRAY<STRING>>>"
WORDS = "MAP<STRING,INT>"
ROWS = 400


def rows() -> list[dict[str, object]]:
    chance = random.Random(3)
    made = []
    for number in range(ROWS):
        items = [
            {"sku": f"s{chance.randrange(7)}", "qty": chance.randrange(1, 5),
             "tags": ["x", "y"][: chance.randrange(3)]}
            for _ in range(chance.randrange(6))
        ]  # fmt: skip
        words = [(f"k{n}", n) for n in range(number % 3)]
        deep = {"a": {"b": number % 4}, "none": None}
        made.append({
            "id": number, "items": items if number % 10 else None, "words": words, "deep": deep,
        })  # fmt: skip
    return made


SCHEMA = pa.schema({
    "id": pa.int64(),
    "items": pa.list_(pa.struct({"sku": pa.string(), "qty": pa.int32(),
                                 "tags": pa.list_(pa.string())})),
    "words": pa.map_(pa.string(), pa.int32()),
    "deep": pa.struct({"a": pa.struct({"b": pa.int32()}), "none": pa.string()}),
})  # fmt: skip
TYPES = {
    "id": "BIGINT", "items": KIND, "words": WORDS, "deep": "STRUCT<a:STRUCT<b:INT>,none:STRING>",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[PinnedFile]:
    folder = tmp_path_factory.mktemp("nested")
    every = rows()
    for number, part in enumerate((every[:100], every[100:])):
        table = pa.Table.from_pylist(part, SCHEMA)
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=100)
    at = locate(str(folder))
    return read_footers(at, at.store.list(at.key))


def test_entries_are_counted_leaf_by_leaf(files: list[PinnedFile]) -> None:
    stats = column_stats(files, "items", parse_type(KIND))
    parts = dict(stats.parts)
    entries = sum(max(1, len(row["items"] or ())) for row in rows())
    nothing = sum(not row["items"] for row in rows())
    sku = parts["[]", ".sku"]
    assert sku.entries * ROWS == pytest.approx(entries)
    assert sku.nulls * entries == pytest.approx(nothing)
    assert (sku.minimum, sku.maximum) == ("s0", "s6")
    assert sku.distinct == pytest.approx(7, abs=1)
    assert (parts["[]", ".qty"].minimum, parts["[]", ".qty"].maximum) == ("1", "4")
    tags = sum(max(1, len(i["tags"])) for row in rows() for i in row["items"] or [{"tags": ()}])
    assert parts["[]", ".tags", "[]"].entries * ROWS == pytest.approx(tags)
    words = dict(column_stats(files, "words", parse_type(WORDS)).parts)
    assert words["{key}",].distinct == 2.0
    assert words["{value}",].maximum == "1"
    deep = dict(column_stats(files, "deep", parse_type(TYPES["deep"])).parts)
    assert deep[".a", ".b"].distinct == 4.0
    assert deep[".none",].nulls == 1.0


def test_what_is_stored_is_what_was_read(files: list[PinnedFile]) -> None:
    assert [decode(PinnedFile, encode(file), "f") for file in files] == files


def test_older_writers_are_read_too(tmp_path: Path) -> None:
    table = pa.table({"xs": pa.array([[1, 2], [], None, [3]], pa.list_(pa.int32()))})
    for version, names in (("old", False), ("new", True)):
        path = tmp_path / version / "x.parquet"
        path.parent.mkdir()
        pq.write_table(table, path, use_compliant_nested_type=names)
        at = locate(str(path.parent))
        (file,) = read_footers(at, at.store.list(at.key))
        (part,) = file.columns[0].parts
        assert (part.path, part.entries, part.nulls) == (("[]",), 5, 2)


COUNTED = [
    ("SELECT id, explode(items) AS e FROM t", lambda: sum(len(r["items"] or ()) for r in rows())),
    ("SELECT id, explode_outer(items) AS e FROM t",
     lambda: sum(max(1, len(r["items"] or ())) for r in rows())),
    ("SELECT k, v FROM t LATERAL VIEW explode(words) w AS k, v",
     lambda: sum(len(r["words"]) for r in rows())),
    ("SELECT inline(items) FROM t", lambda: sum(len(r["items"] or ()) for r in rows())),
    ("SELECT e.sku, sum(e.qty) FROM t LATERAL VIEW explode(items) x AS e GROUP BY e.sku",
     lambda: 7),
    ("SELECT e, count(*) FROM t LATERAL VIEW explode(items.sku) x AS e GROUP BY e", lambda: 7),
    ("SELECT s, 1 FROM t LATERAL VIEW inline(arrays_zip(items.sku, items.qty)) x AS s,q GROUP BY 1",
     lambda: 7),
    ("SELECT deep.a.b, count(*) FROM t GROUP BY deep.a.b", lambda: 4),
    ("SELECT items[0].sku, count(*) FROM t GROUP BY 1", lambda: 8),
    ("SELECT k, count(*) FROM t LATERAL VIEW explode(map_keys(words)) w AS k GROUP BY k",
     lambda: 2),
    ("SELECT t FROM (SELECT explode(items) AS e FROM t) LATERAL VIEW explode(e.tags) x AS t",
     lambda: sum(len(i["tags"]) for r in rows() for i in r["items"] or ())),
    ("SELECT e.sku, 1 FROM t LATERAL VIEW explode(filter(items, i -> true)) x AS e GROUP BY e.sku",
     lambda: 7),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "counted"), COUNTED, ids=[sql for sql, _ in COUNTED])
def test_the_planner_expects_what_is_there(files: list[PinnedFile], sql: str, counted) -> None:
    columns = tuple(SourceColumn(name=n, type=parse_type(k)) for n, k in TYPES.items())
    stats = tuple((c.name, column_stats(files, c.name, c.type)) for c in columns)
    source = Source(name="t", columns=columns, rows=ROWS, stats=stats)
    relation = read_query(sql, (source,)).relation
    assert Estimator((source,)).rows(relation) == pytest.approx(counted(), rel=0.15)
