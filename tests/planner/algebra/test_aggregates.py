"""The table of aggregate functions: one name, fingerprint and cost for what is one function."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from forerun.planner.algebra.aggregates.functions import TABLE, canonical, function, is_aggregate
from forerun.planner.algebra.aggregates.functions import partial_state as state_of
from forerun.planner.algebra.aggregates.states import State
from forerun.planner.algebra.fingerprint import fingerprint
from forerun.planner.algebra.relational import Aggregate, AggregateCall, walk
from forerun.planner.algebra.scalar import TRUE, Call, Ref
from forerun.planner.algebra.types import BOOLEAN, STRING, Column, ColumnId
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import SPARK
from forerun.planner.errors import Reason, SqlError, UnknownFunctionError
from forerun.planner.sql.frontend import read_query
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
