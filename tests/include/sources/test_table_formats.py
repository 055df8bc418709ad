"""Folders of table formats are refused by name, as source and as sink."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from forerun.include.reports.spec import ClockTime, PartitionFolder, SourceSpec
from forerun.include.runs.prepare import publish_result
from forerun.include.sources.completeness import find_missing
from forerun.include.sources.listing import data_files
from forerun.include.sources.pins import pin_source
from forerun.include.sources.table_formats import TableFormatError
from forerun.include.stores.opening import open_store
from tests.include.days.day_cases import COLUMNS, DAY, NOW, DayCase

TABLES = {
    "a Delta table": ("_delta_log/00000000000000000000.json", "part-0.parquet"),
    "an Iceberg table": ("metadata/00000-8c1e.metadata.json", "data/part-0.parquet"),
    "a Hudi table": (".hoodie/hoodie.properties", "part-0.parquet"),
    "the output of a Spark stream": ("_spark_metadata/0", "part-0.parquet"),
    "a Paimon table": ("snapshot/snapshot-1", "bucket-0/data-1.parquet"),
}
OTHER_MARKS = {
    "a Delta table": ("_delta_log/_last_checkpoint", "_delta_log/x/y.parquet"),
    "an Iceberg table": ("metadata/v1.metadata.json", "metadata/v3.gz.metadata.json"),
    "a Hudi table": (".hoodie/.aux/x", ".hoodie/timeline/1"),
    "the output of a Spark stream": ("_spark_metadata/9.compact",),
    "a Paimon table": ("snapshot/LATEST",),
}
ACID = (
    "delta_0000001_0000001_0000",
    "base_0000002",
    "delete_delta_0000003_0000003",
    "base_0000007_v0000012",
)


def source(path: str) -> SourceSpec:
    return SourceSpec(name="orders", path=path, columns=COLUMNS, complete_when=ClockTime())


def pin(store_uri: str, path: str) -> None:
    pin_source(open_store(f"{store_uri}/state"), source(f"{store_uri}/{path}"), DAY, NOW)


def fill(store_uri: str, root: str, *files: str) -> None:
    for file in files:
        open_store(store_uri).put(f"{root}/{file}", b"x")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("path", ["t", "t/data", "t/ds={ds}", "t/a/b/{yyyy}/{mm}", "."])
def test_a_table_is_refused_as_source(store_uri: str, table: str, path: str) -> None:
    """At its root, below it, whether there is anything or not, and above it."""
    fill(store_uri, "all/t", *TABLES[table])
    with pytest.raises(TableFormatError, match=f"/all/t is {table} ") as error:
        pin(store_uri, f"all/{path}".removesuffix("/."))
    assert "export a day's rows as plain Parquet" in error.value.hint


@pytest.mark.parametrize("table", OTHER_MARKS)
def test_all_that_a_format_keeps_tells_it(store_uri: str, table: str) -> None:
    for number, mark in enumerate(OTHER_MARKS[table]):
        fill(store_uri, f"t{number}", mark, "1.parquet")
        with pytest.raises(TableFormatError, match=table):
            pin(store_uri, f"t{number}")
        with pytest.raises(TableFormatError, match=table):
            pin(store_uri, f"t{number}/part=1")


@pytest.mark.parametrize("folder", ACID)
def test_a_transactional_table_of_hive_is_refused(store_uri: str, folder: str) -> None:
    fill(store_uri, f"t/{folder}", "000000_0")
    for path in ("t", f"t/{folder}"):
        with pytest.raises(TableFormatError, match="transactional table of Hive"):
            pin(store_uri, path)


def test_a_link_into_a_table_is_one(tmp_path: Path) -> None:
    fill(str(tmp_path), "t", *TABLES["an Iceberg table"])
    (tmp_path / "link").symlink_to(tmp_path / "t" / "data")
    with pytest.raises(TableFormatError, match="an Iceberg table"):
        pin(str(tmp_path), "link")


def test_folders_of_the_same_names_without_a_table_are_fine(store_uri: str) -> None:
    fill(store_uri, "t", "metadata/readme", "snapshot/x", "base_1/a", "delta_x/b", "in/1.parquet")
    assert len(data_files(source(f"{store_uri}/t"), DAY).files) == 5
    fill(store_uri, "other", "_delta_log/0.json")
    assert len(data_files(source(f"{store_uri}/t"), DAY).files) == 5


def test_completeness_says_so_before_anything_is_pinned(store_uri: str, tmp_path: Path) -> None:
    case = DayCase(tmp_path, store_uri)
    fill(str(tmp_path), "sources/orders", *TABLES["a Delta table"])
    from dataclasses import replace

    (orders,) = case.spec.sources
    spec = replace(case.spec, sources=(replace(orders, arrival="static", complete_when=None),))
    with pytest.raises(TableFormatError, match="a Delta table"):
        find_missing(spec, DAY, NOW)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_refused_as_sink_before_the_first_run(tmp_path, store_uri, table: str) -> None:
    sink = PartitionFolder(path=f"{store_uri}/w/totals", column="day")
    case = DayCase(tmp_path, store_uri, sink={"sink": sink})
    case.deliver("1", (1, 2))
    fill(store_uri, "w/totals", *TABLES[table])
    with pytest.raises(TableFormatError, match=f"/w/totals is {table} "):
        case.prepare(case.open("first"), 1)


def test_a_sink_that_has_become_a_table_is_refused_when_it_is_published(
    tmp_path, store_uri
) -> None:
    sink = PartitionFolder(path=f"{store_uri}/w/totals", column="day")
    case = DayCase(tmp_path, store_uri, sink={"sink": sink})
    case.deliver("1", (1, 2))
    generation = case.open("first")
    for run in (1, 2):
        case.commit(case.prepare(generation, run))
    fill(store_uri, "w", ".hoodie/hoodie.properties")
    with pytest.raises(TableFormatError, match="/w is a Hudi table"):
        publish_result(case.day(generation), now=NOW)
    assert not open_store(store_uri).list("w/totals/day=2026-03-01")


def test_wherever_a_table_lies_on_the_way_it_is_found(tmp_path: Path) -> None:
    """Random trees: a table's root at any depth, the source above, at or below it."""
    draw = random.Random(3)
    for number in range(150):
        path = [
            "".join(draw.choices(string.ascii_lowercase, k=3)) for _ in range(draw.randint(1, 6))
        ]
        root = draw.randint(1, len(path))
        table = draw.choice(sorted(TABLES))
        fill(str(tmp_path), f"{number}/{'/'.join(path[:root])}", *TABLES[table])
        with pytest.raises(TableFormatError, match=table):
            pin(str(tmp_path), f"{number}/{'/'.join(path[: draw.randint(1, len(path))])}")
