"""What a report declares of its sources, where a plan depends on it: checked in the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ReportSpec
from forerun.include.state.layout import Generation
from forerun.planner.contract import ColumnSpec
from forerun.spark_jobs.declarations import DeclarationError
from forerun.spark_jobs.engines.sail import SailEngine
from tests.properties.lying_footers import lie
from tests.spark import places
from tests.spark.places import Place

QUERIES = (
    "SELECT s.cat, count(*) AS n FROM sales s WHERE s.o NOT IN (SELECT o FROM returns) GROUP BY 1",
    "SELECT s.cat, count(*) AS n FROM sales s WHERE s.o IS NULL GROUP BY s.cat",
)


class Declared(Place):
    """A place of which the report says that no column is NULL. ``footers``: ``without`` counts of
    NULLs, or such that ``lie``."""

    footers = "without"
    early: tuple[int, ...] = ()
    """The early runs that give a result."""

    def spec(self, name: str, sql: str) -> ReportSpec:
        found = super().spec(name, sql)
        sources = []
        for source in found.sources:
            columns = tuple(
                ColumnSpec(name=c.name, type=c.type, nullable=False) for c in source.columns
            )
            sources.append(_with(source, columns=columns))
        policy = replace(found.policy, results_at=self.early)
        return _with(found, sources=tuple(sources), policy=policy)

    def deliver(self, number: int, sales: list, returns: list) -> None:
        super().deliver(number, sales, returns)
        for path in sorted((self.folder / "in").glob(f"*/{number}.parquet")):
            data = pq.read_table(path)
            pq.write_table(data, path, write_statistics=self.footers == "lie")
            lie(path, nulls=self.footers == "lie")


def _with(spec, **changes):
    return type(spec)(**{**{f: getattr(spec, f) for f in spec.__slots__}, **changes})


@pytest.fixture(params=["without", "lie"])
def place(request, tmp_path: Path, sail: SailEngine) -> Declared:
    place = Declared(tmp_path, sail)
    place.footers = request.param
    return place


def relied(commit_or_plan) -> dict[str, tuple[str, ...]]:
    return {t.name: t.relies_not_null for t in commit_or_plan.result.plan.sources}


@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("late", [False, True])
def test_a_null_where_the_plan_relies_on_none_fails_with_file_and_column(
    place: Declared, sql: str, late: bool
) -> None:
    good = [(1, "a", 5), (2, "b", 7)], [(9, 10)]
    bad = [(None, "a", 5)], [(8, 1)]
    at: Generation = place.open("first", sql)
    place.deliver(1, *(good if late else bad))
    if late:
        place.run(at, sql, 1, method="progressive")
        place.deliver(2, *bad)
    with pytest.raises(DeclarationError, match=rf"sales/{1 + late}\.parquet, column o: 1 NULL"):
        place.run(at, sql, 1 + late, method="progressive")


def test_nulls_that_no_plan_relies_on_are_like_any_other_value(place: Declared) -> None:
    place.footers = "without"  # Sail believes those that lie, in the plain query, too
    sql = "SELECT s.cat, count(*) AS n, sum(s.o) AS o FROM sales s GROUP BY s.cat"
    place.deliver(1, [(None, "a", 5), (2, None, 7)], [(9, 10)])
    at = place.open("first", sql)
    prepared = place.plan(at, sql, 1, method="progressive")
    assert not any(relied(prepared).values())
    place.do(prepared)
    place.deliver(2, [(None, "a", None)], [(None, 1)])
    place.check(place.run(at, sql, 2, method="progressive"), sql)


def test_only_the_columns_that_matter_are_checked_and_each_file_once(
    place: Declared, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql, read = QUERIES[0], []
    place.deliver(1, [(1, "a", 5), (2, "b", 7)], [(9, 10)])
    at = place.open("first", sql)
    prepared = place.plan(at, sql, 1, method="progressive")
    assert relied(prepared) == {"returns": ("o",), "sales": ("o",)}
    place.do(prepared)
    place.deliver(2, [(3, "a", 5), (9, "b", 7)], [(8, 10)])
    from forerun.spark_jobs import declarations

    real = declarations._nulls

    def noted(work, source, files, columns):
        read.extend(Path(file.uri).name for file in files)
        return real(work, source, files, columns)

    monkeypatch.setattr(declarations, "_nulls", noted)
    place.check(place.run(at, sql, 2, method="progressive"), sql)
    assert read == ["2.parquet", "2.parquet"]


def test_what_an_earlier_plan_did_not_rely_on_is_checked_in_all_files(place: Declared) -> None:
    """Run 1 is by the user's own text, which needs no declaration; run 2 relies on one."""
    place.arrived, place.early = (0.5, 0.9, 1.0), (1, 2)
    place.deliver(1, [(None, "a", 5), (2, "b", 7), (4, "b", 7)], [(9, 10)])
    at = place.open("first", QUERIES[1])
    first = place.plan(at, QUERIES[1], 1, method="batch")
    assert not any(relied(first).values())
    place.do(first)
    place.deliver(2, [(3, "a", 5)], [(8, 10)])
    second = place.plan(at, QUERIES[1], 2, method="im1")
    assert relied(second)["sales"] == ("o",)
    with pytest.raises(DeclarationError, match=r"sales/1\.parquet, column o: 1 NULL"):
        place.do(second)


def test_batch_relies_on_nothing(place: Declared) -> None:
    place.deliver(1, [(None, "a", 5), (2, "b", 7)], [(9, 10)])
    place.deliver(2, [(3, "a", 5), (9, "b", 7)], [(8, 10)])
    at = place.open("first", QUERIES[0])
    prepared = place.plan(at, QUERIES[0], 2, method="batch")
    assert not any(relied(prepared).values())
    place.do(prepared)


def test_a_nested_column_has_no_counts_and_is_checked(tmp_path: Path, sail: SailEngine) -> None:
    """Footers count NULLs in leaves, not in arrays."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": pa.array([[1], None], pa.list_(pa.int64()))}), path)
    rows = sail.read([f"file://{path}"], (ColumnSpec(name="a", type="ARRAY<BIGINT>"),))
    text = "coalesce(sum(CASE WHEN `a` IS NULL THEN 1 ELSE 0 END), 0)"
    assert rows.selectExpr(text).collect()[0][0] == 1


def test_places_are_declared_like_their_files() -> None:
    assert {c.name for c in places.SALES} == {"o", "cat", "price"}
