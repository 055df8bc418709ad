"""Golden normal forms, one file per rule family.

``norm`` prints the normalized query. ``expect`` names rules that must have fired, ``expect-not``
rules that must not. Every case is also evaluated on rows with NULLs and duplicates, before and
after.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.text import format_relation
from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.normalize import driver
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.datadriven import Block, Case, cases, check, read_blocks
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import EvaluationError, NotInterpretedError, Row

FILES = sorted(Path(__file__).parent.glob("*.test"))
TABLES = {
    "r": "k int, v int, t string", "s": "k int, w int, u string", "q": "k int, x int",
    "n": "k int, d struct<os:string,at:struct<x:int>>, m map<string,int>, l array<int>",
    "g": "k int, items array<struct<a:int,b:int,c:struct<x:int,y:string>>>",
}  # fmt: skip
SIZES = {"r": 10_000, "s": 1_000, "q": 100, "n": 5_000, "g": 5_000}
VALUES = {
    "int": (None, 0, 1, 1, 2, 3),
    "string": (None, "a", "b", "1"),
    "struct<os:string,at:struct<x:int>>": (None, ("a", None), (None, (1,)), ("b", (2,))),
    "map<string,int>": (None, (), (("a", 1),), (("a", None), ("b", 3))),
    "array<int>": (None, (), (1,), (2, None)),
    "array<struct<a:int,b:int,c:struct<x:int,y:string>>>": (
        None,
        (),
        (None,),
        ((1, 2, (3, "a")), (None, 2, None)),
        ((1, 1, (None, "b")),),
    ),
}
RULES = (*driver.PUSH, *driver.IMPLY, *driver.KEYS, *driver.CLEAN)
PASSES = (
    "UniqueColumns",
    "DropInnerSorts",
    "CountSides",
    "ReorderJoins",
    "DetermineChoices",
    "ReadGeneratedLeaves",
    "ReadLeaves",
    "PruneColumns",
    "ShareRepeated",
)


def columns_of(table: str) -> list[tuple[str, str]]:
    return [(c, t) for c, _, t in (part.partition(" ") for part in TABLES[table].split(", "))]


SOURCES = tuple(
    Source(
        name=name,
        columns=tuple(SourceColumn(name=c, type=parse_type(t)) for c, t in columns_of(name)),
        rows=SIZES[name],
    )
    for name in TABLES
)


def random_inputs(seed: int) -> Inputs:
    rng = random.Random(seed)
    data = {}
    for name in TABLES:
        columns = columns_of(name)
        rows: list[Row] = [
            tuple(rng.choice(VALUES[t]) for _, t in columns) for _ in range(rng.randint(0, 6))
        ]
        data[name] = SourceData(tuple(c for c, _ in columns), [], rows)
    return Inputs(data)


def check_answer(before: Relation, after: Relation) -> None:
    for seed in range(20):
        inputs = random_inputs(seed)
        try:
            expected = evaluate(before, inputs)
        except (EvaluationError, NotInterpretedError):
            continue
        compare_bags(expected, evaluate(after, inputs))


def norm(block: Block) -> str:
    query = read_query(block.input, SOURCES)
    fired: Counter[str] = Counter()
    result = normalize(
        query.relation,
        SOURCES,
        ColumnIds(query.last_id),
        lambda name, _before, _after: fired.update([name]),
    )
    for name in block.listed("expect"):
        assert fired[name], f"line {block.line}: {name} did not fire, but {dict(fired)}"
    for name in block.listed("expect-not"):
        assert not fired[name], f"line {block.line}: {name} fired"
    check_answer(query.relation, result)
    return format_relation(result)


@pytest.mark.parametrize("case", cases(FILES))
def test_normal_forms(case: Case, accept: bool) -> None:
    check(case, norm, accept=accept)


def test_every_rule_has_a_case_for_it_and_one_against_it() -> None:
    blocks = [block for path in FILES for block in read_blocks(path)]
    names = {rule.name for rule in RULES} | set(PASSES)
    assert names - {n for block in blocks for n in block.listed("expect")} == set()
    assert names - {n for block in blocks for n in block.listed("expect-not")} == set()


def test_every_rule_states_its_law() -> None:
    for rule in RULES:
        text = rule.apply.__doc__ or ""
        assert text.startswith("``"), f"{rule.name} has no law in its docstring"
