"""The files of a source by the rule of ours, and by what engines read of the same folder."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forerun.include.sources.listing import data_files
from forerun.include.sources.pins import pin_source
from forerun.include.stores.opening import open_store
from forerun.spark_jobs.paths import literal
from tests.include.days.day_cases import COLUMNS, DAY, NOW, table
from tests.include.sources.test_listing import DATA, source

ENDS = ("f", "", "", "_", ".")
PARTS = ("a", "_a", ".a", "_a=1", "a=_1", ".a=1", "a._COPYING_", "_a=1._COPYING_", "=", "_", "a_")


@pytest.mark.spark
def test_the_rule_is_sparks_own(spark, tmp_path: Path) -> None:
    """Spark lists the folder by itself; what it reads is what the rule calls visible."""
    draw = random.Random(7)
    folder = tmp_path / "in"
    paths = {
        "/".join(
            draw.choice((*PARTS, "b", "c", "d=1", "e", "f", "g")) for _ in range(draw.randint(1, 3))
        )
        for _ in range(40)
    }
    for number, path in enumerate(sorted(paths)):
        name = f"{draw.choice(ENDS)}{draw.choice(PARTS)}{draw.choice(('.f', ''))}"
        where = folder / str(number) / path / name
        where.parent.mkdir(parents=True)
        pq.write_table(table((1, 1)), where)
        (where.parent / "EMPTY").write_bytes(b"")
    reader = spark.session.read.option("recursiveFileLookup", "true").schema("k BIGINT, v BIGINT")
    rows = reader.parquet(literal(str(folder))).selectExpr("_metadata.file_path").collect()
    seen = {row[0].partition("/in/")[2] for row in rows}
    found = data_files(source(folder), DAY)
    assert seen == {file.key.removeprefix(f"{found.location.key}/") for file in found.files}
    assert 5 < len(seen) < len(paths)


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.spark)])
def test_engines_read_files_of_any_name(request, engine: str, tmp_path: Path) -> None:
    running = request.getfixturevalue(engine)
    for number, name in enumerate(DATA, start=1):
        where = tmp_path / "in" / name
        where.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(*((number, i) for i in range(number))), where)
    store = open_store(str(tmp_path / "state"))
    pin = pin_source(store, source(tmp_path / "in"), DAY, NOW)[1]
    frame = running.read([file.uri for file in pin.files], COLUMNS)
    counted = sorted(
        (row["k"], row["n"])
        for row in frame.groupBy("k").agg({"v": "count"}).toDF("k", "n").collect()
    )
    assert counted == [(n, n) for n in range(1, len(DATA) + 1)]
