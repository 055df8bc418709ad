"""Columns that folders name: each engine reads them alike; what no folder says is refused."""

from __future__ import annotations

import datetime as dt
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ClockTime, SourceSpec, SpecError, Trailing
from forerun.include.sources.constants import PartitionError
from forerun.include.sources.pins import SchemaDriftError
from forerun.include.sources.samples import draw
from forerun.planner.contract import ColumnSpec
from tests.oracles.values import Row
from tests.spark.lake import ENGINES, pinned, read
from tests.spark.places import FIRST, Place


def columns(**types: str) -> tuple[ColumnSpec, ...]:
    return tuple(ColumnSpec(name=name, type=kind) for name, kind in types.items())


def deliver(folder: Path, place: str, **rows: list[Any]) -> None:
    (folder / "in" / place).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows), folder / "in" / place / "1.parquet")


def source(folder: Path, path: str = "", **types: str) -> SourceSpec:
    return SourceSpec(
        name="t",
        path=f"{folder}/in{path}",
        columns=columns(k="BIGINT", **types),
        partitioned_by=tuple(types),
        complete_when=ClockTime(),
        over=Trailing(days_back=3) if path else None,
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_values_are_of_the_declared_types(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    deliver(tmp_path, "t=it%27s a%2Fb/N=007/d=2026-02-03/b=TRUE/m=-1.50", k=[1, 2])
    null = "__HIVE_DEFAULT_PARTITION__"
    deliver(tmp_path, f"t={null}/n={null}/d={null}/b={null}/m={null}", k=[3])
    types = {"t": "STRING", "n": "INT", "d": "DATE", "b": "BOOLEAN", "m": "DECIMAL(5,2)"}
    spec = source(tmp_path, **types)
    values = ("it's a/b", 7, dt.date(2026, 2, 3), True, Decimal("-1.50"))
    expected = sorted([(1, *values), (2, *values), (3, *[None] * 5)], key=repr)
    assert read(request.getfixturevalue(engine), spec, pinned(tmp_path, spec)) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_text_stays_as_it_is_written(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Engines that find partitions by themselves take 007 for a number."""
    deliver(tmp_path, "month=007", k=[1])
    deliver(tmp_path, "month=back\\slash", k=[2])
    spec = source(tmp_path, month="STRING")
    rows = read(request.getfixturevalue(engine), spec, pinned(tmp_path, spec))
    assert rows == [(1, "007"), (2, "back\\slash")]


def test_the_folder_of_a_day_names_its_column(tmp_path: Path) -> None:
    for day in (26, 27, 28):
        deliver(tmp_path, f"dt=2026-02-{day}", k=[day])
    deliver(tmp_path, "dt=2026-03-01", k=[1])
    pin = pinned(tmp_path, source(tmp_path, "/dt={ds}", dt="DATE"))
    assert [f.constants for f in pin.files] == [
        (("dt", "2026-02-27"),), (("dt", "2026-02-28"),), (("dt", "2026-03-01"),)
    ]  # fmt: skip
    known = {c.name: (c.minimum, c.maximum, c.nulls) for c in pin.files[0].columns}
    assert known == {"k": ("27", "27", 0), "dt": ("2026-02-27", "2026-02-27", 0)}


@pytest.mark.parametrize(
    ("place", "kind", "why"),
    [
        ("x", "STRING", "lies in no folder that names its p"),
        ("p=", "STRING", "lies in no folder that names its p"),
        ("p=1.5", "INT", r"'1\.5' is no INT"),
        ("p=1_0", "INT", "'1_0' is no INT"),
        ("p=128", "TINYINT", "'128' is no TINYINT"),
        ("p=2026-02-30", "DATE", "'2026-02-30' is no DATE"),
        ("p=20260203", "DATE", "'20260203' is no DATE"),
        ("p=yes", "BOOLEAN", "'yes' is no BOOLEAN"),
        ("p=1.555", "DECIMAL(5,2)", r"'1\.555' is no DECIMAL"),
        ("p=NaN", "DECIMAL(5,2)", r"'NaN' is no DECIMAL"),
        ("p=1", "DOUBLE", "the partition column p is of type DOUBLE"),
    ],
)
def test_what_a_folder_does_not_say_is_refused(
    tmp_path: Path, place: str, kind: str, why: str
) -> None:
    deliver(tmp_path, place, k=[1])
    with pytest.raises(PartitionError, match=why) as caught:
        pinned(tmp_path, source(tmp_path, p=kind))
    assert caught.value.code == "schema-drift"


def test_a_column_of_the_file_and_of_its_folder_is_refused(tmp_path: Path) -> None:
    deliver(tmp_path, "p=1", k=[1], p=[2])
    with pytest.raises(PartitionError, match="holds the column p, which its partition names"):
        pinned(tmp_path, source(tmp_path, p="INT"))


def test_a_null_is_refused_where_none_is_declared(tmp_path: Path) -> None:
    deliver(tmp_path, "p=__HIVE_DEFAULT_PARTITION__", k=[1])
    spec = source(tmp_path, p="INT")
    declared = (spec.columns[0], ColumnSpec(name="p", type="INT", nullable=False))
    strict = SourceSpec(
        name="t", path=spec.path, columns=declared, partitioned_by=("p",), complete_when=ClockTime()
    )
    with pytest.raises(SchemaDriftError, match="p: expected INT without NULL, found 1 NULL"):
        pinned(tmp_path, strict)


def test_a_declaration_that_cannot_be_is_refused(tmp_path: Path) -> None:
    def declared(by: tuple[str, ...], **types: str) -> SourceSpec:
        return SourceSpec(name="t", path="/in", columns=columns(**types), partitioned_by=by)

    with pytest.raises(SpecError, match="partition column q is not among its columns"):
        declared(("q",), k="INT")
    with pytest.raises(SpecError, match="all of its columns are partitions"):
        declared(("k",), k="INT")


def test_samples_have_the_columns_of_folders(tmp_path: Path) -> None:
    deliver(tmp_path, "p=1/q=x", k=[1, 1])
    spec = source(tmp_path, p="INT", q="STRING")
    found = dict(draw(pinned(tmp_path, spec).files, ["k", "p", "q"], 24).values)
    assert {name: set(values) for name, values in found.items()} == {
        "k": {Decimal(1)}, "p": {Decimal(1)}, "q": {"x"},
    }  # fmt: skip


def test_the_types_of_partitions_may_be_declared_anew(tmp_path: Path) -> None:
    deliver(tmp_path, "p=1", k=[1])
    for kind in ("INT", "STRING", "BIGINT"):
        (file,) = pinned(tmp_path, source(tmp_path, p=kind)).files
        assert {c.name: c.type for c in file.columns}["p"] == kind


class PartedPlace(Place):
    """Deliveries of sales into a folder for each category, which the files do not hold."""

    def deliver(self, number: int, sales: list[Row], returns: list[Row]) -> None:
        super().deliver(number, sales, returns)
        file = Path(self.delivery("sales")) / f"{number}.parquet"
        table = pq.read_table(file)
        file.unlink()
        for cat in set(table.column("cat").to_pylist()):
            mask = pa.array([value == cat for value in table.column("cat").to_pylist()])
            named = "__HIVE_DEFAULT_PARTITION__" if cat is None else cat.replace("%", "%25")
            folder = file.parent / f"cat={named}"
            folder.mkdir(exist_ok=True)
            pq.write_table(table.filter(mask).drop_columns(["cat"]), folder / file.name)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_day_of_folders_is_that_of_files(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = PartedPlace(tmp_path, request.getfixturevalue(engine))
    place.changes = {"sold.sales": {"partitioned_by": ("cat",)}}
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5), (2, "b c", 7), (3, "a", 2), (4, None, 2)], [(1, 10), (4, 20)])
    place.run(at, FIRST, 1, method="progressive")
    place.deliver(2, [(7, "a", 3), (2, "50%", 4)], [(7, 2), (2, 1), (None, 5)])
    commit = place.run(at, FIRST, 2, method="progressive")
    place.check(commit, FIRST)
    assert commit.metrics.state_rows_read


def test_a_folder_that_is_moved_is_another_file(tmp_path: Path, sail: Any) -> None:
    deliver(tmp_path, "p=1", k=[1])
    spec = source(tmp_path, p="INT")
    first = pinned(tmp_path, spec)
    shutil.move(tmp_path / "in" / "p=1", tmp_path / "in" / "p=2")
    second = pinned(tmp_path, spec)
    assert first.files != second.files
    assert read(sail, spec, second) == [(1, 2)]
