"""Canonical text: ids and output names do not matter, everything else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.fingerprint import canonical, fingerprint, node_text
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
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import (
    FALSE,
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    equals,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, STRING, Column, ColumnId
from forerun.planner.errors import UnknownOperatorError


def column(id_: int, name: str = "c", type_=INT) -> Column:
    return Column(ColumnId(id_), name, type_)


def scan(first_id: int, source: str = "s", version: Version = Version.NEW) -> Scan:
    return Scan(source, (column(first_id, "a"), column(first_id + 1, "b")), version)


def less(left: Column, value: str) -> Scalar:
    return Call("<", (Ref(left), Literal(value, INT)), BOOLEAN)


def report(base: int, alias: str = "n") -> Relation:
    """One of each of the usual operators, with ids from ``base`` on."""
    left, right = scan(base, "s"), scan(base + 10, "t", Version.DELTA)
    state = StateRead("f_1", (column(base + 20, "x"),), ("x",), Version.OLD)
    joined = Join(
        JoinKind.LEFT, Filter(left, less(left.columns[0], "5")), right,
        equals(left.columns[0], right.columns[0]),
    )  # fmt: skip
    semi = Join(JoinKind.SEMI, joined, state, equals(left.columns[1], state.read[0]))
    count = column(base + 30, alias, BIGINT)
    total = Aggregate(semi, (left.columns[1],), ((count, AggregateCall("count", ())),))
    out = column(base + 31, alias, BIGINT)
    item = Project(total, ((out, Call("+", (Ref(count), Literal("1", BIGINT)), BIGINT)),))
    return Limit(Sort(item, (SortKey(out),)), 3)


def test_ids_and_output_names_do_not_matter() -> None:
    assert canonical(report(1)) == canonical(report(500, "other"))
    assert fingerprint(report(1)) == fingerprint(report(500, "other"))
    assert len(fingerprint(report(1))) == 64


def test_extra_texts_matter_and_are_kept_apart() -> None:
    plan = report(1)
    prints = {
        fingerprint(plan), fingerprint(plan, "a"), fingerprint(plan, "b"),
        fingerprint(plan, "a", "b"), fingerprint(plan, "ab"), fingerprint(plan, "b", "a"),
    }  # fmt: skip
    assert len(prints) == 6


def test_conjuncts_are_a_set() -> None:
    s = scan(1)
    a, b = s.columns
    parts = (less(a, "1"), less(b, "2"), equals(a, b))
    texts = {
        canonical(Filter(s, conjunction(order)))
        for order in (parts, parts[::-1], (parts[1], parts[0], parts[2]), (*parts, parts[0]))
    }
    nested = Call("and", (parts[0], Call("and", parts[1:], BOOLEAN)), BOOLEAN)
    assert texts == {canonical(Filter(s, nested))}


def test_turned_comparisons_are_equal() -> None:
    s = scan(1)
    a, b = s.columns
    for one, other in (("<", ">"), ("<=", ">="), ("=", "="), ("<>", "<>"), ("<=>", "<=>")):
        left = Call(one, (Ref(a), Ref(b)), BOOLEAN)
        right = Call(other, (Ref(b), Ref(a)), BOOLEAN)
        assert canonical(Filter(s, left)) == canonical(Filter(s, right))
    subtract = [Call("-", pair, INT) for pair in ((Ref(a), Ref(b)), (Ref(b), Ref(a)))]
    one, other = (Project(s, ((column(9), scalar),)) for scalar in subtract)
    assert canonical(one) != canonical(other)


def test_what_changes_rows_changes_the_text() -> None:
    s, t = scan(1), scan(11, "t")
    a, b = s.columns
    call = AggregateCall("sum", (Ref(b),))
    window = WindowCall("sum", (Ref(b),), (a,), (SortKey(b),))
    on = equals(a, t.columns[0])
    out = column(90, "m", BIGINT)
    plans: list[Relation] = [
        s, t, replace(s, version=Version.OLD), Scan("s", (b, a)), Scan("s", (a,)),
        Scan("s", (a, replace(b, type=BIGINT))), Scan("s", (a, replace(b, name="d"))),
        StateRead("s", (a, b), ("a", "b"), Version.NEW),
        StateRead("s", (a, b), ("a", "c"), Version.NEW),
        Values((a,), ((Literal("1", INT),),)), Values((a,), ((Literal(None, INT),),)),
        Values((a,), ((Literal("NULL", STRING),),)),
        Values((a,), ((Literal("1", INT),), (Literal("1", INT),))),
        Filter(s, TRUE), Filter(s, FALSE), Filter(s, less(a, "1")), Filter(s, less(b, "1")),
        Project(s, ((a, Ref(a)),)), Project(s, ((a, Ref(a)), (b, Ref(b)))),
        Project(s, ((b, Ref(b)), (a, Ref(a)))),
        *(Join(kind, s, t, on) for kind in JoinKind if kind is not JoinKind.MARK),
        Join(JoinKind.MARK, s, t, on, out), Join(JoinKind.INNER, t, s, on),
        Aggregate(s, (a,), ()), Aggregate(s, (a, b), ()), Aggregate(s, (a,), ((out, call),)),
        Aggregate(s, (a,), ((out, replace(call, distinct=True)),)),
        Aggregate(s, (a,), ((out, replace(call, where=less(b, "1"))),)),
        Aggregate(s, (a,), ((out, replace(call, name="max")),)),
        Repeat(s, a), Repeat(s, b),
        UnionAll((s, t), (column(80), column(81))), UnionAll((t, s), (column(80), column(81))),
        *(SetOperation(kind, bag, s, t, (column(80), column(81)))
          for kind in SetKind for bag in (False, True)),
        Sort(s, (SortKey(a),)), Sort(s, (SortKey(a, ascending=False),)),
        Sort(s, (SortKey(a, nulls_first=False),)), Sort(s, (SortKey(a), SortKey(b))),
        Limit(s, 1), Limit(s, 2), Limit(s, None, 1), Limit(s, 1, 1),
        Window(s, ((out, window),)), Window(s, ((out, replace(window, frame="ROWS 1 PRECEDING")),)),
        Window(s, ((out, replace(window, partition=())),)),
        Window(s, ((out, replace(window, ignore_nulls=True)),)),
    ]  # fmt: skip
    texts = [canonical(plan) for plan in plans]
    assert len(set(texts)) == len(plans)


def test_a_deep_plan_is_no_problem() -> None:
    plan: Relation = scan(1)
    for _ in range(300):
        plan = Filter(plan, TRUE)
    assert canonical(plan).startswith("filter[")


def test_a_node_without_text_is_refused() -> None:
    class Toy(Relation):
        @property
        def columns(self) -> tuple[Column, ...]:
            return ()

    with pytest.raises(UnknownOperatorError, match="Toy"):
        canonical(Toy())


def test_every_node_type_of_the_algebra_has_text() -> None:
    nodes = [
        node for node in _subclasses(Relation)
        if node.__module__.startswith("forerun.planner.algebra") and not node.__subclasses__()
    ]  # fmt: skip
    assert len(nodes) >= 13
    assert [n.__name__ for n in nodes if not node_text.knows(n)] == []


def _subclasses(kind: type) -> list[type]:
    return [s for child in kind.__subclasses__() for s in (child, *_subclasses(child))]
