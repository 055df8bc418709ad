"""Predicates counted in a sample, held against the row interpreter: of a sample that is the whole
table, what passes is what the interpreter lets pass, row for row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from forerun.planner.algebra.relational import Filter, Scan, walk
from forerun.planner.algebra.scalar import conjuncts
from forerun.planner.request import SampleValue
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.sample import Sample
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import EvaluationError, NotInterpretedError
from tests.properties.cases import Case
from tests.properties.chunks import starts
from tests.properties.generate import random_case

CASES, CHUNK, FAST = 1000, 200, 200


def sampled(value: Any) -> SampleValue:
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


def counted(case: Case) -> tuple[int, int]:
    """How many predicates over tables there are, and how many a sample can tell."""
    query = read_query(case.query.sql, case.sources)
    relation = normalize(query.relation, case.sources, ColumnIds(query.last_id))
    found = told = 0
    for node in walk(relation):
        if not isinstance(node, Filter) or not isinstance(node.input, Scan):
            continue
        scan, table = node.input, case.tables[node.input.source]
        names, rows = tuple(name for name, _ in table.columns), table.rows(case.runs)
        inputs = Inputs({scan.source: SourceData(names, rows)})
        places = [names.index(column.name) for column in scan.scanned]
        columns = {
            column.id: [sampled(row[place]) for row in rows]
            for column, place in zip(scan.scanned, places, strict=True)
        }
        for part in conjuncts(node.predicate):
            try:
                passed = evaluate(Filter(scan, part), inputs)
            except (EvaluationError, NotInterpretedError):
                continue
            found += 1
            here = Sample(len(rows), columns).where(part)
            if here is None:
                continue
            told += 1
            kept = [tuple(here.columns[c.id][i] for c in scan.scanned) for i in range(here.size)]
            expected = [tuple(sampled(value) for value in row) for row in passed]
            assert repr(kept) == repr(expected), f"{case.name}: {part}"
    return found, told


@pytest.mark.parametrize("start", starts(40_000, CASES, CHUNK, fast=FAST))
def test_a_sample_lets_pass_what_the_interpreter_does(start):
    counts = [counted(random_case(seed)) for seed in range(start, start + CHUNK)]
    found, told = (sum(column) for column in zip(*counts, strict=True))
    assert found >= CHUNK / 4
    assert told >= 0.9 * found
