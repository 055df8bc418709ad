"""Every delta rule, on random histories: OLD + DELTA = NEW, as bags, in every run.

The rules build algebra; the row interpreter evaluates it. No engine and no planner phase is
involved, so a failure here names the rule.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from forerun.planner.algebra.aggregates.functions import function, type_of
from forerun.planner.algebra.aggregates.record import Rounding
from forerun.planner.algebra.aggregates.table import TABLE
from forerun.planner.algebra.nested import array_of
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Repeat,
    StateRead,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction, equals
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    UNKNOWN,
    Column,
    ColumnId,
)
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from forerun.planner.rules.incremental import aggregate, join, linear, outer_join, panes
from forerun.planner.rules.incremental.catalog import INCREMENTAL
from forerun.planner.rules.incremental.rule import (
    Applies,
    DeltaRule,
    Input,
    KeyedState,
    StampedRows,
)
from forerun.planner.tvr.signed import ColumnIds, Signed, consolidate
from tests.oracles.interpreter import FamilyData, Inputs, SourceData, evaluate
from tests.oracles.values import Row, row_key
from tests.properties.histories import (
    GROUP,
    KEY,
    MONEY,
    NUMBER,
    REAL,
    History,
    paned_history,
    random_history,
)
from tests.selection import few

RUNS = 4
CASES = 120
WEIGHT = "__w"
_OFF_TIES = math.pi * 1e-7


@dataclass
class Kept:
    """The versions of one input as kept rows with weights and the run that wrote them."""

    history: History
    run: int
    ids: ColumnIds

    @property
    def changing(self) -> bool:
        return self.history.changing

    def _read(self, version: Version) -> Signed:
        """Each read has the same data columns: a rule may not read one version twice in a join,
        unless it renames; the weight is there only where the bag is signed."""
        columns, names = self.history.columns, tuple(c.name for c in self.history.columns)
        if not self.history.signed:
            return Signed(StateRead(self.history.source, columns, names, version))
        weight = self.ids.weight()
        read = StateRead(self.history.source, (*columns, weight), (*names, WEIGHT), version)
        return Signed(read, weight)

    def delta(self) -> Signed:
        return self._read(Version.DELTA)

    def old(self) -> Signed:
        return self._read(Version.OLD)

    def new(self) -> Signed:
        return self._read(Version.NEW)

    def stamped(self) -> StampedRows:
        run = Column(self.ids.next_id(), "__run", INT)
        columns = (*self.history.columns, run)
        names = (*(c.name for c in self.history.columns), "__run")
        return StampedRows(
            StateRead(self.history.source, columns, names, Version.NEW),
            run,
            Literal(str(self.run), INT),
        )


def data_of(histories: list[History], run: int) -> Inputs:
    """Plain sources (what is held after ``run``) and families (weighted rows up to ``run``)."""
    sources, families = {}, {}
    for history in histories:
        names = tuple(c.name for c in history.columns)
        sources[history.source] = SourceData(names, history.rows(run))
        rows = [
            (i + 1, (*row, weight))
            for i, delta in enumerate(history.deltas[:run])
            for row, weight in delta
        ]
        families[history.source] = FamilyData((*names, WEIGHT), rows)
    return Inputs(sources, families, run)


def signed_rows(bag: Signed, inputs: Inputs) -> Counter[Any]:
    """The multiplicities of a signed bag, consolidated here and not by the rule."""
    order = [c.id for c in bag.relation.columns]
    data = [order.index(c.id) for c in bag.columns]
    total: Counter[Any] = Counter()
    for row in evaluate(bag.relation, inputs):
        weight = 1 if bag.weight is None else row[order.index(bag.weight.id)]
        total[_key(tuple(row[i] for i in data))] += weight
    return Counter({row: n for row, n in total.items() if n})


def plain(rows: list[Row]) -> Counter[Any]:
    return Counter(_key(row) for row in rows)


def _key(row: Row) -> Any:
    """A row as a bag has it; the last digits of a deviation depend on how its parts were merged.
    What is made of cents often ends in a 5, which would round up or down by those digits."""
    return row_key(tuple(round(v + _OFF_TIES, 6) if isinstance(v, float) else v for v in row))


def assert_law(rule: DeltaRule, node: Relation, histories: list[History]) -> bool:
    """Check the rule in every run; False where it does not cover the operator."""
    facts = tuple(
        Input(relation=h.scan, changing=h.changing, signed=h.signed and h.changing)
        for h in histories
    )
    applies = rule.applies(node, facts)
    if not isinstance(applies, Applies):
        return False
    ids = ColumnIds(5000)
    if isinstance(rule.method, KeyedState):
        _check_view(rule.method, node, histories, facts, ids)
        return True
    before = plain(evaluate(node, data_of(histories, 1)))
    for run in range(2, RUNS + 1):
        inputs = data_of(histories, run)
        delta = rule.method(node, tuple(Kept(h, run, ids) for h in histories), ids)
        assert [c.type for c in delta.columns] == [c.type for c in node.columns]
        if not applies.signed:
            assert delta.weight is None, "the rule said that its delta takes nothing back"
        change = signed_rows(delta, inputs)
        after = plain(evaluate(node, inputs))
        assert _sum(before, change) == after, f"{rule.name}, run {run}"
        assert plain(evaluate(consolidate(delta, ids), inputs)) == +change
        before = after
    return True


def _sum(left: Counter[Any], right: Counter[Any]) -> Counter[Any]:
    total = Counter(left)
    for row, n in right.items():
        total[row] += n
    return Counter({row: n for row, n in total.items() if n})


def _check_view(
    view: KeyedState,
    node: Relation,
    histories: list[History],
    facts: tuple[Input, ...],
    ids: ColumnIds,
) -> None:
    """States made run by run: merged they are the output, stamped they give its change."""
    (history,), signed = histories, facts[0].signed
    columns = view.columns(node, signed, ids)
    names = tuple(f"{c.name}_{c.id}" for c in columns)
    states: list[tuple[int, Row]] = []
    before: Counter[Any] = Counter()
    for run in range(1, RUNS + 1):
        inputs = data_of(histories, run)
        kept = Kept(history, run, ids)
        partial = view.partial(node, kept.delta(), signed, columns, ids)
        assert partial.columns == columns
        states += [(run, row) for row in evaluate(partial, inputs)]
        inputs.families["states"] = FamilyData(names, states)
        read = StateRead("states", columns, names, Version.NEW)
        merged = view.merge(node, read, signed, kept.new(), ids)
        assert [c.type for c in merged.columns] == [c.type for c in node.columns]
        after = plain(evaluate(node, inputs))
        assert plain(evaluate(merged, inputs)) == after, f"merge, run {run}"
        if view.singles is not None:
            singles = view.singles(node, kept.delta(), signed, columns, ids)
            earlier = [state for state in states if state[0] < run]
            one_by_one = [(run, row) for row in evaluate(singles, inputs)]
            inputs.families["states"] = FamilyData(names, [*earlier, *one_by_one])
            assert singles.columns == columns
            assert plain(evaluate(merged, inputs)) == after, f"merge of single rows, run {run}"
            inputs.families["states"] = FamilyData(names, states)
        if view.delta is not None and run > 1:
            change = view.delta(node, _States(columns, names, run, ids), signed, ids).rows
            assert _sum(before, signed_rows(change, inputs)) == after, f"delta, run {run}"
        before = after


@dataclass
class _States:
    """The stamped states of a keyed view, as a rule's delta reads them."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    run: int
    ids: ColumnIds
    changing: bool = True

    def stamped(self) -> StampedRows:
        run = Column(self.ids.next_id(), "__run", INT)
        read = StateRead("states", (*self.columns, run), (*self.names, "__run"), Version.NEW)
        return StampedRows(read, run, Literal(str(self.run), INT))

    def delta(self) -> Signed:
        return Signed(StateRead("states", self.columns, self.names, Version.DELTA))

    def old(self) -> Signed:
        return Signed(StateRead("states", self.columns, self.names, Version.OLD))

    def new(self) -> Signed:
        return Signed(StateRead("states", self.columns, self.names, Version.NEW))


# Random operators


def column(history: History, name: str) -> Column:
    return next(c for c in history.columns if c.name == name)


def random_predicate(rng: random.Random, history: History) -> Scalar:
    number, group = column(history, NUMBER), column(history, GROUP)
    return rng.choice(
        (
            Call(">", (Ref(number), Literal("0", BIGINT)), BOOLEAN),
            Call("isnull", (Ref(group),), BOOLEAN),
            Call("<>", (Ref(group), Literal("b", STRING)), BOOLEAN),
            Call("<=", (Ref(column(history, REAL)), Literal("1.5", DOUBLE)), BOOLEAN),
        )
    )


def random_filter(rng: random.Random, histories: list[History]) -> Relation:
    return Filter(histories[0].scan, random_predicate(rng, histories[0]))


def random_project(rng: random.Random, histories: list[History]) -> Relation:
    (history,) = histories
    number = Ref(column(history, NUMBER))
    double = Call("*", (number, Literal("2", BIGINT)), BIGINT)
    items = [
        (column(history, GROUP), Ref(column(history, GROUP))),
        (Column(ColumnId(900), "twice", BIGINT), double),
        (Column(ColumnId(901), "one", INT), Literal("1", INT)),
    ]
    return Project(history.scan, tuple(rng.sample(items, rng.randint(1, 3))))


def random_repeat(rng: random.Random, histories: list[History]) -> Relation:
    """By a number that is NULL, or less than one, for some rows."""
    scan = histories[0].scan
    count = next(c for c in scan.columns if c.name == NUMBER)
    return Repeat(scan, count)


def random_generate(rng: random.Random, histories: list[History]) -> Relation:
    """Of arrays that are NULL, or have no elements, for some rows."""
    scan = histories[0].scan
    number = Ref(column(histories[0], NUMBER))
    whole = Call("array", (number, Literal("7", number.type)), array_of(number.type))
    empty = Call("array", (), array_of(number.type))
    unknown = Literal(None, whole.type)
    large = Call(">", (number, Literal("1", number.type)), BOOLEAN)
    absent = Call("isnull", (number,), BOOLEAN)
    listed = Call("case", (large, whole, absent, unknown, empty), whole.type)
    name = rng.choice(("explode", "posexplode"))
    made = [Column(ColumnId(900), "at", INT), Column(ColumnId(901), "value", number.type)]
    own = tuple(made[name == "explode" :])
    return Generate(scan, Call(name, (listed,), UNKNOWN), own, rng.random() < 0.5)


def random_union(rng: random.Random, histories: list[History]) -> Relation:
    merged = tuple(
        Column(ColumnId(900 + i), c.name, c.type) for i, c in enumerate(histories[0].columns)
    )
    return UnionAll(tuple(h.scan for h in histories), merged)


def join_of(kind: JoinKind, *, residual: bool, equality: bool = True) -> Any:
    def build(rng: random.Random, histories: list[History]) -> Relation:
        left, right = histories
        parts: list[Scalar] = []
        if equality:
            parts.append(equals(column(left, KEY), column(right, KEY)))
            if rng.random() < 0.3:
                parts.append(equals(column(left, GROUP), column(right, GROUP)))
        if residual:
            numbers = Ref(column(left, NUMBER)), Ref(column(right, NUMBER))
            parts.append(
                rng.choice(
                    (
                        Call("<", numbers, BOOLEAN),
                        random_predicate(rng, right),
                        random_predicate(rng, left),
                    )
                )
            )
        mark = Column(ColumnId(990), "mark", BOOLEAN) if kind is JoinKind.MARK else None
        return Join(kind, left.scan, right.scan, conjunction(tuple(parts)), mark)

    return build


def aggregate_of(*names: str, keys: bool = True) -> Any:
    def build(rng: random.Random, histories: list[History]) -> Relation:
        (history,) = histories
        chosen = [column(history, GROUP), column(history, KEY)][: rng.randint(1, 2)]
        calls = []
        for position in range(rng.randint(1, 3)):
            call = _random_call(rng, history, rng.choice(names))
            type_ = type_of(call)
            calls.append((Column(ColumnId(800 + position), f"a{position}", type_), call))
        return Aggregate(history.scan, tuple(chosen) if keys else (), tuple(calls))

    return build


def by_pane(*names: str) -> Any:
    def build(rng: random.Random, histories: list[History]) -> Relation:
        node = aggregate_of(*names)(rng, histories)
        pane = column(histories[0], PANE_COLUMN)
        return Aggregate(node.input, (pane, *node.keys), node.calls)

    return build


def _random_call(rng: random.Random, history: History, name: str) -> AggregateCall:
    where = random_predicate(rng, history) if rng.random() < 0.25 else None
    if name == "count" and rng.random() < 0.4:
        return AggregateCall("count", (), where=where)
    if name == "count" and rng.random() < 0.3:
        both = (Ref(column(history, NUMBER)), Ref(column(history, GROUP)))
        return AggregateCall("count", both, where=where)
    known = function(name.removesuffix("_real"))
    if known.name in ("count_if", "bool_and", "bool_or"):
        return AggregateCall(known.name, (random_predicate(rng, history),), where=where)
    choices = [NUMBER, MONEY] if name in ("sum", "avg") else [NUMBER, MONEY, GROUP, REAL]
    if known.rounding is Rounding.ALWAYS:
        pair = rng.sample([NUMBER, MONEY, REAL], known.arguments[0])
        return AggregateCall(known.name, tuple(Ref(column(history, c)) for c in pair), where=where)
    if name.endswith("_real"):
        name, choices = name.removesuffix("_real"), [REAL]
    return AggregateCall(name, (Ref(column(history, rng.choice(choices))),), where=where)


ONE, TWO = (True,), (True, True)
TRUTHS = ("count_if", "bool_and", "bool_or")
MOMENTS = tuple(
    f.name
    for f in TABLE
    if f.state is not None and f.rounding is Rounding.ALWAYS and f.name != "corr"
)
"""The correlation of a constant is an error: see test_aggregate_states.py."""
PARTNERS = (
    (JoinKind.LEFT, outer_join.BY_KEY, outer_join.TOUCHED),
    (JoinKind.SEMI, outer_join.SEMI_BY_KEY, outer_join.SEMI_TOUCHED),
    (JoinKind.ANTI, outer_join.SEMI_BY_KEY, outer_join.SEMI_TOUCHED),
)
LAWS: list[tuple[str, DeltaRule, Any, tuple[bool, ...], tuple[bool, ...]]] = [
    # name, rule, builder, which inputs change, which may take rows back
    ("filter", linear.FILTER, random_filter, ONE, ONE),
    ("project", linear.PROJECT, random_project, ONE, ONE),
    ("union", linear.UNION_ALL, random_union, TWO, TWO),
    ("union-static", linear.UNION_ALL, random_union, (True, False), (True, False)),
    ("repeat", linear.REPEAT, random_repeat, ONE, ONE),
    ("generate", linear.GENERATE, random_generate, ONE, ONE),
    ("inner", join.INNER, join_of(JoinKind.INNER, residual=False), TWO, TWO),
    ("inner-residual", join.INNER, join_of(JoinKind.INNER, residual=True), TWO, TWO),
    ("inner-static-left", join.INNER, join_of(JoinKind.INNER, residual=True), (False, True), TWO),
    *(
        (
            f"static-{kind}",
            join.STATIC_RIGHT,
            join_of(kind, residual=True, equality=kind is not JoinKind.ANTI),
            (True, False),
            (True, False),
        )
        for kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)
    ),
    *(
        (f"by-key-{kind}", by_key, join_of(kind, residual=False), change, (True, False))
        for kind, by_key, _ in PARTNERS
        for change in (TWO, (False, True))
    ),
    *(
        (f"touched-{kind}", touched, join_of(kind, residual=r), change, (True, False))
        for kind, _, touched in PARTNERS
        for change in (TWO, (False, True))
        for r in (True, False)
    ),
    ("counts", aggregate.MERGED, aggregate_of("count", "sum", "avg"), ONE, ONE),
    ("scalar", aggregate.MERGED, aggregate_of("count", "sum", "avg", keys=False), ONE, ONE),
    ("extremes", aggregate.MERGED, aggregate_of("min", "max", "sum_real"), ONE, (False,)),
    (
        "scalar-extremes",
        aggregate.MERGED,
        aggregate_of("min", "max", "avg_real", keys=False),
        ONE,
        (False,),
    ),
    ("truths", aggregate.MERGED, aggregate_of(*TRUTHS), ONE, ONE),
    ("moments", aggregate.MERGED, aggregate_of(*MOMENTS, "sum"), ONE, (False,)),
    ("scalar-moments", aggregate.MERGED, aggregate_of(*MOMENTS, keys=False), ONE, (False,)),
    ("affected-moments", aggregate.AFFECTED, aggregate_of(*MOMENTS, *TRUTHS), ONE, ONE),
    ("affected", aggregate.AFFECTED, aggregate_of("min", "max", "sum", "count"), ONE, ONE),
    ("affected-reals", aggregate.AFFECTED, aggregate_of("sum_real", "avg_real"), ONE, ONE),
    ("by-pane", panes.BY_PANE, by_pane("min", "max", "sum", "count"), ONE, ONE),
    ("by-pane-reals", panes.BY_PANE, by_pane("sum_real", "avg_real", *TRUTHS), ONE, ONE),
]


@pytest.mark.parametrize(("name", "rule", "build", "changing", "signed"), few(LAWS, 12))
def test_old_plus_delta_is_new(name, rule, build, changing, signed):
    covered = 0
    for seed in range(CASES):
        rng = random.Random(f"{name}-{seed}")
        histories = [
            paned_history(rng, f"s{i}", 100 * (i + 1), RUNS)
            if rule is panes.BY_PANE
            else random_history(
                rng,
                f"s{i}",
                100 * (i + 1),
                RUNS,
                signed=signed[i] and changing[i] and rng.random() < 0.7,
                changing=changing[i],
            )
            for i in range(len(changing))
        ]
        try:
            covered += assert_law(rule, build(rng, histories), histories)
        except AssertionError as error:
            raise AssertionError(f"{name}, seed {seed}: {error}") from error
    assert covered >= CASES // 5, f"{name}: only {covered} of {CASES} cases reached the rule"


def test_every_rule_has_a_law():
    assert {rule.name for _, rule, *_ in LAWS} == {rule.name for rule in INCREMENTAL}
