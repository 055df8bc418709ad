"""Cardinality against counted data and against the laws that any estimate has to keep."""

from __future__ import annotations

import random

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetKind,
    SetOperation,
    Sort,
    SortKey,
    UnionAll,
    Values,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, conjunction, equals
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    Column,
    ColumnId,
    DataType,
)
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.estimate import Estimator
from forerun.planner.stats.values import drawn, kept, number
from tests.planner.scalars import call, literal

ORDERS = Source(
    name="o",
    columns=tuple(
        SourceColumn(name=name, type=type_)
        for name, type_ in (("ok", BIGINT), ("ck", INT), ("day", DATE), ("note", STRING))
    ),
    changing=True,
    rows=1500,
    keys=(("ok",),),
    stats=(
        ("ok", ColumnStats(minimum="1", maximum="6000")),
        ("ck", ColumnStats(minimum="1", maximum="100")),
        ("day", ColumnStats(minimum="1992-01-01", maximum="1998-12-31")),
        ("note", ColumnStats(nulls=0.25, distinct=20, width=40)),
    ),
)
LINES = Source(
    name="l",
    columns=tuple(SourceColumn(name=n, type=BIGINT) for n in ("lk", "ln", "qty")),
    changing=True,
    rows=6000,
    keys=(("lk", "ln"),),
    stats=(
        ("lk", ColumnStats(minimum="1", maximum="6000", distinct=1500)),
        ("ln", ColumnStats(minimum="1", maximum="7")),
        ("qty", ColumnStats(minimum="1", maximum="50")),
    ),
)
TYPES = {"ok": BIGINT, "ck": INT, "day": DATE, "note": STRING}
OK, CK, DAY, NOTE = (Column(ColumnId(i), n, t) for i, (n, t) in enumerate(TYPES.items(), 1))
LK, LN, QTY = (Column(ColumnId(i), n, BIGINT) for i, n in enumerate(("lk", "ln", "qty"), 11))
OUT = Column(ColumnId(21), "out", BIGINT)
O = Scan("o", (OK, CK, DAY, NOTE))  # noqa: E741
L = Scan("l", (LK, LN, QTY))


def rows(relation: Relation, **arrived: float) -> float:
    return Estimator((ORDERS, LINES), arrived).rows(relation)


def share(predicate: Scalar) -> float:
    return rows(Filter(O, predicate)) / 1500


def test_scans() -> None:
    assert rows(O) == 1500
    assert rows(O, o=300) == 300
    estimator = Estimator((ORDERS, LINES), {"o": 900})
    assert estimator.rows(O) == 900
    assert estimator.estimate(O).distinct(OK.id) == pytest.approx(900)
    assert estimator.estimate(O).distinct(CK.id) == pytest.approx(100, rel=0.01)
    assert estimator.estimate(O).distinct(NOTE.id) == pytest.approx(20)
    assert estimator.width(O) == 8 + 4 + 4 + 40
    assert estimator.bytes(O) == 900 * 56
    with pytest.raises(KeyError):
        estimator.rows(Scan("unknown", ()))


def test_drawn_and_kept_agree_with_counting() -> None:
    rng = random.Random(7)
    hit = len({rng.randrange(500) for _ in range(800)})
    assert drawn(500, 800) == pytest.approx(hit, rel=0.05)
    values = [i % 300 for i in range(1200)]
    sample = rng.sample(values, 400)
    assert kept(300, 1200, 400 / 1200) == pytest.approx(len(set(sample)), rel=0.05)
    assert kept(1200, 1200, 0.25) == pytest.approx(300)
    assert (drawn(0, 5), drawn(5, 0), drawn(1, 9), drawn(1e12, 10)) == (0, 0, 1, pytest.approx(10))
    assert (kept(10, 100, 1.0), kept(10, 100, 0.0)) == (10, 0)


def test_numbers_of_texts() -> None:
    assert number("1970-01-11", DATE) == 10
    assert number("1970-01-11 12:00:00", DataType("TIMESTAMP")) == 10.5
    assert number("12.5", DataType("DECIMAL", 5, 2)) == 12.5
    for text, type_ in (("x", BIGINT), (None, INT), ("abc", STRING), ("NaN", DataType("DOUBLE"))):
        assert number(text, type_) is None


def test_ranges_are_interpolated() -> None:
    half = call("<", Ref(DAY), literal("1995-07-02", DATE))
    assert share(half) == pytest.approx(0.5, abs=0.01)
    assert share(call(">", literal("1995-07-02", DATE), Ref(DAY))) == pytest.approx(0.5, abs=0.01)
    cast = Call("cast", (literal("1995-07-02", STRING),), DATE)
    assert share(call(">=", Ref(DAY), cast)) == pytest.approx(0.5, abs=0.01)
    assert share(call("<", Ref(DAY), literal("1980-01-01", DATE))) < 0.001
    assert share(call(">", Ref(DAY), literal("1980-01-01", DATE))) == 1.0
    year = conjunction((
        call(">=", Ref(DAY), literal("1994-01-01", DATE)),
        call("<", Ref(DAY), literal("1995-01-01", DATE)),
    ))  # fmt: skip
    assert share(year) == pytest.approx(1 / 7, rel=0.02)
    assert share(call("<", Ref(CK), Ref(OK))) == pytest.approx(1 / 3)


def test_equalities_lists_and_patterns() -> None:
    assert share(call("=", Ref(CK), literal("5"))) == pytest.approx(1 / 100)
    assert share(call("=", Ref(CK), literal("500"))) < 1e-6
    assert share(call("<>", Ref(CK), literal("5"))) == pytest.approx(99 / 100)
    assert share(call("in", Ref(CK), literal("1"), literal("2"))) == pytest.approx(2 / 100)
    assert share(call("not", call("in", Ref(CK), literal("1")))) == pytest.approx(99 / 100)
    assert share(call("=", Ref(NOTE), literal("x", STRING))) == pytest.approx(0.75 / 20)
    assert share(call("isnull", Ref(NOTE))) == pytest.approx(0.25)
    assert share(call("isnotnull", Ref(NOTE))) == pytest.approx(0.75)
    prefix = share(call("like", Ref(NOTE), literal("a%", STRING)))
    assert prefix < share(call("like", Ref(NOTE), literal("%a%", STRING))) < 0.2
    either = call("or", call("=", Ref(CK), literal("5")), call("=", Ref(CK), literal("6")))
    assert share(either) == pytest.approx(0.02, rel=0.02)
    assert share(call("not", call("like", Ref(NOTE), literal("%a%", STRING)))) < 0.75
    assert share(Literal("false", BOOLEAN)) == 0.0
    assert share(Literal(None, BOOLEAN)) == 0.0


def join(kind: JoinKind, condition: Scalar, right: Relation = L) -> Join:
    return Join(kind, O, right, condition, OUT if kind is JoinKind.MARK else None)


def test_joins() -> None:
    on = equals(OK, LK)
    assert rows(join(JoinKind.INNER, on)) == pytest.approx(6000)
    assert rows(join(JoinKind.INNER, TRUE)) == 1500 * 6000
    assert rows(join(JoinKind.INNER, on), l=600) == pytest.approx(600, rel=0.01)
    few = Filter(L, call("=", Ref(QTY), literal("3")))
    assert rows(join(JoinKind.INNER, on, few)) == pytest.approx(120, rel=0.02)
    assert rows(join(JoinKind.LEFT, on, few)) == 1500
    assert rows(join(JoinKind.RIGHT, on)) == pytest.approx(6000)
    assert rows(join(JoinKind.FULL, on, few)) == 1500
    assert rows(join(JoinKind.SEMI, on)) == pytest.approx(1500)
    assert rows(join(JoinKind.SEMI, on, few)) == pytest.approx(118, rel=0.03)
    assert rows(join(JoinKind.ANTI, on, few)) == pytest.approx(1382, rel=0.03)
    assert rows(join(JoinKind.MARK, on)) == 1500
    assert rows(join(JoinKind.SINGLE, on)) == 1500
    residual = conjunction((on, call("<", Ref(CK), Ref(QTY))))
    assert rows(join(JoinKind.INNER, residual)) == pytest.approx(2000)
    left = Estimator((ORDERS, LINES)).estimate(join(JoinKind.LEFT, on, few))
    assert left.columns[QTY.id].nulls == pytest.approx(1 - 120 / 1500, abs=0.02)


def test_a_composite_key_is_not_multiplied_away() -> None:
    lk, ln = (Column(ColumnId(i), n, BIGINT) for i, n in ((31, "lk"), (32, "ln")))
    again = Scan("l", (lk, ln))
    on = conjunction((equals(LK, lk), equals(LN, ln)))
    assert rows(Join(JoinKind.INNER, L, again, on)) == pytest.approx(6000)


def test_a_composite_key_of_which_few_are_left_keeps_foreign_keys_out() -> None:
    lk, ln = (Column(ColumnId(i), n, BIGINT) for i, n in ((31, "lk"), (32, "ln")))
    few = Filter(Scan("l", (lk, ln)), call("<", Ref(lk), literal("150")))
    on = conjunction((equals(LK, lk), equals(LN, ln)))
    assert rows(few) < 1000
    assert rows(Join(JoinKind.INNER, L, few, on)) < 4000


def test_of_few_rows_texts_are_taken_for_different() -> None:
    names = tuple(SourceColumn(name=name, type=STRING) for name in ("r_name", "other"))
    region = Source(name="region", columns=names, rows=5)
    name = Column(ColumnId(71), "r_name", STRING)
    chosen = Filter(Scan("region", (name,)), call("=", Ref(name), literal("'ASIA'")))
    assert Estimator((region,)).estimate(chosen).rows == pytest.approx(1.0)


def test_aggregates_and_the_rest() -> None:
    count = ((OUT, AggregateCall("count", ())),)
    assert rows(Aggregate(L, (LK,), count)) == pytest.approx(1500, rel=0.03)
    assert rows(Aggregate(L, (LN,), count)) == pytest.approx(7)
    assert rows(Aggregate(L, (), count)) == 1
    assert rows(Aggregate(L, (LK, LN, QTY), count)) <= 6000
    assert rows(Aggregate(O, (NOTE,), ())) == pytest.approx(21, rel=0.01)
    assert rows(Limit(L, 10)) == 10
    assert rows(Limit(L, 10, 5995)) == 5
    assert rows(Limit(L, None, 1000)) == 5000
    assert rows(Sort(L, (SortKey(LK),))) == 6000
    assert rows(UnionAll((L, L), (LK, LN, QTY))) == 12000
    assert rows(Values((OUT,), ((literal("1"),), (literal("2"),)))) == 2
    assert rows(Repeat(L, QTY)) == 6000
    assert rows(SetOperation(SetKind.INTERSECT, True, L, L, (LK, LN, QTY))) == 3000
    assert rows(SetOperation(SetKind.EXCEPT, False, L, L, (LK, LN, QTY))) <= 3000
    window = WindowCall("sum", (Ref(QTY),), (LK,), ())
    assert rows(Window(L, ((OUT, window),))) == 6000
    year = Project(O, ((OUT, Call("year", (Ref(DAY),), INT)),))
    assert rows(Aggregate(year, (OUT,), ())) <= 30
    renamed = Project(O, ((OUT, Ref(OK)),))
    assert Estimator((ORDERS,)).estimate(renamed).distinct(OUT.id) == 1500


@pytest.mark.parametrize(
    ("predicate", "groups"),
    [
        ("ck = 7", 1.0),
        ("7 = ck AND day > DATE'1995-01-01'", 1.0),
        ("ck IN (1, 2, 3)", 3.0),
        ("ck <> 7", 99.0),
        ("ck = 7 OR ok = 1", 13.0),
    ],
)
def test_a_condition_leaves_its_columns_few_values(predicate: str, groups: float) -> None:
    query = read_query(f"SELECT ck, count(*) AS n FROM o WHERE {predicate} GROUP BY ck", (ORDERS,))
    assert rows(query.relation) == pytest.approx(groups, rel=0.3)


def test_a_column_that_is_compared_is_not_null_and_has_that_value() -> None:
    note = read_query("SELECT note, ck FROM o WHERE note IN ('a', 'b') AND ck = 7", (ORDERS,))
    left = Estimator((ORDERS,)).estimate(note.relation)
    of_note, of_ck = (left.columns[column.id] for column in note.relation.columns)
    assert of_note.nulls == 0.0
    assert of_note.distinct <= 2.0
    assert (of_ck.low, of_ck.high) == (7.0, 7.0)


def test_who_groups_by_all_that_names_a_row_names_it_by_the_text_that_nobody_knows() -> None:
    kinds = {"id": STRING, "first": STRING, "last": STRING, "year": INT}
    people = Source(
        name="people",
        columns=tuple(SourceColumn(name=name, type=type_) for name, type_ in kinds.items()),
        rows=10_000,
        stats=(
            ("first", ColumnStats(distinct=300)),
            ("last", ColumnStats(distinct=500)),
            ("year", ColumnStats(minimum="2001", maximum="2001")),
        ),
    )

    def joined(keys: str) -> float:
        years = " JOIN ".join(f"(SELECT {keys} FROM people GROUP BY {keys}) y{n}" for n in (1, 2))
        on = f"SELECT y1.id FROM {years} ON y1.id = y2.id"
        return Estimator((people,)).rows(read_query(on, (people,)).relation)

    assert joined("id, first, last") == pytest.approx(10_000, rel=0.4)
    # By fewer columns it need not be the name: a tenth of the rows are different, as ever.
    assert joined("id") == pytest.approx(1000, rel=0.1)
    assert joined("id, year") == pytest.approx(1000, rel=0.1)


def test_more_arrived_is_never_less() -> None:
    on = equals(OK, LK)
    total = ((OUT, AggregateCall("sum", (Ref(QTY),))),)
    plan = Aggregate(
        Filter(join(JoinKind.INNER, on), call("<", Ref(QTY), literal("9"))), (CK,), total
    )
    found = [rows(plan, o=1500 * f, l=6000 * f) for f in (0.0, 0.01, 0.1, 0.5, 0.9, 1.0)]
    assert found == sorted(found)
    assert found[0] == 0


def test_a_case_has_the_values_of_its_branches() -> None:
    few = call("<", Ref(OK), literal("10"))
    nothing, zero = literal(None), literal("0", INT)
    shown = {
        "key or nothing": Call("case", (few, Ref(CK), nothing), INT),
        "two and a constant": Call("case", (few, Ref(LN), few, Ref(LN), literal("9")), BIGINT),
        "never anything": Call("case", (few, nothing, nothing), INT),
    }
    either = Call("case", (few, Ref(CK), zero), INT)
    estimator = Estimator((ORDERS, LINES))
    found = estimator.estimate(Project(O, ((OUT, shown["key or nothing"]),))).columns[OUT.id]
    assert found.distinct == pytest.approx(100)
    assert found.nulls == 0.5
    assert (found.low, found.high) == (1, 100)
    found = estimator.estimate(Project(O, ((OUT, either),))).columns[OUT.id]
    assert (found.low, found.high, found.nulls) == (0, 100, 0)
    pairs = Join(JoinKind.INNER, O, L, TRUE)
    found = estimator.estimate(Project(pairs, ((OUT, shown["two and a constant"]),))).columns[
        OUT.id
    ]
    assert found.distinct == pytest.approx(15)
    found = estimator.estimate(Project(O, ((OUT, shown["never anything"]),))).columns[OUT.id]
    assert found.nulls == 1
    # So the groups of a rollup are those of its keys, for each of its sets.
    sets = Values((QTY,), ((literal("0"),), (literal("1"),)))
    wide = Project(
        Join(JoinKind.INNER, O, sets, TRUE), ((OUT, shown["key or nothing"]), (QTY, Ref(QTY)))
    )
    assert rows(Aggregate(wide, (OUT, QTY), ())) == pytest.approx(202, rel=0.01)


@pytest.mark.parametrize(("name", "by", "most"), [("%", 7, 13), ("pmod", -7, 7), ("%", 1, 1)])
def test_a_remainder_has_few_values(name: str, by: int, most: int) -> None:
    rest = Column(ColumnId(990), "rest", BIGINT)
    divided = Call(name, (Ref(O.columns[0]), Literal(str(by), BIGINT)), BIGINT)
    assert rows(Aggregate(Project(O, ((rest, divided),)), (rest,), ())) == pytest.approx(most)


def test_a_running_sum_of_marks_numbers_a_few_sessions() -> None:
    """Between one of a partition and one for each row; of numbers nothing is known."""
    found = {}
    for what in ("CASE WHEN qty > 7 THEN 1 ELSE 0 END", "qty"):
        marked = f"SELECT lk, ln, {what} AS m FROM {LINES.name}"
        numbered = f"SELECT lk, sum(m) OVER (PARTITION BY lk ORDER BY ln) AS s FROM ({marked})"
        grouped = read_query(f"SELECT lk, s FROM ({numbered}) GROUP BY lk, s", (LINES,))
        found[what] = rows(grouped.relation)
    marks, numbers = found.values()
    assert rows(read_query(f"SELECT DISTINCT lk FROM {LINES.name}", (LINES,)).relation) < marks
    assert marks < numbers
