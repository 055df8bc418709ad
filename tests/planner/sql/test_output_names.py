"""A published table has each column name once, whatever its case; queries may repeat them."""

from __future__ import annotations

import pytest

from forerun.planner.sql.frontend import read_query
from tests.planner.sql import tables


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select a, b from t", ("a", "b")),
        ("select a, a from t", ("a", "a_2")),
        ("select a, b as A, c as a from t", ("a", "A_2", "a_3")),
        ("select a, b as a, c as a_2 from t", ("a", "a_3", "a_2")),
        ("select * from s, r", ("k", "v", "w", "x", "y", "k_2", "v_2", "w_2")),
        ("select q.k from (select s.k, r.v from s, r) q", ("k",)),
    ],
)
def test_later_columns_of_a_name_are_numbered(sql, names):
    assert read_query(sql, tables.SOURCES).names == names
