"""Which side of a join is computed first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    StateRead,
    Values,
    Version,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, equals
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import Stage
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import SPARK
from forerun.planner.cost.small_sides import sent_table, small_side
from forerun.planner.cost.told_sizes import Files
from forerun.planner.errors import RequestError
from forerun.planner.request import Days, PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.planner.stages.small_sides import SmallSides, is_known, is_sent

LEFT, RIGHT = (Column(ColumnId(i), "k", BIGINT) for i in (1, 2))
FEW = Literal("5", BIGINT)
SMALL, LARGE = Size(1e4, 16), Size(1e7, 16)


def filtered(column: Column, name: str) -> Relation:
    return Filter(Scan(name, (column,)), Call("<", (Ref(column), FEW), BOOLEAN))


def join(kind: JoinKind, left: Relation, right: Relation) -> Join:
    return Join(kind, left, right, equals(LEFT, RIGHT))


BOTH = filtered(LEFT, "a"), filtered(RIGHT, "b")
KEPT = StateRead("f", (RIGHT,), ("k",), Version.NEW)


@pytest.mark.parametrize(
    ("kind", "sizes", "side"),
    [
        (JoinKind.INNER, (LARGE, SMALL), 1),
        (JoinKind.INNER, (SMALL, LARGE), 0),
        (JoinKind.LEFT, (LARGE, SMALL), 1),
        (JoinKind.SEMI, (LARGE, SMALL), 1),
        (JoinKind.ANTI, (LARGE, SMALL), 1),
        # Spark cannot send the side whose rows must all come out.
        (JoinKind.LEFT, (SMALL, LARGE), None),
        (JoinKind.FULL, (LARGE, SMALL), None),
        # The other side has too few rows for it to matter, or not many more.
        (JoinKind.INNER, (Size(1e5, 16), Size(10, 16)), None),
        (JoinKind.INNER, (LARGE, Size(2e6, 16)), None),
        # A guess of 64 MB may turn out small; one of a gigabyte is not tried.
        (JoinKind.INNER, (Size(1e9, 16), Size(4e6, 16)), 1),
        (JoinKind.INNER, (Size(1e9, 16), Size(6e7, 16)), None),
    ],
)
def test_the_small_one_that_spark_can_send(kind, sizes, side):
    assert small_side(join(kind, *BOTH), sizes, (False, False), SPARK) == side


@pytest.mark.parametrize(
    "known",
    [
        Scan("b", (RIGHT,)),
        Values((RIGHT,), ((FEW,),)),
        Aggregate(Scan("b", (RIGHT,)), (), ()),
    ],
)
def test_not_what_the_engine_knows_the_size_of(known):
    assert is_known(known)
    assert not is_known(BOTH[1])
    joined = join(JoinKind.INNER, *BOTH)
    assert small_side(joined, (LARGE, SMALL), (False, True), SPARK) is None


@pytest.mark.parametrize(
    ("small", "follows", "side"),
    [
        (1e6, (False, True), 1),
        (1e6, (True, False), None),  # the uncertain one is not the smaller one
        (3e6, (False, True), None),  # the other side is the smaller one, and certain
        (9e5, (False, False), None),
    ],
)
def test_what_follows_from_a_small_side_is_tried_unless_it_is_the_larger_one(small, follows, side):
    """TPC-H Q18: how many orders have a large sum is known once the sums are counted."""
    sizes = Size(1.5e6, 30), Size(small, 30)
    joined = join(JoinKind.INNER, *BOTH)
    assert small_side(joined, sizes, (False, False), SPARK, follows) == side


def test_what_is_computed_of_a_counted_side_follows_from_it():
    sides = SmallSides(1, {})
    counted, known = sides.first(BOTH[1]), sides.first(Scan("a", (LEFT,)), rows=5)
    assert sides.are_in(join(JoinKind.INNER, BOTH[0], counted))
    assert not sides.are_in(join(JoinKind.INNER, known, BOTH[1]))
    assert not sides.are_in(BOTH[1])


TABLE = Size(1.5e6, 20)


@pytest.mark.parametrize(
    ("kind", "sizes", "side"),
    [
        (JoinKind.LEFT, (LARGE, TABLE), 1),
        (JoinKind.INNER, (TABLE, LARGE), 0),
        (JoinKind.LEFT, (TABLE, LARGE), None),
        (JoinKind.FULL, (LARGE, TABLE), None),
        (JoinKind.INNER, (LARGE, SMALL), None),  # Spark sends it by itself
        (JoinKind.INNER, (LARGE, Size(2e6, 20)), None),  # its hash table is too large
        (JoinKind.INNER, (Size(1e5, 16), TABLE), None),  # there is little to move
    ],
)
def test_a_table_that_spark_would_not_send_and_a_run_can(kind, sizes, side):
    tables = Scan("a", (LEFT,)), Scan("b", (RIGHT,))
    assert sent_table(join(kind, *tables), sizes, (True, True), SPARK) == side
    assert sent_table(join(kind, *BOTH), sizes, (False, False), SPARK) is None


def test_a_table_is_sent_by_an_equality_only():
    below = Join(
        JoinKind.INNER,
        Scan("a", (LEFT,)),
        Scan("b", (RIGHT,)),
        Call("<", (Ref(LEFT), Ref(RIGHT)), BOOLEAN),
    )
    assert sent_table(below, (LARGE, TABLE), (True, True), SPARK) is None


@pytest.mark.parametrize(
    ("made", "sent"),
    [
        (lambda rows: rows, True),
        # Nobody tells how little passes a filter: a row of the table is 24 bytes.
        (lambda rows: Filter(rows, Call("<", (Ref(LEFT), FEW), BOOLEAN)), True),
        (lambda rows: Aggregate(rows, (LEFT,), ()), True),
        (lambda rows: join(JoinKind.SEMI, rows, filtered(RIGHT, "large")), True),
        (lambda rows: join(JoinKind.INNER, rows, filtered(RIGHT, "large")), False),
        (lambda _: filtered(RIGHT, "large"), False),
        (lambda _: filtered(RIGHT, "__side_1"), False),
        (lambda rows: join(JoinKind.SEMI, rows, KEPT), False),
    ],
)
def test_what_the_engine_sends_by_what_its_files_tell(made, sent):
    files = {"small": Files(bytes=9e6, row_bytes=16), "large": Files(bytes=12e6, row_bytes=16)}
    assert is_sent(made(Scan("small", (LEFT,))), files, SPARK.broadcast_bytes) == sent


def test_a_filter_of_a_small_table_is_not_computed_first():
    """Spark takes it for the table, and sends it: TPC-DS's days, in nearly each of its queries."""
    assert len(of_days(10**5).small_sides) == 0
    assert len(of_days(10**7).small_sides) == 1


def test_a_filter_of_a_table_with_a_partition_for_each_day_is_computed_first():
    """Spark knows nothing of its size, however few files it has."""
    assert len(of_days(10**5, Days(count=3, daily=("many",))).small_sides) == 0
    assert len(of_days(10**5, Days(count=3, daily=("many", "days"))).small_sides) == 1


def of_days(rows: int, days: Days | None = None) -> Stage:
    """The stage that joins a filter of a table of so many rows with many others."""
    asked = replace(
        request(Settings(own_batch="always")),
        sql="SELECT d.n, count(*) FROM many JOIN days d USING (k) WHERE d.n = 7 GROUP BY d.n",
        sources=(source("many", 10**9), source("days", rows)),
        points=(TimePoint(weight=1.0),),
        method="batch",
        days=days,
    )
    (stage,) = plan(asked).plan.runs[-1].stages
    return stage


def test_rows_that_are_read_twice_are_computed_once():
    sides = SmallSides(1, {})
    leaves = [sides.first(BOTH[1]) for _ in range(2)]
    assert leaves[0] is leaves[1]
    assert [side.view for side in sides.made] == ["__side_1"]
    assert sides.first(BOTH[0]).source == "__side_2"
    assert leaves[0].columns == (Column(RIGHT.id, "c0", BIGINT),)


def source(name: str, rows: int) -> Source:
    columns = tuple(SourceColumn(name=n, type=BIGINT) for n in ("k", "n"))
    return Source(name=name, columns=columns, rows=rows, bytes=16 * rows, changing=True)


def request(settings: Settings, name: str = "few") -> PlanRequest:
    sql = (
        "SELECT a.n, count(*) AS c FROM many a "
        f"JOIN (SELECT k, max(n) AS n FROM {name} GROUP BY k HAVING max(n) > 7) b ON a.k = b.k "
        "GROUP BY a.n"
    )
    return PlanRequest(
        report="r",
        sql=sql,
        sources=(source("many", 10**9), source(name, 10**5)),
        points=(TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0)),
        method="progressive",
        settings=settings,
    )


def test_a_plan_has_them_unless_the_settings_say_no():
    def sides(settings: Settings) -> list[str]:
        stages = [stage for run in plan(request(settings)).plan.runs for stage in run.stages]
        return [side.sql for stage in stages for side in stage.small_sides]

    assert sides(Settings())
    assert sides(Settings(small_sides=False)) == []


def test_sides_that_are_the_same_query_are_computed_once():
    sides = SmallSides(run=1, hints={})
    first, second, other = (
        sides.first(Filter(scan, Call("<", (Ref(scan.columns[0]), Literal(text, BIGINT)), BOOLEAN)))
        for scan, text in ((scanned(1), "7"), (scanned(2), "7"), (scanned(3), "8"))
    )
    assert first.source == second.source != other.source
    assert first.columns != second.columns
    assert len(sides.made) == 2


def test_rows_that_a_side_has_columns_of_are_read_from_it():
    """Its columns stay where they are, so that what has been written reads them as before."""
    sides = SmallSides(run=1, hints={})
    key = sides.first(Project(filtered_pair("7"), ((PAIR[1], Ref(PAIR[1])),)))
    other = filtered_pair("8")
    assert sides.whole(other) is other
    assert [column.name for column in sides.made[0].columns] == ["c0"]
    whole = sides.whole(filtered_pair("7"))
    assert isinstance(whole, Scan)
    assert whole.source == key.source
    assert [(c.id, c.name) for c in key.columns] == [(PAIR[1].id, "c0")]
    assert [(c.id, c.name) for c in whole.columns] == [(PAIR[0].id, "c1"), (PAIR[1].id, "c0")]
    (side,) = sides.made
    assert side.sql.startswith("SELECT\n  `t`.`k` AS `c0`,\n  `t`.`n` AS `c1`\nFROM `t`")
    assert sides.is_read_by(whole)
    assert sides.relations[0].columns == PAIR[::-1]
    # The same columns alone are the same side.
    assert sides.first(Project(filtered_pair("7"), ((PAIR[1], Ref(PAIR[1])),))).source == key.source


def test_every_join_with_the_rows_of_a_side_reads_it():
    """Before the side was made, too, and inside of other sides: computed here and read there, what
    the query has twice would be two things to Spark."""
    sides = SmallSides(run=1, hints={})

    def joined(first: int) -> Join:
        large, few = (Column(ColumnId(first + n), "k", BIGINT) for n in (0, 1))
        rows = Filter(Scan("few", (few,)), Call("<", (Ref(few), FEW), BOOLEAN))
        return Join(JoinKind.INNER, Scan("many", (large,)), rows, equals(large, few))

    before, chosen, after = joined(10), joined(20), joined(30)
    assert sides.in_all(before) is before
    view = sides.first(chosen.right)
    for found in (sides.in_all(before), sides.in_all(after)):
        assert isinstance(found, Join)
        assert isinstance(found.right, Scan)
        assert found.right.source == view.source
    sides.first(Aggregate(before, (before.columns[0],), ()))
    assert [side.sql.count("__side_1") for side in sides.made] == [0, 2]
    alone = filtered(Column(ColumnId(40), "k", BIGINT), "few")
    assert sides.in_all(alone) is alone


def test_a_join_keeps_its_hint_where_what_it_joins_reads_a_side():
    hints: dict[Relation, str] = {}
    sides = SmallSides(run=1, hints=hints)
    few = filtered(RIGHT, "b")
    below = Join(JoinKind.SEMI, Scan("a", (LEFT,)), few, equals(LEFT, RIGHT))
    other = Column(ColumnId(50), "k", BIGINT)
    above = Join(JoinKind.INNER, Scan("c", (other,)), below, equals(other, LEFT))
    hints[below], hints[few] = "SHUFFLE_HASH", "SHUFFLE_HASH"
    sides.first(few)
    found = sides.in_all(above)
    assert isinstance(found, Join)
    assert hints[found.right] == "SHUFFLE_HASH"
    assert found.right.inputs[1] not in hints


def test_a_table_whose_rows_are_known_is_read_as_it_lies():
    """It is not computed first, so there is nothing to be read in its place."""
    sides = SmallSides(run=1, hints={})
    table = Scan("t", PAIR)
    sides.first(Project(table, ((PAIR[1], Ref(PAIR[1])),)), rows=1000)
    assert sides.whole(table) is table
    join = Join(JoinKind.INNER, Scan("a", (LEFT,)), table, equals(LEFT, PAIR[1]))
    assert sides.in_all(join) is join


PAIR = Column(ColumnId(7), "n", BIGINT), Column(ColumnId(8), "k", BIGINT)


def filtered_pair(text: str) -> Relation:
    return Filter(Scan("t", PAIR), Call("<", (Ref(PAIR[0]), Literal(text, BIGINT)), BOOLEAN))


def scanned(number: int) -> Scan:
    return Scan("few", (Column(ColumnId(number), "k", BIGINT),))


def test_the_names_of_their_views_are_reserved():
    with pytest.raises(RequestError, match="__side_1 has a name that runs need"):
        plan(request(Settings(), name="__side_1"))
