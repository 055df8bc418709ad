"""Small and capital letters are the same to Spark, outside of quotes."""

from __future__ import annotations

import re

import pytest

from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from tests.datadriven import Block
from tests.planner.sql import tables
from tests.planner.sql.constructs import CONSTRUCTS
from tests.properties.text_grammar import folded

_QUOTED = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'")
_CALLED = re.compile(r" AS `\w*`|_\d+|\s+")
ONE_CASE = "COUNT(q.*)"
"""Spark takes it in capitals alone."""


@pytest.mark.parametrize(
    "block", [one for one in CONSTRUCTS if ONE_CASE not in one.values[0].input]
)
def test_a_query_in_capitals_is_the_query_in_small_letters(block: Block) -> None:
    """But for how columns and fields are called, which stands in quotes of ours."""
    small, capitals = folded(block.input, str.lower), folded(block.input, str.upper)
    assert _read(small) == _read(capitals)


def _read(text: str) -> str:
    query = read_query(text, tables.SOURCES)
    printed = to_sql(query.relation, names=query.names)
    return _CALLED.sub("", _QUOTED.sub(lambda name: name[0].lower(), printed))
