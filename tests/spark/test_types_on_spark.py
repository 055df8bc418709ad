"""Operators, casts and functions over columns of every kind: the planner takes what Spark takes,
and gives it the type that Spark gives it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from forerun.planner.algebra import signatures
from forerun.planner.algebra.aggregates.functions import is_aggregate
from tests.spark.typed_columns import TYPES, differing, make_table

pytestmark = pytest.mark.spark

OF_ONE = ("-{0}", "~{0}", "NOT {0}", "+{0}", "{0} IS NULL", "{0} IS TRUE")
OF_TWO = (
    "{0}+{1}", "{0}-{1}", "{0}*{1}", "{0}/{1}", "{0}%{1}", "{0} DIV {1}", "{0}&{1}", "{0}={1}",
    "{0}<{1}", "{0}<=>{1}", "{0}||{1}", "{0} AND {1}", "{0} IN ({1})", "{0} BETWEEN {1} AND {1}",
    "{0} LIKE {1}", "{0} RLIKE {1}", "CASE WHEN true THEN {0} ELSE {1} END", "{0} LIKE ANY ({1})",
    "{0}<<{1}", "{0} IS DISTINCT FROM {1}", "CASE {0} WHEN {1} THEN 1 END", "nullif({0}, {1})",
    "greatest({0}, {1})", "nvl({0}, {1})", "mod({0}, {1})",
)  # fmt: skip
KNOWN = {"a&a2", "a2&a", "a||a3", "a3||a", "a2||a3", "a3||a2"}
"""Planned and refused by Spark: what arrays hold is not compared. The judge finds it."""
_ARRAYS = {"a", "a2", "a3"}
_PAIRS = list(itertools.product(TYPES, repeat=2))
_ALIKE = {("greatest", "a"), ("greatest", "p"), ("array_contains", "a")}


@pytest.fixture(scope="module")
def session(spark) -> Any:
    make_table(spark.session)
    return spark.session


@pytest.mark.parametrize("form", OF_ONE)
def test_operators_of_one(session, form):
    assert not differing(session, [form.format(one) for one in TYPES])


@pytest.mark.parametrize("form", OF_TWO)
def test_operators_of_two(session, form):
    pairs = [pair for pair in _PAIRS if not (set(pair) <= _ARRAYS and len(set(pair)) == 2)]
    assert not differing(session, [form.format(*pair) for pair in pairs])


@pytest.mark.parametrize("word", ["CAST", "TRY_CAST"])
def test_casts(session, word):
    to = [t for t in TYPES.values() if "<" not in t]
    casts = [f"{word}({one} AS {t})" for one in TYPES for t in to if t != "VOID"]
    assert not differing(session, casts)


def _calls(names: list[str], count: int) -> list[str]:
    kinds = [name for name in TYPES if name not in ("a2", "a3")] if count == 2 else list(TYPES)
    return [
        f"{name}({', '.join(arguments)})"
        for name in names
        for arguments in itertools.product(kinds, repeat=count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("aggregated", [False, True])
def test_functions_of_the_table_take_what_spark_takes(session, part, aggregated):
    wrong = []
    for count, table in ((1, signatures.of_one()), (2, signatures.of_two())):
        names = sorted(n for n in table if is_aggregate(n) is aggregated and n not in OTHERWISE)
        wrong += differing(session, _calls(names[part::8], count), aggregated=aggregated)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("aggregated", [False, True])
def test_functions_take_beside_a_constant_what_spark_takes(session, aggregated):
    names = [n for n in sorted(signatures.of_first()) if is_aggregate(n) is aggregated]
    kinds = [name for name in TYPES if name not in ("a2", "a3")]
    calls = [f"{n}({kind}, {_constant_of(n)})" for n in names for kind in kinds if n not in ORDERED]
    assert not differing(session, calls, aggregated=aggregated)


ORDERED = ("percentile_cont", "percentile_disc")
"""Functions that are called with WITHIN GROUP."""


def _constant_of(name: str) -> str:
    if is_aggregate(name):
        return "5" if name == "histogram_numeric" else "0.5"
    if name.startswith(("to_", "xpath", "from_")):
        return {"t": "'999'", "x": "'a'", "f": "'a INT'"}[name[0]]
    return "true" if name == "sort_array" else "1"


@pytest.mark.parametrize("name", ["months_between", "array_join", "lpad", "regexp_extract"])
def test_functions_of_three_take_first_what_they_take_as_two(session, name):
    kinds = [kind for kind in TYPES if kind not in ("a2", "a3")]
    pairs = list(itertools.product(kinds, repeat=2))
    assert not differing(session, [f"{name}({a}, {b}, s)" for a, b in pairs])
    assert not differing(session, [f"{name}({a}, {a}, {third})" for a in kinds for third in kinds])


OTHERWISE = frozenset({"transform", "theta_sketch_agg"})
"""Spark takes what is no lambda for one that has no variables; and of arrays, which signatures tell
by one letter, a sketch takes those of whole numbers alone. (It is batch: the job says so.)"""
