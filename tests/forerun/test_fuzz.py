"""``forerun fuzz`` finds a fault that is put in, makes it small, and keeps what shows it again."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.include.sources.delivery import delivery
from forerun.planner.contract.plan_v1 import ForeignKey, ReliedForeignKey
from forerun.simulation.invented import RealTable, invent
from forerun.simulation.second_opinion import agrees

SQL = (
    "SELECT c.name, count(*) AS n, sum(o.amount) AS total "
    "FROM orders o JOIN customer c ON o.customer = c.id GROUP BY c.name"
)
SCHEMA = {
    "orders": pa.schema([("customer", pa.int64()), ("amount", pa.decimal128(9, 2))]),
    "customer": pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())]),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    for name, schema in SCHEMA.items():
        pq.write_table(schema.empty_table(), tmp_path / "tables" / f"{name}.parquet")
    (tmp_path / "report.sql").write_text(SQL)
    return tmp_path


def fuzz(days, *options):
    arguments = ["report.sql", "--tables", "tables", "--changing", "orders,customer"]
    return run(["fuzz", *arguments, "--days", str(days), "--json", *options])


def test_a_right_report_is_equal_on_every_day(place, capsys):
    assert fuzz(12, "--changelog", "orders") == 0
    assert json.loads(capsys.readouterr().out) == {"days": {"equal": 12}, "script": None}


def test_a_fault_is_found_and_made_small(place, capsys, monkeypatch):
    """A run that loses the newest file of a delivery, where there is more than one run."""

    def loses(pin, base, *, growing=True):
        files = delivery(pin, base, growing=growing)
        return files[:-1] if base is not None and pin.source.startswith("orders") else files

    monkeypatch.setattr("forerun.spark_jobs.inputs.delivery", loses)
    assert fuzz(40) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "differs"
    folder = place / f"forerun-fuzz-{found['seed']}"
    tables = {p.stem: pq.read_table(p).num_rows for p in (folder / "tables").glob("*.parquet")}
    assert tables == {"orders": 1, "customer": 1}, "one row of each is enough"
    assert found["script"] == str(folder / "again.sh")
    monkeypatch.undo()
    again = subprocess.run(
        [found["script"], "--engine", "sail"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, "without the fault the day is equal: " + again.stderr
    assert "equal to batch" in again.stdout


def test_batch_of_the_small_engine_that_is_wrong_is_not_the_plan(place, capsys, monkeypatch):
    """A construct that Sail gets wrong, as long as nobody has named it."""
    (place / "report.sql").write_text(
        "SELECT o.customer, count(*) AS n FROM orders o WHERE o.amount NOT IN "
        "(SELECT p.amount FROM orders p WHERE p.customer < o.customer) GROUP BY o.customer"
    )
    monkeypatch.setattr("forerun.simulation.day.gaps_of", lambda *_: ())
    assert fuzz(12, "--seed", "1") == 0
    counts = json.loads(capsys.readouterr().out)["days"]
    assert counts["batch is wrong"] > 0
    monkeypatch.setattr("forerun.simulation.second_opinion.find_spec", lambda _: None)
    assert fuzz(12, "--seed", "1") == 1


@pytest.mark.parametrize(
    ("rows", "same"), [([(1, "2.50"), (None, "1.00")], True), ([(1, "2.50")], False), ([], False)]
)
def test_a_second_opinion_compares_values(rows, same):
    schema = pa.schema([("k", pa.int32()), ("s", pa.decimal128(20, 2))])
    given = [{"k": k, "s": Decimal(text)} for k, text in rows]
    result = pa.Table.from_pylist(given, schema)
    values = [Decimal("1.5"), Decimal(1), Decimal(1)]
    tables = {"t": pa.table({"k": pa.array([1, 1, None], pa.int64()), "v": values})}
    assert agrees("SELECT k, sum(v) AS s FROM t GROUP BY k", tables, result) is same
    assert not agrees("SELECT no_such_function(k) AS s FROM t", tables, result)


def test_invented_tables_hold_what_is_declared():
    real = {
        name: RealTable(schema, dict.fromkeys(schema.names, ())) for name, schema in SCHEMA.items()
    }
    key = ForeignKey(columns=("customer",), parent="customer", parent_columns=("id",))
    keys = (ReliedForeignKey(source="orders", key=key),)
    seen = Counter()
    for seed in range(200):
        made = invent(real, random.Random(seed), limits=seed % 4 == 0, foreign_keys=keys)
        assert {name: table.schema for name, table in made.items()} == SCHEMA
        parents = made["customer"].column("id").to_pylist()
        children = made["orders"].column("customer").to_pylist()
        assert len(set(parents)) == len(parents)
        assert set(children) <= {*parents, None}
        seen["children"] += len(children) > 0
        seen["null"] += None in children
        seen["limit"] += any(
            abs(a or 0) > 10**6 for a in made["orders"].column("amount").to_pylist()
        )
    assert min(seen.values()) > 5, seen


def test_changelog_of_a_table_that_stays_is_refused(place, capsys):
    assert fuzz(1, "--changelog", "nation") == 2
    assert "does not change during the day" in capsys.readouterr().err
