"""The table of aggregate functions: one name, fingerprint and cost for what is one function."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from forerun.planner.algebra.aggregates.functions import canonical, function, is_aggregate
from forerun.planner.algebra.aggregates.functions import partial_state as state_of
from forerun.planner.algebra.aggregates.states import State
from forerun.planner.algebra.aggregates.table import TABLE
from forerun.planner.algebra.fingerprint import fingerprint
from forerun.planner.algebra.relational import Aggregate, AggregateCall, walk
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, STRING, Column, ColumnId
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import SPARK
from forerun.planner.errors import Reason, SqlError, UnknownFunctionError
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.meta.sources import modules, tree
from tests.planner.sql import tables

SYNONYMS = [(synonym, known.name) for known in TABLE for synonym in known.synonyms]
ARGUMENTS = {"bool_and": "h", "bool_or": "h", "percentile_approx": "a, 0.5", "listagg": "c"}


def aggregate(text: str) -> Aggregate:
    relation = read_query(f"SELECT c, {text} AS x FROM t GROUP BY c", tables.SOURCES).relation
    return next(node for node in walk(relation) if isinstance(node, Aggregate))


@pytest.mark.parametrize(("synonym", "name"), SYNONYMS)
def test_synonyms_are_one_function(synonym: str, name: str) -> None:
    given = ARGUMENTS.get(name, "a")
    one, other = (aggregate(f"{n}({given})") for n in (synonym, name))
    assert [call.name for _, call in one.calls] == [name]
    assert fingerprint(one) == fingerprint(other)
    size = Size(1000.0, 8.0)
    one_cost, other_cost = (operators.plain(n, (size,), size, SPARK) for n in (one, other))
    assert one_cost == other_cost


def test_names_are_said_once() -> None:
    names = Counter(name for known in TABLE for name in (known.name, *known.synonyms))
    assert [name for name, count in names.items() if count > 1] == []
    assert canonical("mean") == "avg"
    assert canonical("avg") == "avg"
    assert not is_aggregate("upper")


def test_an_unknown_function_raises() -> None:
    with pytest.raises(UnknownFunctionError, match="no_such_function"):
        function("no_such_function")


@pytest.mark.parametrize("text", ["avg(a, b)", "corr(a)", "bool_or(h, h)", "sum()", "avg(*)"])
def test_the_number_of_arguments_is_checked(text: str) -> None:
    with pytest.raises(SqlError):
        aggregate(text)


def test_the_functions_that_a_record_names_are_in_the_table() -> None:
    for known in TABLE:
        for name in (known.merged_by, known.same_rows, *known.computed_of):
            assert name is None or function(name).name == name


def test_what_depends_on_the_order_of_rows_has_no_state() -> None:
    """What chooses among rows of which any will do has one, and what chooses among ties."""
    x = Ref(Column(ColumnId(1), "x", STRING))
    known = Call("isnotnull", (x,), BOOLEAN)
    for name, args in (("any_value", (x,)), ("max_by", (x, x)), ("any_value", (x, TRUE))):
        assert isinstance(state_of(AggregateCall(name, args), False), State)
    assert isinstance(state_of(AggregateCall("any_value", (x,), where=known), False), State)
    assert state_of(AggregateCall("first", (x,)), False) is Reason.NOT_DETERMINISTIC


@pytest.mark.parametrize(
    ("name", "merged", "sized"),
    [
        ("theta_sketch_agg", "theta_union_agg", True),
        ("theta_union_agg", "theta_union_agg", True),
        ("kll_sketch_agg_bigint", "kll_merge_agg_bigint", True),
        ("hll_sketch_agg", "hll_union_agg", False),
        ("approx_top_k", "approx_top_k_combine", True),
    ],
)
def test_sketches_are_merged_at_the_size_that_the_call_says(name, merged, sized) -> None:
    """But for the union of HyperLogLog sketches, which takes the size of what it merges."""
    x, size = Ref(Column(ColumnId(1), "x", BIGINT)), Literal("14", INT)
    args = (x, Literal("3", INT), size) if name == "approx_top_k" else (x, size)
    state, ids = state_of(AggregateCall(name, args), False), ColumnIds(10)
    assert isinstance(state, State)
    kept = tuple(Ref(ids.of_type(one.name, one.type)) for one in state.columns)
    ((_, call),) = state.merge(kept, ids.of_type).calls
    assert call == AggregateCall(merged, (*kept, size) if sized else kept)


def said(node: ast.AST) -> Iterator[str]:
    """Strings that a comparison, a set or a mapping has as its own parts."""
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Dict):
        parts = list(node.keys)
    elif isinstance(node, ast.Set):
        parts = [node]
    for part in parts:
        inner = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
        yield from (str(c.value) for c in inner if isinstance(c, ast.Constant))


def test_no_pass_tests_a_name() -> None:
    """Comparisons with, and collections of, names of aggregate functions stand in the table alone.
    ``any`` and ``some`` are words of SQL too, and ``grouping`` is of GROUPING SETS."""
    others = {"any", "some", "grouping", "grouping_id"}
    names = {name for known in TABLE for name in (known.name, *known.synonyms)} - others
    found = [
        f"{path}:{node.lineno}: {name}"
        for path in modules("planner")
        if path.parent.name != "aggregates"
        for node in ast.walk(tree(path))
        for name in sorted(names & set(said(node)))
    ]
    assert not found, "\n".join(found)
