"""Deliveries: complete, disjoint, reproducible, of the wanted size, and correlated as asked."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.planner.errors import RequestError
from forerun.simulation.declared import parse_declared
from forerun.simulation.deliveries import (
    Correlation,
    Splitter,
    check_correlations,
    parse_correlation,
)
from forerun.simulation.tables import Table, find_tables

ARRIVED = (0.58, 0.79, 1.0)


def write(folder: Path, **tables: dict[str, list[object]]) -> dict[str, Table]:
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return find_tables(folder)


def rows(splitter: Splitter, name: str, folder: Path, column: str) -> list[list[object]]:
    """The values of a column in each delivery, checked against the counts that were returned."""
    counts = splitter.write(name, folder)
    paths = [folder / f"run-{run}.parquet" for run in range(1, len(counts) + 1)]
    found = [pq.read_table(p)[column].to_pylist() if p.exists() else [] for p in paths]
    assert tuple(map(len, found)) == counts
    return found


def test_every_row_arrives_once_and_in_the_wanted_share(tmp_path: Path) -> None:
    tables = write(tmp_path, t={"a": list(range(20_000))})
    parts = rows(Splitter(tables, ARRIVED, 7), "t", tmp_path / "out", "a")
    assert sorted(row for part in parts for row in part) == list(range(20_000))
    assert [len(part) / 20_000 for part in parts] == pytest.approx([0.58, 0.21, 0.21], abs=0.02)


def test_the_seed_decides(tmp_path: Path) -> None:
    tables = write(tmp_path, t={"a": list(range(1000))})
    one, same, other = (
        rows(Splitter(tables, ARRIVED, seed), "t", tmp_path / str(i), "a")
        for i, seed in enumerate((1, 1, 2))
    )
    assert one == same
    assert one != other


def test_rows_come_in_the_order_of_a_column_and_those_that_tie_together(tmp_path: Path) -> None:
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=n * 7919 % 100) for n in range(2_000)]
    tables = write(
        tmp_path, t={"a": [None, *days[1:]], "m": list(range(2_000)), "s": ["x"] * 2_000}
    )
    splitter = Splitter(tables, ARRIVED, 1, orders={"t": "a"})
    first, *later = rows(splitter, "t", tmp_path / "out", "a")
    assert None in first
    parts = [[day for day in part if day is not None] for part in (first, *later)]
    for one, other in pairwise(parts):
        assert max(one) < min(other)
    assert [len(part) / 2_000 for part in parts] == pytest.approx([0.58, 0.21, 0.21], abs=0.02)


def test_an_order_that_there_cannot_be_is_refused(tmp_path: Path) -> None:
    tables = write(tmp_path, t={"a": [1], "s": ["x"]}, u={"a": [1]})
    tied = [Correlation("u", "a", "t", "a")]
    for orders, correlations, says in (
        ({"t": "b"}, [], "no such column"),
        ({"t": "s"}, [], "a column of type"),
        ({"t": "a"}, tied, "comes with the rows of another"),
    ):
        splitter = Splitter(tables, ARRIVED, 1, correlations, orders=orders)
        with pytest.raises(RequestError, match=says):
            splitter.write("t", tmp_path / "out")


def test_what_is_declared_names_tables_that_are_there_once(tmp_path: Path) -> None:
    write(tmp_path, t={"a": [1]})
    nothing = {"keys": (), "foreign_keys": (), "orders": ()}
    read = parse_declared(tmp_path, **{**nothing, "keys": [" t.a, b "], "orders": [" t.a "]})
    assert read.orders == (("t", "a"),)
    assert read.keys == (("t", ("a", "b")),)
    for option, named in (("orders", "--ordered-by"), ("keys", "--key")):
        for texts, says in ((["t"], "not of the form"), (["t.a", "t.b"], "once for each"),
                            (["u.a"], "table u, which is not in")):  # fmt: skip
            with pytest.raises(RequestError, match=f"{named} .*{says}"):
                parse_declared(tmp_path, **{**nothing, option: texts})
    with pytest.raises(RequestError, match="not of the form"):
        parse_declared(tmp_path, **{**nothing, "orders": ["t.a,b"]})


def test_a_delivery_without_rows_is_no_file(tmp_path: Path) -> None:
    tables = write(tmp_path, t={"a": [1, 2, 3]})
    assert Splitter(tables, (0.0, 1.0), 1).write("t", tmp_path / "out") == (0, 3)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["run-2.parquet"]


def run_by_key(
    splitter: Splitter, name: str, folder: Path, key: str
) -> dict[object, frozenset[int]]:
    runs: dict[object, frozenset[int]] = {}
    for run, part in enumerate(rows(splitter, name, folder / name, key)):
        for value in part:
            runs[value] = runs.get(value, frozenset()) | {run}
    return runs


def test_children_arrive_with_their_parents(tmp_path: Path) -> None:
    tables = write(
        tmp_path,
        orders={"o": list(range(500)), "c": [i % 50 for i in range(500)]},
        lines={"o": pa.array([i // 4 for i in range(2000)], pa.int32())},
        customer={"c": list(range(50))},
    )
    pairs = ("lines.o=orders.o", "orders.c=customer.c")
    splitter = Splitter(tables, ARRIVED, 3, [parse_correlation(text) for text in pairs])
    customer = run_by_key(splitter, "customer", tmp_path / "c", "c")
    assert run_by_key(splitter, "orders", tmp_path / "o", "c") == customer
    orders = run_by_key(splitter, "orders", tmp_path / "p", "o")
    assert run_by_key(splitter, "lines", tmp_path / "l", "o") == orders
    assert set(customer.values()) == {frozenset({i}) for i in range(3)}


def test_text_keys_and_orphans(tmp_path: Path) -> None:
    tables = write(
        tmp_path,
        parent={"k": [f"key {i}" for i in range(200)]},
        child={"k": [f"key {i}" for i in range(200)] + [None] * 100, "n": list(range(300))},
    )
    splitter = Splitter(tables, ARRIVED, 3, [parse_correlation("child.k=parent.k")])
    parent = run_by_key(splitter, "parent", tmp_path / "p", "k")
    child = run_by_key(splitter, "child", tmp_path / "c", "k")
    child.pop(None)
    assert child == parent


@pytest.mark.parametrize("text", ["a", "a.b", "a.b=c", "a.b=c.d=e.f", "a.b=.d", "a.b.c=d.e"])
def test_bad_correlations_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match=r"child\.key=parent\.key"):
        parse_correlation(text)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["t.a=x.a"], "table x"),
        (["t.b=u.a"], r"column t\.b"),
        (["t.a=s.a"], "s, which does not change"),
        (["t.a=u.a", "u.a=t.a"], "circle"),
        (["t.a=u.a", "t.a=v.a"], "two parents"),
    ],
)
def test_correlations_are_checked(tmp_path: Path, pairs: list[str], message: str) -> None:
    tables = write(tmp_path, **{name: {"a": [1]} for name in "tuvs"})
    found = [parse_correlation(text) for text in pairs]
    with pytest.raises(RequestError, match=message):
        check_correlations(found, tables, frozenset("tuv"))


def test_a_correlation_is_what_it_says() -> None:
    assert parse_correlation("l.k = o.j") == Correlation("l", "k", "o", "j")
