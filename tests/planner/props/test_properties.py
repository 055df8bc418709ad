"""Keys and not-null columns against relations whose rows are known."""

from __future__ import annotations

from forerun.planner.algebra.predicates import null_rejected, rejects_nulls_of, split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    SetKind,
    SetOperation,
    SortKey,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Ref,
    Scalar,
    conjunction,
    equals,
)
from forerun.planner.algebra.types import BIGINT, INT, STRING, Column, ColumnId
from forerun.planner.props.keys import MAX_KEYS, is_key, keys
from forerun.planner.props.nullability import not_null
from tests.planner.scalars import call, literal

KEYS = {"o": (("ok",),), "l": (("lk", "ln"),)}
NOT_NULL = {"o": {"ok", "cust"}, "l": {"lk", "ln"}}

OK, CUST, NOTE = (Column(ColumnId(i), n, INT) for i, n in ((1, "ok"), (2, "cust"), (3, "note")))
LK, LN, QTY = (Column(ColumnId(i), n, INT) for i, n in ((11, "lk"), (12, "ln"), (13, "qty")))
OUT = Column(ColumnId(21), "out", BIGINT)
OUT2 = Column(ColumnId(22), "out2", BIGINT)
ORDERS = Scan("o", (OK, CUST, NOTE))
LINES = Scan("l", (LK, LN, QTY), Version.DELTA)


def key_ids(relation: Relation) -> set[frozenset[int]]:
    return {frozenset(int(part) for part in key) for key in keys(relation, KEYS)}


def nn(relation: Relation, ansi: bool = True) -> set[int]:
    return {int(i) for i in not_null(relation, NOT_NULL, ansi=ansi)}


def join(kind: JoinKind, condition: Scalar = equals(OK, LK)) -> Join:  # noqa: B008
    return Join(kind, ORDERS, LINES, condition, OUT if kind is JoinKind.MARK else None)


def test_keys_of_scans_and_filters() -> None:
    assert key_ids(LINES) == {frozenset({11, 12})}
    assert key_ids(Scan("l", (LK, QTY))) == set()
    assert key_ids(Filter(LINES, call("=", Ref(LN), literal("1")))) == {frozenset({11})}
    assert key_ids(Filter(ORDERS, call("=", literal("1"), Ref(OK)))) == {frozenset()}
    assert key_ids(Filter(LINES, call("<", Ref(LN), literal("1")))) == {frozenset({11, 12})}
    both = Filter(LINES, call("=", Ref(LN), Ref(LK)))
    assert key_ids(both) == {frozenset({11}), frozenset({12})}
    assert key_ids(Filter(LINES, call("=", Ref(LN), Ref(QTY)))) == {
        frozenset({11, 12}), frozenset({11, 13}),
    }  # fmt: skip


def test_keys_of_joins() -> None:
    line_key = frozenset({11, 12})
    # Each line has one order, so the line's key survives; ok equals lk in an inner join.
    assert key_ids(join(JoinKind.INNER)) == {line_key, frozenset({1, 12})}
    # An order has several lines; one without lines has one row.
    assert key_ids(join(JoinKind.LEFT)) == {frozenset({1, 11, 12})}
    assert key_ids(join(JoinKind.RIGHT)) == {line_key}
    assert key_ids(join(JoinKind.FULL)) == set()
    for kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE):
        assert key_ids(join(kind)) == {frozenset({1})}
    assert key_ids(join(JoinKind.INNER, TRUE)) == {frozenset({1, 11, 12})}


def test_keys_of_other_nodes() -> None:
    count = (OUT, AggregateCall("count", ()))
    assert key_ids(Aggregate(ORDERS, (CUST,), (count,))) == {frozenset({2})}
    assert key_ids(Aggregate(ORDERS, (OK, CUST), (count,))) == {frozenset({1})}
    assert key_ids(Aggregate(ORDERS, (), (count,))) == {frozenset()}
    assert key_ids(Limit(LINES, 1)) == {frozenset()}
    assert key_ids(Limit(LINES, 2)) == {frozenset({11, 12})}
    assert key_ids(Values((OUT,), ((literal("1"),),))) == {frozenset()}
    assert key_ids(Values((OUT,), ((literal("1"),), (literal("1"),)))) == set()
    assert key_ids(Project(ORDERS, ((OUT, Ref(OK)),))) == {frozenset({21})}
    assert key_ids(Project(ORDERS, ((OUT, call("+", Ref(OK), Ref(OK))),))) == set()
    assert key_ids(UnionAll((ORDERS, ORDERS), (OK, CUST, NOTE))) == set()
    merged = (LK, LN, QTY)
    for kind, bag, expected in (
        (SetKind.EXCEPT, True, {frozenset({11})}), (SetKind.EXCEPT, False, {frozenset({11})}),
        (SetKind.INTERSECT, True, {frozenset({11})}),
    ):  # fmt: skip
        assert key_ids(SetOperation(kind, bag, ORDERS, LINES, merged)) == expected
    no_key = Scan("x", (OK, CUST, NOTE))
    distinct = SetOperation(SetKind.EXCEPT, False, no_key, LINES, merged)
    assert key_ids(distinct) == {frozenset({11, 12, 13})}
    number = WindowCall("row_number", (), (LK,), (SortKey(QTY),))
    assert key_ids(Window(LINES, ((OUT, number),))) == {frozenset({11, 12}), frozenset({11, 21})}
    text = Column(ColumnId(31), "t", STRING)
    named = Filter(Scan("n", (text,)), call("=", Ref(text), literal("1")))
    assert keys(named, {"n": (("t",),)}) == frozenset({frozenset({text.id})})
    state = StateRead("f", (LK, LN), ("a", "b"), Version.NEW)
    assert keys(state, {}, {"f": (("b",),)}) == frozenset({frozenset({LN.id})})
    assert keys(state, {}) == frozenset()


def test_the_number_of_keys_is_bounded() -> None:
    columns = tuple(Column(ColumnId(100 + i), f"c{i}", INT) for i in range(30))
    many = {"m": tuple((column.name,) for column in columns)}
    found = keys(Scan("m", columns), many)
    assert len(found) == MAX_KEYS
    assert is_key([columns[0].id], found)
    assert not is_key([OK.id], found)


def test_not_null_of_joins() -> None:
    assert nn(ORDERS) == {1, 2}
    assert nn(join(JoinKind.INNER)) == {1, 2, 11, 12}
    matching = conjunction((equals(NOTE, QTY), call("<", Ref(NOTE), literal("3"))))
    assert nn(join(JoinKind.INNER, matching)) == {1, 2, 3, 11, 12, 13}
    assert nn(join(JoinKind.LEFT, matching)) == {1, 2}
    assert nn(join(JoinKind.RIGHT, matching)) == {11, 12}
    assert nn(join(JoinKind.FULL, matching)) == set()
    assert nn(join(JoinKind.SEMI, matching)) == {1, 2, 3}
    assert nn(join(JoinKind.ANTI, matching)) == {1, 2}
    assert nn(join(JoinKind.MARK, matching)) == {1, 2}
    assert nn(join(JoinKind.SINGLE, matching)) == {1, 2}


def test_not_null_of_items_and_aggregates() -> None:
    def item(scalar: Scalar, ansi: bool = True) -> bool:
        return OUT.id in not_null(Project(ORDERS, ((OUT, scalar),)), NOT_NULL, ansi=ansi)

    assert item(call("+", Ref(OK), Ref(CUST)))
    assert not item(call("+", Ref(OK), Ref(CUST)), ansi=False)
    assert not item(call("+", Ref(OK), Ref(NOTE)))
    assert item(call("coalesce", Ref(NOTE), literal("0")))
    assert item(call("isnull", Ref(NOTE)))
    assert not item(call("try_cast", Ref(OK)))
    assert not item(call("some_function", Ref(OK)))
    assert not item(call("case", call("<", Ref(OK), literal("1")), Ref(NOTE), literal("0")))
    assert item(call("case", call("<", Ref(NOTE), literal("1")), Ref(OK), literal("0")))
    assert not item(call("in", Ref(OK), literal("1"), literal(None)))
    sums = ((OUT, AggregateCall("sum", (Ref(CUST),))), (OUT2, AggregateCall("sum", (Ref(NOTE),))))
    assert nn(Aggregate(ORDERS, (CUST, NOTE), sums)) == {2, 21}
    assert nn(Aggregate(ORDERS, (), sums)) == set()
    where = ((OUT, AggregateCall("sum", (Ref(CUST),), where=call("<", Ref(OK), literal("1")))),)
    assert nn(Aggregate(ORDERS, (CUST,), where)) == {2}
    count = ((OUT, AggregateCall("count", (Ref(NOTE),))),)
    assert nn(Aggregate(ORDERS, (), count)) == {21}
    both = UnionAll((ORDERS, LINES), (LK, LN, QTY))
    assert nn(both) == {11, 12}
    assert nn(UnionAll((Scan("x", (OK, CUST, NOTE)), LINES), (LK, LN, QTY))) == set()
    except_ = SetOperation(SetKind.EXCEPT, True, LINES, Scan("x", (OK, CUST, NOTE)), (LK, LN, QTY))
    assert nn(except_) == {11, 12}
    values = Values((OUT, OUT2), ((literal("1"), literal("2")), (literal("1"), literal(None))))
    assert nn(values) == {21}


def test_null_rejection() -> None:
    x, y = Ref(OK), Ref(LK)
    one = literal("1")

    def rejected(predicate: Scalar) -> set[int]:
        return {int(i) for i in null_rejected(predicate)}

    assert rejected(call("=", x, y)) == {1, 11}
    assert rejected(call("<=>", x, y)) == set()
    assert rejected(call("<=>", x, one)) == {1}
    assert rejected(call("<=>", x, literal(None))) == set()
    assert rejected(call("or", call("<", x, one), call("<", y, one))) == set()
    assert rejected(call("or", call("<", x, one), call("=", x, y))) == {1}
    assert rejected(call("and", call("<", x, one), call("<", y, one))) == {1, 11}
    assert rejected(call("isnull", x)) == set()
    assert rejected(call("not", call("isnull", x))) == {1}
    assert rejected(call("isnotnull", call("+", x, y))) == {1, 11}
    assert rejected(call("not", call("in", x, one, y))) == {1}
    assert rejected(call("not", call("and", call("<", x, one), call("<", y, one)))) == set()
    assert rejected(call("not", call("or", call("<", x, one), call("<", y, one)))) == {1, 11}
    assert rejected(call("not", call("not", call("<", x, one)))) == {1}
    assert rejected(call("<", call("coalesce", x, one), y)) == {11}
    assert rejected(call("<", call("case", call("<", x, one), x, one), y)) == {11}
    assert rejects_nulls_of(call("and", call("isnull", x), call("<", y, one)), {LK.id})
    assert not rejects_nulls_of(call("and", call("isnull", x), call("<", y, one)), {OK.id})


def test_split_condition() -> None:
    wide = Column(ColumnId(14), "w", BIGINT)
    lines = Scan("l", (LK, LN, wide))
    parts = (
        equals(LK, OK), equals(OK, wide), call("<", Ref(CUST), Ref(LN)),
        equals(OK, CUST), equals(OK, LK),
    )  # fmt: skip
    split = split_condition(Join(JoinKind.LEFT, ORDERS, lines, conjunction(parts)))
    assert split.pairs == ((OK, LK),)
    assert split.left == (OK,)
    assert split.right == (LK,)
    assert split.residual == conjunction((parts[1], parts[2], parts[3]))
    assert split_condition(join(JoinKind.INNER, TRUE)).residual == TRUE
