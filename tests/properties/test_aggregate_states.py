"""Every aggregate function of the table that has a state: states of parts of the rows, merged in
any order, give the value over all rows. The row interpreter evaluates both; its own formulas know
nothing of states."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from itertools import product

import pytest

from forerun.planner.algebra.aggregates.functions import partial_state, type_of
from forerun.planner.algebra.aggregates.record import AggregateFunction, Answer, Rounding
from forerun.planner.algebra.aggregates.states import State, folded, states_of
from forerun.planner.algebra.aggregates.table import TABLE
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    Column,
    ColumnId,
    decimal,
)
from forerun.planner.errors import Reason
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.aggregates import fold_of
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import EvaluationError, Row, Value

CASES = 60
WITH_STATES = [f for f in TABLE if f.state is not None]
GROUP = Column(ColumnId(1), "g", STRING)
SMALL = Column(ColumnId(2), "i", INT)
LARGE = Column(ColumnId(3), "b", BIGINT)
MONEY = Column(ColumnId(4), "m", decimal(9, 2))
REAL = Column(ColumnId(5), "f", DOUBLE)
TRUTH = Column(ColumnId(6), "t", BOOLEAN)
PLACE = Column(ColumnId(7), "p", BIGINT)
COLUMNS = (GROUP, SMALL, LARGE, MONEY, REAL, TRUTH, PLACE)
NAMES = tuple(c.name for c in COLUMNS)
WAYS = ("ASC", "DESC")
KINDS = {
    "any": (0.1, -2.5, 3.0, 1e9, 1e9 + 1.0, -1e-9),
    "constant": (0.1,),
    "special": (0.1, float("nan"), float("inf"), float("-inf"), 0.0, -0.0),
    "far from 0": (1e8, 1e8 + 1.0, 1e8 + 2.0),
}


def rows_of(rng: random.Random, kind: str) -> list[Row]:
    """Few rows, so that groups of none, one and two are likely; places are distinct."""
    count = rng.choice((0, 1, 2, 3, 5, 12))
    places = rng.sample(range(100), count)
    return [
        (
            rng.choice((None, "a", "b")),
            rng.choice((None, -1, 0, 1, 7)),
            rng.choice((None, 10**12, -3, 4)),
            rng.choice((None, Decimal("0.10"), Decimal("-7.35"))),
            rng.choice((None, *KINDS[kind])),
            rng.choice((None, True, False)),
            places[i] if rng.random() < 0.8 else None,
        )
        for i in range(count)
    ]


def calls_of(known: AggregateFunction) -> list[AggregateCall]:
    """The function over every combination of columns that it has a state over."""
    where = Call("isnotnull", (Ref(SMALL),), BOOLEAN)
    chosen = known.answer is Answer.TIES
    columns = [(c,) for c in COLUMNS[1:]]
    if known.arguments[0] == 2:
        second = (PLACE,) if chosen else (SMALL, MONEY, REAL)
        columns = list(product((SMALL, MONEY, REAL), second))
    if known.gathers:
        return [
            AggregateCall(known.name, args, where=condition, determined=True, within=within)
            for args, within in _lists(known)
            for condition in (None, where)
        ]
    if known.answer is Answer.ANY:  # with NULLs, and without
        return [
            AggregateCall(known.name, (Ref(c), *skips), where=condition)
            for (c,) in columns
            for skips in ((), (TRUE,))
            for condition in (None, where)
        ]
    found = [
        AggregateCall(known.name, tuple(Ref(c) for c in given), where=condition, determined=chosen)
        for given in columns
        for condition in (None, where)
    ]
    return [call for call in found if isinstance(partial_state(call, signed=False), State)]


def _lists(known: AggregateFunction) -> list[tuple[tuple[Scalar, ...], str]]:
    """Arguments of lists of which the order is known, and that order."""
    if known.takes_order is None:
        return [((Ref(c),), "") for c in (GROUP, SMALL, MONEY, TRUTH)]
    between = Literal("-", STRING)
    return [
        ((Ref(GROUP), *more, Ref(by)), way)
        for more in ((), (between,))
        for way in WAYS
        for by in (GROUP, SMALL, REAL, PLACE)
    ]


def value_from(
    call: AggregateCall, keys: tuple[Column, ...], parts: list[list[Row]], *, singly: bool
) -> list[Row]:
    """The value of the call by states: of each part, merged to two states, merged to one."""
    state, ids = partial_state(call, signed=False), ColumnIds(1000)
    assert isinstance(state, State)
    data, made = {}, []
    for number, rows in enumerate(parts):
        data[f"s{number}"] = SourceData(NAMES, rows)
        scan = Scan(f"s{number}", COLUMNS)
        columns = (*keys, *(ids.of_type(c.name, c.type) for c in state.columns))
        if singly and state.of_row is not None:
            items = zip(columns, (*(Ref(k) for k in keys), *state.of_row(None)), strict=True)
            made.append(Project(scan, tuple(items)))
        else:
            made.append(states_of(scan, keys, state.of_rows(None, ids.of_type), columns))
    halves = [made[: len(made) // 2], made[len(made) // 2 :]]
    merged = [merged_once(state, keys, half, ids) for half in halves if half]
    whole = merged_once(state, keys, merged, ids)
    value = Column(ColumnId(900), "value", type_of(call))
    finished = state.finalize(tuple(Ref(c) for c in whole.columns[len(keys) :]))
    items = (*((key, Ref(key)) for key in keys), (value, finished))
    return evaluate(Project(whole, items), Inputs(data, {}, 1))


def states_outcome(
    call: AggregateCall, keys: tuple[Column, ...], parts: list[list[Row]], *, singly: bool
) -> list[Row] | str:
    try:
        return value_from(call, keys, parts, singly=singly)
    except EvaluationError as error:
        return type(error).__name__


def merged_once(
    state: State, keys: tuple[Column, ...], parts: list[Relation], ids: ColumnIds
) -> Relation:
    columns = tuple(ids.of_type(c.name, c.type) for c in state.columns)
    union = UnionAll(tuple(parts), (*keys, *columns))
    fold = state.merge(tuple(Ref(column) for column in columns), ids.of_type)
    assert folded(union, keys, fold).columns[: len(keys)] == keys
    made = tuple(ids.of_type(c.name, c.type) for c in state.columns)
    return states_of(union, keys, fold, (*keys, *made))


def is_near(one: Value, other: Value, mass: float) -> bool:
    if not isinstance(one, float) or not isinstance(other, float):
        return type(one) is type(other) and one == other
    if math.isnan(one) or math.isnan(other) or math.isinf(one) or math.isinf(other):
        return (math.isnan(one) and math.isnan(other)) or one == other
    return abs(one - other) <= 1e-9 * max(abs(one), mass)


def outcome(call: AggregateCall, keys: tuple[Column, ...], rows: list[Row]) -> dict | str:
    made = Column(ColumnId(900), "value", type_of(call))
    data = {"all": SourceData(NAMES, rows)}
    node = Aggregate(Scan("all", COLUMNS), keys, ((made, call),))
    try:
        return {row[:-1]: row[-1] for row in evaluate(node, Inputs(data, {}, 1))}
    except EvaluationError as error:
        return type(error).__name__


def values_in(
    call: AggregateCall, keys: tuple[Column, ...], rows: list[Row], group: Row
) -> list[Value]:
    """The values of a group that any may be taken of: without NULLs where they are skipped and
    there are others."""
    scan: Relation = Scan("all", COLUMNS)
    scan = scan if call.where is None else Filter(scan, call.where)
    scan = Project(scan, (*((k, Ref(k)) for k in keys), (PLACE, call.args[0])))
    of_group = [
        row[-1]
        for row in evaluate(scan, Inputs({"all": SourceData(NAMES, rows)}, {}, 1))
        if row[:-1] == group
    ]
    some = [value for value in of_group if value is not None]
    return (some if len(call.args) > 1 and some else of_group) or [None]


@pytest.mark.parametrize("known", WITH_STATES, ids=lambda f: f.name)
def test_states_of_parts_give_the_value_of_the_whole(known: AggregateFunction) -> None:
    calls = calls_of(known)
    assert calls, f"{known.name}: no arguments found that its state is right for"
    compared = 0
    for seed in range(CASES):
        rng = random.Random(f"{known.name}-{seed}")
        kind = rng.choice(tuple(KINDS))
        call, rows = rng.choice(calls), rows_of(rng, kind)
        keys = rng.choice(((), (GROUP,)))
        parts: list[list[Row]] = [[] for _ in range(rng.randint(1, 5))]
        for row in rows:
            rng.choice(parts).append(row)
        wanted = outcome(call, keys, rows)
        found = states_outcome(call, keys, parts, singly=rng.random() < 0.3)
        if isinstance(wanted, str) or isinstance(found, str):
            assert found == wanted, f"{call}, seed {seed}"
            continue
        if not keys and not rows and not found:
            continue  # without rows there are no states of single rows to merge
        assert len(found) == len(wanted)
        mass = 1e10 if kind == "any" else 1e3
        for row in found:
            value = wanted[row[:-1]]
            if known.answer is Answer.ANY:
                assert row[-1] in values_in(call, keys, rows, row[:-1]), f"{call}, seed {seed}"
                compared += 1
                continue
            assert is_near(value, row[-1], mass), f"{call}, seed {seed}: {value}, not {row[-1]}"
            compared += 1
    assert compared > CASES // 3


def test_the_oracle_knows_every_function_that_has_a_state() -> None:
    assert all(fold_of(known.name) for known in WITH_STATES)


@pytest.mark.parametrize("known", WITH_STATES, ids=lambda f: f.name)
def test_no_state_of_floating_point_numbers_takes_rows_back(known: AggregateFunction) -> None:
    if known.rounding is Rounding.NEVER:
        return
    real = tuple(Ref(REAL) for _ in range(known.arguments[0]))
    assert partial_state(AggregateCall(known.name, real), True) is Reason.RETRACTING_INPUT
