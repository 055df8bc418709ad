"""An operator and its rules from outside: an algebra node, its SQL, and rules. Memo, search,
temporal, materialize and stages are as they are; statistics and cost have something to say about
any operator that hands rows on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from planner import api
from planner.algebra.fingerprint import node_text
from planner.algebra.node import Relation, Unary
from planner.algebra.relational import Aggregate, UnionAll, rewrite
from planner.contract import ArtifactOutput, Family
from planner.materialize import methods
from planner.request import Committed, PlanRequest, Settings, Source, TimePoint
from planner.rules.incremental.rule import Applies, Input, Rule, Versions
from planner.rules.methods.catalog import AUTO
from planner.search.incremental import memo_rule
from planner.search.rule import Match, MemoRule
from planner.sql.block import Block
from planner.sql.printer import Printer
from planner.tvr.signed import ColumnIds, Signed
from tests.oracles import interpreter
from tests.oracles.bags import compare_bags
from tests.properties.cases import TableCase
from tests.properties.engines import InterpreterEngine


@dataclass(frozen=True, eq=True)
class Twice(Unary):
    """Every row of the input twice."""

    input: Relation
    __hash__ = Relation.__hash__


@node_text.register
def _(node: Twice) -> str:
    return "twice"


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


DELTA = memo_rule(Rule("TwiceDelta", Twice, applies, "d(twice(R)) = twice(dR), linear.", delta))
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
    """The grouped rows come twice; the printer knows the operator, the catalog its rules."""
    read, opened = api.read_query, Printer.open

    def read_query(sql: str, sources: tuple[Source, ...]):
        def doubled(node: Relation) -> Relation:
            return replace(node, input=Twice(node.input)) if isinstance(node, Aggregate) else node

        query = read(sql, sources)
        return replace(query, relation=rewrite(query.relation, doubled))

    def open_(self: Printer, node: Relation) -> Block:
        both = UnionAll((node.input, node.input), node.columns) if isinstance(node, Twice) else node
        return opened(self, both)

    monkeypatch.setattr(api, "read_query", read_query)
    monkeypatch.setattr(Printer, "open", open_)
    both = lambda node, visit, _: visit(node.input) * 2  # noqa: E731 - the oracle's definition
    monkeypatch.setitem(interpreter._HANDLERS, Twice, both)
    monkeypatch.setattr(methods, "AUTO", replace(AUTO, rules=(*AUTO.rules, DELTA, UNION)))


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
            settings=Settings(temporal="early", run_cost=0.0),
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
    monkeypatch.setattr(methods, "AUTO", AUTO)
    found = planned(1, [])
    waiting = {item.operator: item.reason for item in found.plan.not_incremental}
    assert waiting["Twice"] == "operator-without-delta-rule"
