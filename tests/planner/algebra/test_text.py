"""The text of algebra: stable, shared relations named once."""

from __future__ import annotations

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Repeat,
    Scan,
    SetKind,
    SetOperation,
    Sort,
    SortKey,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, equals
from forerun.planner.algebra.text import format_relation
from forerun.planner.algebra.types import BOOLEAN, INT, STRING, Column, ColumnId

K, V, X, Y = (Column(ColumnId(i), n, INT) for i, n in enumerate("kvxy", start=1))


def test_a_shared_relation_is_written_once() -> None:
    shared = Filter(Scan("r", (K, V)), Call("isnotnull", (Ref(V),), BOOLEAN))
    copy = Project(shared, ((X, Ref(K)),))
    text = format_relation(Join(JoinKind.LEFT, shared, copy, equals(K, X)))
    assert text == (
        "Join left on (k#1 = x#3)\n"
        "  @1 := Filter isnotnull(v#2)\n"
        "    Scan r [k#1, v#2]\n"
        "  Project [x#3 := k#1]\n"
        "    @1"
    )


def test_every_operator_has_a_line() -> None:
    state = StateRead("f_1", (K, V), ("k", "v"), Version.OLD)
    assert format_relation(state) == "StateRead f_1 old [k#1, v#2]"
    assert format_relation(Scan("r", (K,), Version.DELTA)) == "Scan r delta [k#1]"
    assert format_relation(Repeat(state, V)).startswith("Repeat v#2\n")
    union = UnionAll((Scan("r", (K,)), Scan("s", (V,))), (X,))
    assert format_relation(union).splitlines()[0] == "UnionAll [x#3]"
    both = SetOperation(SetKind.EXCEPT, True, Scan("r", (K,)), Scan("s", (V,)), (X,))
    assert format_relation(both).splitlines()[0] == "Except all [x#3]"
    mark = Column(ColumnId(9), "mark", BOOLEAN)
    marked = Join(JoinKind.MARK, Scan("r", (K,)), Scan("s", (V,)), equals(K, V), mark)
    assert format_relation(marked).splitlines()[0] == "Join mark mark#9 := on (k#1 = v#2)"
    limited = Limit(Sort(Scan("r", (K,)), (SortKey(K, False, True),)), 3, 1)
    assert format_relation(limited).splitlines()[:2] == [
        "Limit 3 offset 1",
        "  Sort [k#1 desc nulls first]",
    ]
    call = AggregateCall("sum", (Ref(V),), True, Call(">", (Ref(V), Literal("1", INT)), BOOLEAN))
    grouped = Aggregate(Scan("r", (K, V)), (K,), ((X, call),))
    line = "Aggregate by [k#1] [x#3 := sum(distinct v#2) where (v#2 > 1)]"
    assert format_relation(grouped).splitlines()[0] == line
    over = WindowCall("lag", (Ref(V),), (K,), (SortKey(V),), "ROWS CURRENT ROW", False, True)
    windowed = Window(Scan("r", (K, V)), ((X, over),))
    line = (
        "Window [x#3 := lag(v#2) ignore nulls over "
        "(partition by k#1 order by v#2 rows current row)]"
    )
    assert format_relation(windowed).splitlines()[0] == line
    name = Column(ColumnId(7), "n", STRING)
    assert format_relation(Values((name,), ((Literal("it's", STRING),),))) == (
        'Values [n#7] ("it\'s")'
    )


def test_types_can_be_shown() -> None:
    assert format_relation(Scan("r", (K,)), types=True) == "Scan r [k#1]  -> k#1: INT"
