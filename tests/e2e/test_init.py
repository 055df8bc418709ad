"""``forerun init`` on data sets of eleven shapes: what it writes runs as it is, and is right."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
import random
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from forerun.cli.app import run
from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.reports.front_matter import read_report_file
from forerun.include.reports.sources.complete_when import ClockTime, HourlyMarkers, MarkerFile
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.prepare import open_generation, prepare_run, publish_result, read_pointer
from forerun.include.sources.completeness import find_missing
from forerun.include.sources.formats import format_of
from forerun.include.stores import open_store
from forerun.include.verify.equality import compare
from forerun.planner.request import Settings
from forerun.simulation.running import InProcessRunner
from forerun.spark_jobs.engine import Engine, start_engine

DAYS = [dt.date(2026, 1, 30), dt.date(2026, 1, 31), dt.date(2026, 2, 1)]
NOON = dt.datetime(2026, 2, 2, 12, tzinfo=dt.UTC)
PROGRESSIVE = Settings(temporal="early", buckets=2)


@pytest.fixture(scope="module")
def sail() -> Iterator[Engine]:
    engine = start_engine(ENGINES["sail"], master=None, name="init")
    engine.configure(Settings().session)
    yield engine
    engine.stop()


def parquet(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def text(path: Path, lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines)


def orders(path: Path, seed: object, first: int = 0) -> None:
    chance = random.Random(str(seed))
    parquet(
        path,
        order_id=pa.array([first + n for n in range(40)], pa.int64()),
        customer_id=pa.array([chance.randrange(5) for _ in range(40)], pa.int32()),
        status=pa.array([chance.choice(["new", "paid", None]) for _ in range(40)]),
        total=pa.array([decimal.Decimal(chance.randrange(10**6)) / 100 for _ in range(40)],
                       pa.decimal128(12, 2)),
    )  # fmt: skip


def hive_days(root: Path) -> None:
    """Dated by Hive's rule, with markers, beside a table that stays."""
    for day in DAYS:
        folder = root / "orders" / f"ds={day}"
        orders(folder / "a.parquet", day)
        orders(folder / "b.parquet", f"{day}b", 100)
        (folder / "_SUCCESS").touch()
    names = ["k1", "k2", "k1", "k2"]
    parquet(root / "customers" / "c.parquet", id=pa.array(range(4), pa.int32()), segment=names)


def flat(root: Path) -> None:
    """A file for each table, no days."""
    orders(root / "orders.parquet", 1)
    parquet(root / "shops.parquet", shop_id=[1, 2], city=["Ulm", "Bonn"])


def csv_days(root: Path) -> None:
    """CSV, a folder for each day without a marker; numbers with leading zeros, empty fields."""
    for day in DAYS:
        lines = [f'{n:05d},{n % 3},{n}.50,{day},,"a, b"' for n in range(20)]
        text(root / "visits" / f"{day:%Y%m%d}" / "part-0.csv",
             "zip_code,kind,price,day,empty,said\n" + "\n".join(lines) + "\n")  # fmt: skip


def all_types(root: Path) -> None:
    """Types of all kinds, nested ones too, and one that Spark does not read."""
    moment = dt.datetime(2026, 1, 31, 7)
    for day in DAYS:
        parquet(
            root / "events" / f"date={day}" / "1.parquet",
            id=pa.array(["a", "b", "c"]),
            tiny=pa.array([1, 2, None], pa.int8()),
            small=pa.array([1, 2, 3], pa.int16()),
            large=pa.array([2**62, -(2**62), 5], pa.int64()),
            unsigned=pa.array([1, 2, 3], pa.uint32()),
            real=pa.array([1.5, float("nan"), None], pa.float32()),
            double=pa.array([1e300, -0.0, 0.0]),
            money=pa.array([decimal.Decimal("1.25")] * 3, pa.decimal128(38, 2)),
            flag=pa.array([True, False, None]),
            raw=pa.array([b"\x00", b"", None]),
            day=pa.array([day] * 3),
            at=pa.array([moment] * 3, pa.timestamp("us", tz="UTC")),
            local=pa.array([moment] * 3, pa.timestamp("us")),
            nanos=pa.array([1, 2, 3], pa.timestamp("ns", tz="UTC")),
            tags=pa.array([["x"], [], None]),
            place=pa.array([{"x": 1}, {"x": 2}, None]),
            words=pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
        )


def odd_names(root: Path) -> None:
    """Names with spaces, dots, words of SQL, letters of all kinds, and a table called after one."""
    for day in DAYS:
        parquet(
            root / "My Orders-2" / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" / "x.parquet",
            **{"Order ID": pa.array([1, 2, 3]), "select": ["a", "a", "b"], "größe": [1, 2, 3],
               "a.b": [1, 1, 2], "`tick`": ["p", "q", "p"], "n": [5, 6, 7]},
        )  # fmt: skip


def no_key(root: Path) -> None:
    """No column that tells rows apart, though one is called like it."""
    for day in DAYS:
        parquet(root / "log" / f"{day}" / "1.parquet", session_id=[1, 1, 2, None],
                word=["a", "b", "a", "a"], took=[1.5, 2.5, None, 4.0])  # fmt: skip


def hourly(root: Path) -> None:
    """Hours below days, each with its marker; a key of two columns."""
    for day in DAYS:
        for hour in range(24):
            folder = root / "clicks" / f"ds={day}" / f"hour={hour:02d}"
            visits = [hour * 2, hour * 2 + 1, hour]
            parquet(folder / "1.parquet", user_id=[1, 1, 2], visit_no=visits,
                    page=["a", "b", "a"], seconds=[1, 2, 3])  # fmt: skip
            (folder / "_SUCCESS").touch()


def nested(root: Path) -> None:
    """Deep folders, partitions that are no days, hidden and empty files."""
    for day in DAYS:
        for land in ("de", "fr"):
            folder = root / "raw" / "shop" / "sales" / f"dt={day}" / f"land={land}"
            parquet(folder / "part-00000-7f.c000.snappy.parquet", sku=["a", "b"], amount=[1, 2])
        (root / "raw" / "shop" / "sales" / f"dt={day}" / "_DONE").write_text("yes")
        (root / "raw" / "shop" / "sales" / f"dt={day}" / ".part.crc").write_bytes(b"x")
    parquet(root / "raw" / "shop" / "dim" / "type=1" / "x.parquet", sku=["a", "b"], name=["A", "B"])


def drifting(root: Path) -> None:
    """A column that grew wider, one that came later, one that is text and number."""
    parquet(root / "t" / f"{DAYS[0]}" / "1.parquet", id=pa.array([1, 2], pa.int32()), v=["a", "b"])
    for number, day in enumerate(DAYS[1:]):
        parquet(root / "t" / f"{day}" / "1.parquet", id=pa.array([1, 2], pa.int64()),
                v=[1, number], late=["x", "y"], kind=["p", "q"])  # fmt: skip
    parquet(root / "t" / f"{DAYS[0]}" / "2.parquet", id=pa.array([3], pa.int32()), v=["a"],
            kind=["p"])  # fmt: skip
    parquet(root / "t" / f"{DAYS[0]}" / "1.parquet", id=pa.array([1, 2], pa.int32()), v=["a", "b"],
            kind=["p", "p"])  # fmt: skip


def prefixed(root: Path) -> None:
    """A file for each table, the letters of a table before its columns; lines of orders, which name
    a larger table and a smaller one."""
    ints = pa.int32()
    lines = [(order, line) for order in range(60) for line in range(order % 4)]
    parquet(root / "lines.parquet", l_orderkey=pa.array([o for o, _ in lines], ints),
            l_partkey=pa.array([(o * 7 + n) % 9 for o, n in lines], ints),
            l_linenumber=pa.array([n for _, n in lines], ints),
            l_quantity=pa.array([o - n for o, n in lines], ints))  # fmt: skip
    parquet(root / "orders.parquet", o_orderkey=pa.array(range(200), ints),
            o_clerk=[f"c{n % 3}" for n in range(200)])  # fmt: skip
    parquet(root / "part.parquet", p_partkey=pa.array(range(9), ints), p_kind=["a", "b", "c"] * 3)


def json_lines(root: Path) -> None:
    """Objects with nested ones, some keys not in all of them, packed and not; one key is a number
    here and a text there."""
    for day in DAYS:
        rows = [
            {"id": n, "kind": "ab"[n % 2], "paid": n + 0.25, "day": str(day),
             "at": f"{day}T07:00:00Z", "ok": n > 2, "place": {"x y": n, "tags": ["p", None]},
             "mixed": n if n % 2 else "n"}
            for n in range(8)
        ]  # fmt: skip
        del rows[3]["paid"], rows[4]["place"]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        text(root / "events" / f"dt={day}" / "1.jsonl", lines)
    folder = root / "events" / f"dt={DAYS[-1]}"
    (folder / "events.2.ndjson.gz").write_bytes(
        gzip.compress(lines.replace('"id": ', '"id": 1').encode())
    )


def delta_days(root: Path) -> None:
    """A Delta table partitioned by days, of which a commit took rows, in a folder of others."""
    for day in (*DAYS, None):
        rows = pa.table({
            "order_id": pa.array([1, 2, 3], pa.int32()), "shop": ["a", "b", "b"], "n": [1, None, 3],
            "dt": pa.array([day] * 3, pa.date32()),
        })  # fmt: skip
        write_deltalake(str(root / "shop" / "orders"), rows, partition_by=["dt"], mode="append")
    late = pa.table({"order_id": pa.array([9], pa.int32()), "dt": [DAYS[-1]], "size": [4]})
    write_deltalake(str(root / "shop" / "orders"), late, mode="append", schema_mode="merge")
    DeltaTable(str(root / "shop" / "orders")).delete("order_id = 2")
    parquet(root / "shop" / "other" / "x.parquet", word=["p"])


def mixed_folder(root: Path) -> None:
    """A damaged Delta table, JSON without lines and a truncated file beside a table of one row."""
    parquet(root / "delta" / "part-0.parquet", a=[1])
    text(root / "delta" / "_delta_log" / f"{0:020d}.json", "{}")
    text(root / "list" / "a.json", "[\n{}\n]")
    text(root / "notes" / "a.txt", "{}")
    text(root / "cut" / "a.parquet", "PAR1")
    parquet(root / "one" / "ds=2026-02-01" / "1.parquet", id=[7], name=["only"])


SHAPES: list[tuple[Callable[[Path], None], dict[str, Any]]] = [
    (hive_days, {"key": ("order_id",), "sign": MarkerFile(), "reads": ["orders", "customers"]}),
    (flat, {"key": ("order_id",), "sign": None}),
    (csv_days, {"key": ("zip_code",), "sign": ClockTime(), "types": {
        "zip_code": "STRING", "kind": "BIGINT", "price": "DECIMAL(8,2)", "day": "DATE",
        "empty": "STRING", "said": "STRING"}}),
    (all_types, {"key": ("id",), "sign": ClockTime(), "without": {"nanos"}}),
    (odd_names, {"key": (), "sign": ClockTime(), "reads": ["my_orders_2"]}),
    (no_key, {"key": (), "sign": ClockTime()}),
    (hourly, {"key": ("user_id", "visit_no"), "sign": HourlyMarkers()}),
    (nested, {"key": (), "sign": MarkerFile(name="_DONE"), "reads": ["sales"]}),
    (drifting, {"key": ("id",), "sign": ClockTime(), "types": {"id": "BIGINT", "kind": "STRING"}}),
    (prefixed, {"key": ("l_orderkey", "l_linenumber"), "sign": None, "reads": ["lines", "part"]}),
    (json_lines, {"key": ("id",), "sign": ClockTime(), "types": {
        "id": "BIGINT", "kind": "STRING", "paid": "DECIMAL(7,2)", "day": "DATE", "at": "TIMESTAMP",
        "ok": "BOOLEAN", "place": "STRUCT<`x y`:BIGINT, tags:ARRAY<STRING>>"}}),
    (delta_days, {"key": ("order_id",), "sign": ClockTime(), "reads": ["orders"], "types": {
        "order_id": "INT", "shop": "STRING", "n": "BIGINT", "dt": "DATE", "size": "BIGINT"}}),
    (mixed_folder, {"key": (), "sign": ClockTime(), "reads": ["one"]}),
]  # fmt: skip


def written(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[ReportSpec, dict[str, Any]]:
    assert run(["init", str(root / "lake"), "--into", str(root / "dags"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return read_report_file(Path(found["files"][0])).spec, found


@pytest.mark.parametrize(("make", "wanted"), SHAPES, ids=[make.__name__ for make, _ in SHAPES])
def test_what_is_written_runs_unedited_and_is_right(tmp_path, capsys, sail, make, wanted):
    make(tmp_path / "lake")
    spec, found = written(tmp_path, capsys)
    subject = spec.sources[0]
    assert (subject.key, subject.complete_when) == (wanted["key"], wanted["sign"])
    assert [one.name for one in spec.sources] == wanted.get("reads", [subject.name])
    columns = {column.name: column.type for column in subject.columns}
    assert columns == wanted.get("types", columns)
    assert not set(columns) & wanted.get("without", set())
    day = dt.date.fromisoformat(found["day"])
    assert find_missing(spec, day, spec.deadline_on(day)) == ()
    opened = open_generation(f"{tmp_path}/store", spec, day, trigger="t", now=NOON)
    runner = InProcessRunner(ENGINES["sail"], sail)
    for number, now in enumerate(spec.points(day), start=1):
        prepared = prepare_run(opened, number, now=now, settings=PROGRESSIVE)
        if not prepared.skip_reason:  # the files are all there before the first run
            runner.run([prepared.plan_uri], "run", tiny=True)
    publish_result(opened, now=NOON)
    assert compare(plain(sail, spec, day), published(opened)).equal


def plain(sail: Engine, spec: ReportSpec, day: dt.date) -> pa.Table:
    """The report's own text over all files, by the engine alone."""
    for source in spec.sources:
        schema = ", ".join(f"`{c.name.replace('`', '``')}` {c.type}" for c in source.columns)
        if source.format == "delta":
            read = QueryBuilder().register("t", DeltaTable(source.path.partition("/dt=")[0]))
            found = pa.table(read.execute("SELECT * FROM t")).to_pylist()
            rows = sail.session.createDataFrame(found, schema)
            rows.filter(f"dt = '{day}'").createOrReplaceTempView(source.name)
            continue
        form = format_of(source.format)
        kind = source.format if source.format in ("csv", "json") else form.engine_format
        reader = sail.session.read.format(kind).schema(schema)
        folder = Path(source.path_on(day))
        files = [folder] if folder.is_file() else folder.rglob("*.*")
        data = [str(f) for f in files if not f.name.startswith((".", "_"))]
        if kind == "csv":
            reader = reader.options(header="true", mode="FAILFAST", escape='"')
        groups = [[f] for f in data] if kind == "json" else [data]  # packed and plain ones alone
        read_each = [reader.load([f"file://{f}" for f in files]) for files in groups]
        rows = reduce(lambda one, two: one.unionAll(two), read_each)
        rows.createOrReplaceTempView(source.name)
    return sail.session.sql(spec.sql).toArrow()


def published(day: Day) -> pa.Table:
    pointer = read_pointer(open_store(day.store.root), day.spec.name, day.date)
    folder = Path(pointer.folder.removeprefix("file://"))
    return pa.concat_tables(pq.read_table(folder / file.name) for file in pointer.files)


def test_what_cannot_be_read_is_said(tmp_path, capsys):
    mixed_folder(tmp_path / "lake")
    _, found = written(tmp_path, capsys)
    said = "\n".join(found["remarks"])
    assert "delta cannot be read as a Delta table" in said
    assert "list/a.json is not one object in each line" in said
    assert "notes: its files are txt" in said
    assert "cut: " in said


def test_a_table_of_a_catalog_says_its_columns(tmp_path, capsys, monkeypatch):
    for name, value in {"TYPE": "sql", "URI": f"sqlite:///{tmp_path}/catalog.db",
                        "WAREHOUSE": f"file://{tmp_path}/lake"}.items():  # fmt: skip
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    catalog = load_catalog("lake")
    catalog.create_namespace("shop")
    fields = [pa.field("order_id", pa.int64(), nullable=False), ("dt", pa.date32()),
              ("at", pa.timestamp("us")), ("place", pa.struct([("x", pa.int32())])),
              ("tags", pa.map_(pa.string(), pa.decimal128(9, 2)))]  # fmt: skip
    table = catalog.create_table("shop.orders", schema=pa.schema(fields))
    with table.update_spec() as spec:
        spec.add_identity("dt")
    for day in DAYS:
        rows = {"order_id": [1, 2], "dt": [day, day], "at": [NOON.replace(tzinfo=None)] * 2,
                "place": [None, {"x": 1}], "tags": [[], None]}  # fmt: skip
        table.append(pa.table(rows, schema=pa.schema(fields)))
    command = ["init", "iceberg:lake.shop.orders", "--into", str(tmp_path / "dags"), "--json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    (source,) = read_report_file(Path(found["files"][0])).spec.sources
    assert (source.format, source.catalog, source.key) == (
        "iceberg", "lake.shop.orders", ("order_id",)
    )  # fmt: skip
    assert source.path == f"{tmp_path}/lake/shop/orders/dt={{ds}}"
    assert found["day"] == str(DAYS[-1])
    assert {c.name: (c.type, c.nullable) for c in source.columns} == {
        "order_id": ("BIGINT", False), "dt": ("DATE", True), "at": ("TIMESTAMP_NTZ", True),
        "place": ("STRUCT<x:INT>", True), "tags": ("MAP<STRING, DECIMAL(9,2)>", True),
    }  # fmt: skip
    assert run(["check", found["files"][0], "--date", found["day"]]) == 0
    assert run(["init", "iceberg:lake.shop.none", "--into", str(tmp_path / "dags")]) == 2
    assert "has no table shop.none" in capsys.readouterr().err
    assert run(["init", "iceberg:lake", "--into", str(tmp_path / "dags")]) == 2
    assert "names no table of a catalog" in capsys.readouterr().err


def test_a_report_is_not_written_over(tmp_path, capsys):
    flat(tmp_path / "lake")
    command = ["init", str(tmp_path / "lake"), "--into", str(tmp_path / "dags")]
    assert run(command) == 0
    said = capsys.readouterr().out
    assert "orders: 40 rows, 4 columns of parquet, no days, key order_id" in said
    file = tmp_path / "dags" / "reports" / "first_orders.sql"
    file.write_text(f"{file.read_text()}-- mine")
    assert run(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert file.read_text().endswith("-- mine")
    assert run([*command, "--force"]) == 0


def test_a_folder_with_nothing_is_refused(tmp_path, capsys):
    assert run(["init", str(tmp_path)]) == 2
    assert "there is no table in" in capsys.readouterr().err
