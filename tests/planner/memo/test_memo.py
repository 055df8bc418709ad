"""The memo: deduplication, merging with all that follows, and what holds after every rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    Version,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, equals
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.explain.memo import text
from forerun.planner.memo.groups import Expression, Role, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.tree import groups_of
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.incremental.memo_rules import TVR_GENERATING
from forerun.planner.rules.methods.catalog import AUTO
from forerun.planner.rules.methods.positive_negative import IM2
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.search.engine import RuleEngine
from forerun.planner.search.rule import MemoRule
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.datadriven import Block, Case, cases, check
from tests.planner.memo.invariants import check_memo
from tests.planner.sql.tpch import SOURCES as TPCH

FIGURE_4 = (*TVR_GENERATING, *IM2)
"""The rules of the paper's figure."""
GOLDENS = sorted(Path(__file__).parent.glob("*.test"))
QUERIES = sorted((Path(__file__).parents[2] / "tpch").glob("q*.sql"))
A, B, C = (Column(ColumnId(i), name, BIGINT) for i, name in enumerate("abc", 1))


def scan(name: str, *columns: Column) -> Scan:
    return Scan(name, columns)


def positive(column: Column, relation: Relation) -> Relation:
    return Filter(relation, Call(">", (Ref(column), Literal("0", BIGINT)), BOOLEAN))


def test_the_same_relation_is_one_group() -> None:
    memo = Memo(frozenset({"t"}))
    join = Join(JoinKind.INNER, scan("t", A), scan("u", B), equals(A, B))
    assert memo.add(join) == memo.add(join)
    assert len(memo.groups) == len(memo.tvrs) == 3
    static = memo.tvr_of(memo.add(scan("u", B)))
    assert static is not None
    assert not static.changing
    check_memo(memo)


def test_groups_that_are_equal_are_merged_with_their_parents() -> None:
    memo = Memo(frozenset({"t"}))
    one, other = positive(A, scan("t", A)), Project(scan("t", A), ((A, Ref(A)),))
    above_one, above_other = positive(A, one), positive(A, other)
    top_one, top_other = memo.add(above_one), memo.add(above_other)
    assert memo.leader(top_one) != memo.leader(top_other)
    memo.equate(memo.add(one), other, "because")
    assert memo.leader(top_one) == memo.leader(top_other), "so are expressions over them"
    assert memo.tvr_of(top_one) is memo.tvr_of(top_other)
    check_memo(memo)


def test_merging_groups_joins_what_is_known_of_their_tvrs() -> None:
    memo = Memo(frozenset({"t"}))
    once = positive(A, scan("t", A))
    more = Call(">=", (Ref(A), Literal("1", BIGINT)), BOOLEAN)
    same = Filter(scan("t", A), more)
    one, other = memo.add(once), memo.add(same)
    first, second = memo.tvr_of(one), memo.tvr_of(other)
    assert first is not None
    assert second is not None
    delta = Scan("t", (A,), Version.DELTA)
    memo.link(second, Version.DELTA, View.ROWS, positive(A, delta), "delta")
    memo.relate(second, Role.POSITIVE, first.id)
    memo.equate(one, same, "because")
    merged = memo.tvr_of(other)
    assert merged is first
    assert merged.has_delta
    assert (Role.POSITIVE, None) in merged.roles
    check_memo(memo)


@pytest.mark.parametrize("signed_first", [True, False])
def test_merging_tvrs_takes_a_weight_only_with_its_delta(signed_first: bool) -> None:
    """A weight is a column of the delta that it came with: with another delta it means nothing."""
    memo = Memo(frozenset({"t"}))
    once = positive(A, scan("t", A))
    same = Filter(scan("t", A), Call(">=", (Ref(A), Literal("1", BIGINT)), BOOLEAN))
    groups = [memo.add(once), memo.add(same)]
    signed, plain = (memo.tvr_of(one) for one in (groups if signed_first else groups[::-1]))
    assert signed is not None
    assert plain is not None
    delta = positive(A, Scan("t", (A,), Version.DELTA))
    memo.link(plain, Version.DELTA, View.ROWS, delta, "delta")
    weight = Column(ColumnId(99), "__w", BIGINT)
    rows = Project(delta, ((A, Ref(A)), (weight, Literal("1", BIGINT))))
    memo.link(signed, Version.DELTA, View.ROWS, rows, "signed")
    signed.weight = weight
    whole = Project(once, ((A, Ref(A)), (weight, Literal("1", BIGINT))))
    memo.link(signed, Version.NEW, View.WEIGHTED, whole, "signed")
    memo.equate(groups[0], same, "because")
    merged = memo.tvr_of(groups[1])
    assert merged is not None
    columns = memo.group(merged.edges[Version.DELTA, View.ROWS]).columns
    assert (weight in columns) == (merged.weight == weight) == signed_first
    assert ((Version.NEW, View.WEIGHTED) in merged.edges) == signed_first
    check_memo(memo)


def test_who_reads_a_memo_adds_nothing_to_it() -> None:
    memo = Memo(frozenset({"t"}))
    group = memo.add(positive(A, scan("t", A)))
    count = len(memo.expressions)
    node = next(memo.alternatives(group)).node
    assert memo.find(node) == group
    assert groups_of(memo, positive(A, scan("t", A)))
    assert memo.find(scan("u", B)) is None
    with pytest.raises(ValueError, match="is in no group"):
        groups_of(memo, positive(B, scan("u", B)))
    with pytest.raises(TypeError, match="is no reference"):
        memo.find(positive(A, scan("t", A)))
    assert len(memo.expressions) == count


def test_a_relation_of_other_columns_is_not_equal() -> None:
    memo = Memo(frozenset({"t"}))
    with pytest.raises(ValueError, match="columns"):
        memo.equate(memo.add(scan("t", A)), scan("u", B), "because")


def explored(
    sql: str,
    sources: tuple[Source, ...],
    rules: tuple[MemoRule, ...] = AUTO.rules,
    *,
    watched: bool = False,
) -> Memo:
    query = read_query(sql, sources)
    ids = ColumnIds(query.last_id)
    memo = Memo(frozenset(s.name for s in sources if s.changing))
    memo.add(normalize(query.relation, sources, ids))

    def observe(rule: MemoRule, expression: Expression) -> None:
        try:
            check_memo(memo)
        except AssertionError as error:
            where = f"after {rule.name} at expression {expression.id}"
            raise AssertionError(f"{where}: {error}") from error

    trace = RuleEngine(memo, rules, ids, 20_000, observe if watched else None).run()
    assert not trace.spent
    return memo


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_invariants_hold_after_every_rule(path: Path) -> None:
    memo = explored(path.read_text(), TABLES, watched=True)
    assert any(tvr.has_delta for tvr in memo.tvrs)
    check_memo(memo)


TABLES = tuple(replace(s, changing=s.name not in ("nation", "region")) for s in TPCH)
SALES = tuple(
    Source(
        name=name,
        columns=tuple(SourceColumn(name=c, type=BIGINT) for c in columns),
        changing=True,
        rows=rows,
    )
    for name, columns, rows in (
        ("sales", ("o_id", "category", "price"), 1000),
        ("returns", ("o_id", "cost"), 100),
    )
)


@pytest.mark.parametrize("case", cases(GOLDENS))
def test_golden(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        return text(explored(block.input, SALES, FIGURE_4))

    check(case, run, accept=accept)
