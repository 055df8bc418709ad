"""Random relations with data, of every operator, and what must hold of any rewrite of them."""

from __future__ import annotations

import random
from collections import Counter

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
    Sort,
    SortKey,
    UnionAll,
    Values,
    Window,
    WindowCall,
    walk,
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
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, STRING, Column, ColumnId, DataType
from forerun.planner.request import ColumnStats, Source, SourceColumn
from forerun.planner.rules.normalize.identity import made_by
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import EvaluationError, Row

COLUMNS: dict[str, dict[str, DataType]] = {
    "r": {"k": INT, "v": INT, "t": STRING},
    "s": {"k": INT, "w": INT, "u": STRING},
    "q": {"k": INT, "x": INT},
}
SOURCES = tuple(
    Source(
        name=name,
        rows=10 * (1 + place),
        columns=tuple(SourceColumn(name=c, type=t) for c, t in columns.items()),
        stats=(("k", ColumnStats(minimum="0", maximum="3")),),
    )
    for place, (name, columns) in enumerate(COLUMNS.items())
)
_VALUES: dict[DataType, tuple[object, ...]] = {
    INT: (None, 0, 1, 1, 2, 3), STRING: (None, "a", "a", "b", "1"),
}  # fmt: skip


def random_inputs(rng: random.Random) -> Inputs:
    """Up to 5 rows per source, some sources empty, values that meet, repeat and are NULL."""
    data = {}
    for name, columns in COLUMNS.items():
        rows: list[Row] = [
            tuple(rng.choice(_VALUES[t]) for t in columns.values())
            for _ in range(rng.choice((0, 1, 3, 5)))
        ]
        data[name] = SourceData(tuple(columns), [], rows)
    return Inputs(data)


class Builder:
    """Builds random relations; ids count up, so equal seeds give equal relations."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.last_id = 0

    def column(self, name: str, type_: DataType) -> Column:
        self.last_id += 1
        return Column(ColumnId(self.last_id), name, type_)

    def relation(self, depth: int) -> Relation:
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf()
        makers = (
            self.filter, self.filter, self.filter, self.filter, self.project, self.join, self.join,
            self.join, self.join, self.aggregate, self.union, self.set_operation, self.sort,
            self.limit, self.window, self.shared,
        )  # fmt: skip
        return self.rng.choice(makers)(depth)

    def leaf(self) -> Relation:
        if self.rng.random() < 0.07:
            rows = tuple((self.literal(INT),) for _ in range(self.rng.randrange(3)))
            return Values((self.column("c", INT),), rows)
        name = self.rng.choice(tuple(COLUMNS))
        return Scan(name, tuple(self.column(c, t) for c, t in COLUMNS[name].items()))

    def filter(self, depth: int) -> Relation:
        below = self.relation(depth - 1)
        return Filter(below, self.predicate(below.columns))

    def project(self, depth: int) -> Relation:
        below = self.relation(depth - 1)
        items = []
        for column in self.rng.sample(below.columns, self.rng.randint(1, len(below.columns))):
            kind = self.rng.random()
            if kind < 0.4:
                items.append((column, Ref(column)))
            elif kind < 0.7:
                items.append((self.column("p", column.type), Ref(column)))
            else:
                scalar = self.value(below.columns, column.type)
                items.append((self.column("p", scalar.type), scalar))
        return Project(below, tuple(items))

    def join(self, depth: int) -> Relation:
        left, right = self.relation(depth - 1), self.relation(depth - 2)
        kinds = (*JoinKind, JoinKind.INNER, JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT)
        kind = self.rng.choice(kinds)
        parts: list[Scalar] = []
        pairs = [(a, b) for a in left.columns for b in right.columns if a.type == b.type]
        if pairs and self.rng.random() < 0.8:
            a, b = self.rng.choice(pairs)
            parts.append(equals(a, b) if self.rng.random() < 0.7 else self.key(a, b))
        if self.rng.random() < 0.5:
            parts.append(self.predicate((*left.columns, *right.columns)))
        if self.rng.random() < 0.15:
            parts.append(self.disjunction(left.columns, right.columns))
        self.rng.shuffle(parts)
        mark = self.column("m", BOOLEAN) if kind is JoinKind.MARK else None
        return Join(kind, left, right, conjunction(tuple(parts)), mark)

    def disjunction(self, left: tuple[Column, ...], right: tuple[Column, ...]) -> Scalar:
        """Branches that each say something of both sides."""
        branches = tuple(conjunction((self.test(left, 0), self.test(right, 0))) for _ in range(2))
        return Call("or", branches, BOOLEAN)

    def key(self, a: Column, b: Column) -> Scalar:
        """An equality of an expression."""
        return Call("=", (Ref(b), Call("coalesce", (Ref(a), Ref(a)), a.type)), BOOLEAN)

    def aggregate(self, depth: int) -> Relation:
        below = self.relation(depth - 1)
        keys = tuple(self.rng.sample(below.columns, self.rng.randint(0, len(below.columns))))
        calls: list[tuple[Column, AggregateCall]] = []
        if not keys or self.rng.random() < 0.7:
            calls.append((self.column("n", BIGINT), AggregateCall("count", ())))
            column = self.rng.choice(below.columns)
            top = AggregateCall("max", (Ref(column),))
            calls.append((self.column("top", column.type), top))
        return Aggregate(below, keys, tuple(calls))

    def same_shape(self, depth: int) -> tuple[Relation, Relation, tuple[Column, ...]]:
        """Two relations of one INT column each, and a column for their union."""
        sides = []
        for _ in range(2):
            below = self.relation(depth - 1)
            numbers = [c for c in below.columns if c.type == INT]
            item = Ref(self.rng.choice(numbers)) if numbers else self.literal(INT)
            second = self.value(below.columns, INT)
            sides.append(
                Project(below, ((self.column("a", INT), item), (self.column("b", INT), second)))
            )
        return sides[0], sides[1], (self.column("ua", INT), self.column("ub", INT))

    def union(self, depth: int) -> Relation:
        left, right, merged = self.same_shape(depth)
        return UnionAll((left, right), merged)

    def set_operation(self, depth: int) -> Relation:
        left, right, merged = self.same_shape(depth)
        kind = self.rng.choice(tuple(SetKind))
        return SetOperation(kind, self.rng.random() < 0.5, left, right, merged)

    def sort(self, depth: int) -> Relation:
        below = self.relation(depth - 1)
        return Sort(below, (SortKey(self.rng.choice(below.columns)),))

    def limit(self, depth: int) -> Relation:
        """Sorted by all columns, so that the rows it keeps are defined."""
        below = self.relation(depth - 1)
        order = tuple(SortKey(column) for column in below.columns if column.type != BOOLEAN)
        if len(order) < len(below.columns):
            return below
        limit = Limit(Sort(below, order), self.rng.choice((0, 1, 3)), self.rng.choice((0, 0, 1)))
        if self.rng.random() < 0.5:
            return limit
        return Limit(limit, self.rng.choice((None, 0, 1, 2)), self.rng.choice((0, 0, 1)))

    def window(self, depth: int) -> Relation:
        below = self.relation(depth - 1)
        count = self.rng.randint(0, 2) % len(below.columns)
        partition = tuple(self.rng.sample(below.columns, count))
        call = WindowCall("count", (Ref(self.rng.choice(below.columns)),), partition, ())
        return Window(below, ((self.column("win", BIGINT), call),))

    def shared(self, depth: int) -> Relation:
        """One sub-tree read twice, as a common table expression is."""
        below = self.relation(depth - 2)
        sides = [
            Project(below, tuple((self.column("c", c.type), Ref(c)) for c in below.columns))
            for _ in range(2)
        ]
        a, b = sides[0].columns[0], sides[1].columns[0]
        return Join(JoinKind.INNER, sides[0], sides[1], equals(a, b))

    def predicate(self, columns: tuple[Column, ...]) -> Scalar:
        count = self.rng.choice((1, 1, 2, 3))
        return conjunction(tuple(self.test(columns, 2) for _ in range(count)))

    def test(self, columns: tuple[Column, ...], depth: int) -> Scalar:
        kind = self.rng.random()
        if depth and kind < 0.25:
            name = self.rng.choice(("and", "or"))
            args = (self.test(columns, depth - 1), self.test(columns, depth - 1))
            if self.rng.random() < 0.4:
                common = self.test(columns, 0)
                args = tuple(Call("and", (common, arg), BOOLEAN) for arg in args)  # type: ignore[assignment]
            return Call(name, args, BOOLEAN)
        if depth and kind < 0.32:
            return Call("not", (self.test(columns, depth - 1),), BOOLEAN)
        if kind < 0.4:
            return self.rng.choice((TRUE, FALSE, Literal(None, BOOLEAN)))
        column = self.rng.choice(columns)
        if column.type == BOOLEAN:
            return Ref(column)
        if kind < 0.5:
            name = self.rng.choice(("isnull", "isnotnull"))
            return Call(name, (Ref(column),), BOOLEAN)
        if kind < 0.55:
            return Call("in", (Ref(column), self.literal(column.type)), BOOLEAN)
        name = self.rng.choice(("=", "=", "<=>", "<", "<=", ">", ">=", "<>"))
        other = self.value(columns, column.type)
        return Call(name, (Ref(column), other), BOOLEAN)

    def value(self, columns: tuple[Column, ...], type_: DataType) -> Scalar:
        same = [column for column in columns if column.type == type_]
        kind = self.rng.random()
        if same and kind < 0.4:
            return Ref(self.rng.choice(same))
        if same and type_ == INT and kind < 0.6:
            divided = (self.literal(INT), Ref(self.rng.choice(same)))
            # 1 % 0 raises under ANSI: where it is evaluated matters.
            return Call(self.rng.choice(("%", "%", "+")), divided, INT)
        if same and kind < 0.7:
            return Call("coalesce", (Ref(self.rng.choice(same)), self.literal(type_)), type_)
        return self.literal(type_)

    def literal(self, type_: DataType) -> Scalar:
        value = self.rng.choice(_VALUES.get(type_, (None, 0, 1)))
        return Literal(None if value is None else str(value), type_)


def check_rewrite(
    name: str, before: Relation, after: Relation, inputs: Inputs, *, may_fail: bool = False
) -> None:
    """A rewrite keeps the output columns and, where the query succeeds, the bag of rows.

    ``may_fail``: the rewritten query may fail where the first does not.
    """
    if name != "UniqueColumns":
        assert after.columns == before.columns, f"{name} changed the output columns"
        check_columns_unique(name, after)
    try:
        expected = evaluate(before, inputs)
    except EvaluationError:
        return
    try:
        compare_bags(expected, evaluate(after, inputs))
    except (AssertionError, EvaluationError) as error:
        if may_fail and isinstance(error, EvaluationError):
            return
        raise AssertionError(f"{name} changed the answer: {error!r}\n{before}\n{after}") from error


def check_columns_unique(name: str, relation: Relation) -> None:
    """Each column is computed at one node, which may stand in several places."""
    nodes = {id(node): node for node in walk(relation)}.values()
    made = Counter(column.id for node in nodes for column in made_by(node))
    twice = sorted(id_ for id_, count in made.items() if count > 1)
    assert not twice, f"{name} left columns that are made twice: {twice}"
