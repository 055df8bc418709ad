"""The plain query and the comparison with it: ties at a LIMIT, and the small engine's decimals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.reports.spec import ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.simulation.plain import PlainQuery
from forerun.simulation.planning import sources
from forerun.simulation.running import Runner, open_runner
from forerun.simulation.tables import find_tables

DAY = date(2026, 1, 1)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with open_runner("sail", tmp_path_factory.mktemp("logs"), "local[1]") as opened:
        yield opened


@pytest.fixture
def ask(tmp_path: Path, runner: Runner):
    """The plain query of some SQL over 1,000 rows ``(k, v)``: 100 of each k."""
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = pa.table({"k": [i % 10 for i in range(1000)], "v": list(range(1000))})
    pq.write_table(rows, folder / "t.parquet")
    table = find_tables(folder)["t"]

    def plain(sql: str) -> PlainQuery:
        source = SourceSpec(name="t", path=str(folder), columns=table.columns, arrival="static")
        spec = ReportSpec(
            name="r",
            sql=sql,
            sources=(source,),
            policy=RunPolicy(runs=(RunTime(at="24:00"),)),
            store=str(tmp_path / "store"),
        )
        return PlainQuery(spec, sources([table], frozenset()), DAY, runner)

    return plain


def compared(plain: PlainQuery, sql: str):
    """What ``sql`` gives against what the plain query gives, by the plain query's own terms."""
    other = replace(plain, spec=replace(plain.spec, name="other", sql=sql))
    return plain.compare(other.run()[0], plain.run()[0])


TOP = "SELECT v, k FROM t ORDER BY k DESC LIMIT 3"
LAST = "SELECT v, k FROM t WHERE v IN (979, 989, 999)"


def test_other_rows_that_tie_are_right(ask) -> None:
    verdict = compared(ask(TOP), LAST)
    assert verdict.equal
    assert verdict.notes == (
        "several rows compete for the last places; other ones were chosen, as SQL allows",
    )


def test_rows_that_do_not_tie_are_noticed(ask) -> None:
    """Their sort keys are those of rows at the cut; that is all a look at the keys would see."""
    verdict = compared(ask(TOP), "SELECT v + 1L AS v, k FROM t WHERE v IN (979, 989, 999)")
    assert not verdict.equal
    assert verdict.differences[0] == "not among the rows that tie: v=980, k=9"


def test_an_offset_leaves_the_first_places_open_too(ask) -> None:
    skipping = ask("SELECT v, k FROM t ORDER BY k LIMIT 100 OFFSET 50")
    half = "k = 0 AND v % 20 = 0"
    drawn = f"SELECT v, k FROM t WHERE {half} OR (k = 1 AND v > 500)"
    assert compared(skipping, drawn).equal
    invented = f"SELECT v * CAST(2 AS BIGINT) AS v, k FROM t WHERE {half} OR (k = 1 AND v > 500)"
    assert not compared(skipping, invented).equal


def test_a_limit_inside_of_the_query(ask) -> None:
    inner = ask("SELECT v AS x, k FROM (SELECT v, k FROM t ORDER BY k DESC LIMIT 3) AS few")
    assert compared(inner, LAST.replace("v,", "v AS x,")).equal
    assert not compared(inner, "SELECT v + 1L AS x, k FROM t WHERE v IN (979, 989, 999)").equal


def test_rows_that_do_not_differ_cost_no_further_run(ask, tmp_path: Path) -> None:
    verdict = compared(ask(TOP), f"SELECT * FROM ({TOP}) AS same")
    assert verdict.equal
    assert not verdict.notes
    assert not (tmp_path / "store" / "reports" / "r__ties").exists()


def test_quotients_of_decimals_have_sparks_scale_on_the_small_engine(ask) -> None:
    quotient = "SELECT CAST(v AS DECIMAL(5,0)) / CAST(7 AS DECIMAL(3,0)) AS q FROM t"
    plain = ask(quotient)
    assert compared(plain, f"SELECT CAST(q AS DECIMAL(11,6)) AS q FROM ({quotient}) AS x").equal
    assert not compared(
        plain, f"SELECT CAST(q + 0.001 AS DECIMAL(11,6)) AS q FROM ({quotient})"
    ).equal


def test_the_plain_query_may_have_been_run_beside_other_runs(ask) -> None:
    of_one = ask(TOP)
    early = RunPolicy(runs=(RunTime(at="12:00"), RunTime(at="24:00")))
    of_two = replace(of_one, spec=replace(of_one.spec, name="of_two", policy=early))
    assert of_one.compare(of_one.run()[0], of_two.run()[0]).equal
