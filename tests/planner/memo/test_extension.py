"""An operator and its rules from outside: an algebra node, what each pass has to know of it, and
rules. Memo, search, temporal, materialize and stages are as they are. An operator that a pass has
not been told about is an error in that pass, never a guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from forerun.planner import api
from forerun.planner.algebra import relational
from forerun.planner.algebra.describe import phrase, words_of
from forerun.planner.algebra.dispatch import PASSES
from forerun.planner.algebra.fingerprint import canonical, node_text
from forerun.planner.algebra.node import Relation, Unary
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import Aggregate, Scan, StateRead, UnionAll, Values, rewrite
from forerun.planner.algebra.types import BIGINT, STRING, Column, ColumnId
from forerun.planner.contract import ArtifactOutput, Family
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import SPARK
from forerun.planner.cost.told_sizes import told_bytes
from forerun.planner.errors import UnknownOperatorError
from forerun.planner.lifting.operators import lift
from forerun.planner.materialize import portfolio
from forerun.planner.memo.memo import Memo
from forerun.planner.props import repeatable
from forerun.planner.props.dependencies import Facts, dependencies_of
from forerun.planner.props.emptiness import is_empty
from forerun.planner.props.keys import NO_KEYS, keys, keys_of_leaf, keys_of_node
from forerun.planner.props.lineage import lineage
from forerun.planner.props.nullability import not_null, not_null_of
from forerun.planner.props.source_rows import source_rows_of
from forerun.planner.request import Committed, PlanRequest, Settings, Source, TimePoint
from forerun.planner.rules.incremental.memo_rules import memo_rule
from forerun.planner.rules.incremental.rule import Applies, DeltaRule, Input, Versions
from forerun.planner.rules.methods.catalog import AUTO
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.rules.normalize.identity import made_by, rebuilt
from forerun.planner.rules.normalize.prune import needed_below, prune_columns, pruned, read_by
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.sql.printing.printer import block_of, to_sql
from forerun.planner.stats.estimate import Estimator, estimate_of
from forerun.planner.tvr.signed import ColumnIds, Signed
from tests.oracles import interpreter
from tests.oracles.bags import compare_bags
from tests.planner.starts import OPEN
from tests.properties.cases import TableCase
from tests.properties.engines import InterpreterEngine


@dataclass(frozen=True, eq=False)
class Twice(Unary):
    """Every row of the input twice."""

    input: Relation


@dataclass(frozen=True, eq=False)
class Undeclared(Unary):
    """An operator that no pass has been told about."""

    input: Relation


node_text.register(Twice)(lambda _: "twice")
phrase.register(Twice)(lambda node, words: f"doubled {words.noun(node.input)}")
keys_of_node.register(Twice)(lambda *_: NO_KEYS)
not_null_of.register(Twice)(lambda _, inputs, __: inputs[0])
dependencies_of.register(Twice)(lambda _, inputs: inputs[0].dependencies)
repeatable.of_node.register(Twice)(lambda _, below, __: below[0])
estimate_of.register(Twice)(lambda _, below, __: replace(below[0], rows=2.0 * below[0].rows))
told_bytes.register(Twice)(lambda _, below, __: 2.0 * below[0])
operators.plain.register(Twice)(lambda _, __, size, prices: size.rows * prices.output_row)
pruned.register(Twice)(lambda node, _: node)
read_by.register(Twice)(lambda _: frozenset())
made_by.register(Twice)(lambda _: ())
rebuilt.register(Twice)(lambda node, below, *_: node.with_inputs(below))
block_of.register(Twice)(
    lambda node, printer: printer.open(UnionAll((node.input, node.input), node.columns))
)


def applies(node: Relation, inputs: tuple[Input, ...]) -> Applies:
    return Applies(signed=inputs[0].signed)


def delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    came = inputs[0].delta()
    return Signed(Twice(came.relation), came.weight)


def as_union(match: Match) -> bool:
    node = match.expression.node
    assert isinstance(node, Twice)
    both = UnionAll((node.input, node.input), node.columns)
    match.memo.equate(match.expression.group, both, "TwiceIsUnion")
    return True


DELTA = memo_rule(
    DeltaRule("TwiceDelta", Twice, applies, "d(twice(R)) = twice(dR), linear.", delta)
)
UNION = MemoRule("TwiceIsUnion", Twice, as_union, "What the word means, as an alternative.")
TABLES = {
    "sales": TableCase(
        (("g", "STRING"), ("x", "BIGINT")),
        True,
        ((("a", 1), ("b", None), (None, 5)), (("a", 1), ("b", 7)), (("c", 2),)),
    )
}
SQL = "SELECT g, sum(x) AS s, count(*) AS n FROM sales WHERE x IS NULL OR x > 0 GROUP BY g"
TWICE = (
    "SELECT g, sum(x) AS s, count(*) AS n FROM (SELECT * FROM sales UNION ALL SELECT * FROM sales)"
    " t WHERE x IS NULL OR x > 0 GROUP BY g"
)


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grouped rows come twice; the catalog knows the rules of the operator."""
    read = api.read_query

    def read_query(sql: str, sources: tuple[Source, ...], **more: object):
        def doubled(node: Relation) -> Relation:
            return replace(node, input=Twice(node.input)) if isinstance(node, Aggregate) else node

        query = read(sql, sources, **more)
        return replace(query, relation=rewrite(query.relation, doubled))

    monkeypatch.setattr(api, "read_query", read_query)
    both = lambda node, visit, _: visit(node.input) * 2  # noqa: E731 - the oracle's definition
    monkeypatch.setitem(interpreter._HANDLERS, Twice, both)
    monkeypatch.setattr(portfolio, "AUTO", replace(AUTO, rules=(*AUTO.rules, DELTA, UNION)))


def planned(run: int, committed: list[Committed]) -> api.PlanResult:
    weights = ((0.2, 0.5), (0.3, 0.8), (1.0, 1.0))
    return api.plan(
        PlanRequest(
            report="toy",
            sql=SQL,
            sources=tuple(table.source(name) for name, table in TABLES.items()),
            points=tuple(TimePoint(weight=w, arrived=a) for w, a in weights),
            current=run,
            committed=tuple(committed),
            settings=Settings(temporal="early", prices=OPEN),
        )
    )


def test_a_new_operator_is_planned_kept_and_right(twice: None) -> None:
    engine, committed = InterpreterEngine(), []
    kept: dict[str, list[tuple[object, ...]]] = {}
    sales = TABLES["sales"]
    with engine.recording():
        for run in (1, 2, 3):
            found = planned(run, committed)
            assert {"TwiceDelta", "TwiceIsUnion"} <= {n for n, c in found.trace.found.items() if c}
            rows = sales.rows(run)
            engine.bind("sales", sales.columns, rows)
            engine.bind("sales__delta", sales.columns, rows[len(sales.rows(run - 1)) :])
            families = run_stages(found, engine, kept)
            committed.append(Committed(index=run, families=families))
    assert kept, "what is above the operator was kept, from its deltas"
    result = engine.query(found.plan.run.stages[-1].sql)
    wanted = InterpreterEngine()
    wanted.bind("sales", sales.columns, sales.rows(3))
    compare_bags(wanted.query(TWICE), result)


def run_stages(
    found: api.PlanResult, engine: InterpreterEngine, kept: dict[str, list[tuple[object, ...]]]
) -> tuple[Family, ...]:
    """What the current run keeps; the families that it wrote."""
    written = []
    for stage in found.plan.run.stages:
        for family in found.plan.families:
            columns = (*((c.name, c.type) for c in family.columns), ("__run", "INT"))
            engine.bind(family.id, columns, kept.get(family.id, []))
        if isinstance(stage.output, ArtifactOutput):
            rows = engine.query(stage.sql)
            kept.setdefault(stage.output.family, []).extend(
                (*row, found.plan.current) for row in rows
            )
            written.append(found.plan.family(stage.output.family))
    return tuple(written)


def test_without_its_rule_it_waits_for_a_reason(twice: None, monkeypatch) -> None:
    monkeypatch.setattr(portfolio, "AUTO", AUTO)
    found = planned(1, [])
    waiting = {item.operator: item.reason for item in found.plan.not_incremental}
    assert waiting["Twice"] == "operator-without-delta-rule"


SCAN = Scan("sales", (Column(ColumnId(1), "g", STRING), Column(ColumnId(2), "x", BIGINT)))
STRANGE = Undeclared(SCAN)
SOURCES = [table.source(name) for name, table in TABLES.items()]
DOORS: dict[str, Callable[[], object]] = {
    "fingerprint": lambda: canonical(STRANGE),
    "description": lambda: words_of(STRANGE).of(STRANGE),
    "keys": lambda: keys(STRANGE, {"sales": (("g",),)}),
    "nullability": lambda: not_null(STRANGE, {}),
    "dependencies": lambda: dependencies_of(STRANGE, (Facts(),)),
    "repeatability": lambda: Memo(frozenset({"sales"})).add(STRANGE),
    "estimate": lambda: Estimator(SOURCES).rows(STRANGE),
    "cost": lambda: operators.plain(STRANGE, (Size(1, 8),), Size(1, 8), SPARK),
    "told size": lambda: told_bytes(STRANGE, (8.0,), {}),
    "pruning": lambda: prune_columns(STRANGE),
    "columns that are read": lambda: needed_below(STRANGE, frozenset()),
    "columns that are made": lambda: normalize(STRANGE, SOURCES, ColumnIds(100)),
    "renaming": lambda: rebuilt(STRANGE, (SCAN,), {}, {}),
    "SQL": lambda: to_sql(STRANGE),
    "lineage": lambda: lineage(STRANGE),
    "source rows": lambda: source_rows_of(STRANGE, ((),)),
    "keys of leaves": lambda: keys_of_leaf(STRANGE, {}, {}),
    "emptiness": lambda: is_empty(STRANGE, (False,), ()),
    "lifting": lambda: lift(STRANGE, ["sales"], 2, ColumnIds(100)),
}


def test_every_pass_is_looked_at() -> None:
    assert set(DOORS) == set(PASSES)


@pytest.mark.parametrize("name", DOORS)
def test_an_operator_that_declares_nothing_raises(name: str) -> None:
    with pytest.raises(UnknownOperatorError, match=f"the pass {name} does not know .* Undeclared"):
        DOORS[name]()


@pytest.mark.parametrize("name", DOORS)
def test_every_operator_of_the_algebra_is_known(name: str) -> None:
    found = [c for c in vars(relational).values() if isinstance(c, type)]
    algebra = {c for c in found if issubclass(c, Relation) and c.__module__ == relational.__name__}
    algebra.add(Recursion)
    leaves: set[type[Relation]] = {Scan, StateRead, Values}
    wanted = algebra
    if name == "keys of leaves":
        wanted = leaves | {Recursion}  # one of constants reads nothing
    elif name in ("keys", "dependencies"):
        wanted = algebra - leaves
    elif name in ("estimate", "told size"):
        wanted = algebra - {StateRead}  # rows of families are counted
    assert not {c.__name__ for c in wanted if not PASSES[name].knows(c)}


def test_a_pass_is_told_once() -> None:
    with pytest.raises(ValueError, match="knows Twice already"):
        node_text.register(Twice)(lambda _: "twice")
