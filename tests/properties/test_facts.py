"""Keys, functional dependencies and not-null columns that the planner derives, held against the
rows that every part of generated queries gives."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from forerun.planner.algebra.relational import Relation, walk
from forerun.planner.props.dependencies import Deriver, Facts
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import NotInterpretedError, Row, ScalarSubqueryError, row_key
from tests.properties.cases import Case, TableCase
from tests.properties.generate import random_case

CHUNKS = range(0, 400, 100)
MOST_ROWS = 9
"""Rows of a table: few, so that some columns are unique by chance, and can be declared as keys."""


def some_rows(rng: random.Random, table: TableCase) -> TableCase:
    rows = [row for part in table.deliveries for row in part]
    few = tuple(rng.sample(rows, min(len(rows), rng.randint(0, MOST_ROWS))))
    return replace(table, changing=False, deliveries=(few,), withdrawn=())


def declared_keys(table: TableCase) -> tuple[tuple[str, ...], ...]:
    """Columns, and pairs of them, of which no two rows have the same values."""
    names = [name for name, _ in table.columns]
    found = []
    for size in (1, 2):
        for places in combinations(range(len(names)), size):
            seen = {row_key(tuple(row[i] for i in places)) for row in table.rows(1)}
            if len(seen) == len(table.rows(1)):
                found.append(tuple(names[i] for i in places))
    return tuple(found)


def declared_not_null(table: TableCase) -> set[str]:
    return {
        name
        for place, (name, _) in enumerate(table.columns)
        if all(row[place] is not None for row in table.rows(1))
    }


class Judged:
    """A query whose parts are compared, part by part, with what is derived of them."""

    def __init__(self, case: Case, seed: int) -> None:
        rng = random.Random(seed)
        self.tables = {name: some_rows(rng, table) for name, table in case.tables.items()}
        self.keys = {name: declared_keys(table) for name, table in self.tables.items()}
        not_null = {name: declared_not_null(table) for name, table in self.tables.items()}
        self.deriver = Deriver(self.keys, not_null)
        sources = tuple(table.source(name) for name, table in self.tables.items())
        query = read_query(case.query.sql, sources)
        self.relations = [query.relation]
        self.relations.append(normalize(query.relation, sources, ColumnIds(query.last_id)))
        self.inputs = Inputs(
            {
                name: SourceData(tuple(n for n, _ in table.columns), table.rows(1))
                for name, table in self.tables.items()
            },
        )

    def check(self) -> tuple[int, int]:
        """How many dependencies and keys were held against rows."""
        found = [0, 0]
        for relation in self.relations:
            known: dict[int, Facts] = {}
            for node in walk_up(relation):
                inputs = tuple(known[id(child)] for child in node.inputs)
                known[id(node)] = of_node = self.deriver.of_node(node, inputs)
                try:
                    rows = evaluate(node, self.inputs)
                except (NotInterpretedError, ScalarSubqueryError, ArithmeticError, ValueError):
                    continue
                assert_holds(node, of_node, rows)
                if len(rows) > 1:
                    found[0] += len(of_node.dependencies)
                    found[1] += len(of_node.keys)
        return found[0], found[1]


def walk_up(relation: Relation) -> list[Relation]:
    """Every node after those below it."""
    return list(reversed(list(walk(relation))))


def assert_holds(node: Relation, known: Facts, rows: list[Row]) -> None:
    places = {column.id: place for place, column in enumerate(node.columns)}
    for key in known.keys:
        seen = {row_key(tuple(row[places[c]] for c in sorted(key))) for row in rows}
        assert len(seen) == len(rows), f"{node}: {sorted(key)} is no key of {rows}"
    for one in known.dependencies:
        by: dict[object, object] = {}
        for row in rows:
            given = row_key(tuple(row[places[c]] for c in sorted(one.given)))
            value = row_key(tuple(row[places[c]] for c in sorted(one.determined)))
            assert by.setdefault(given, value) == value, f"{node}: {one} does not hold in {rows}"
    for column in known.not_null & node.column_ids:
        assert all(row[places[column]] is not None for row in rows), f"{node}: {column} is NULL"


@pytest.mark.parametrize("start", CHUNKS)
def test_what_is_derived_holds_of_the_rows(start: int) -> None:
    dependencies = derived_keys = 0
    for seed in range(start, start + 100):
        case = random_case(seed)
        try:
            judged = Judged(case, seed)
        except NotInterpretedError:
            continue
        try:
            some, more = judged.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {case.query.sql}\n{error}") from error
        dependencies, derived_keys = dependencies + some, derived_keys + more
    assert dependencies > 500
    assert derived_keys > 200
