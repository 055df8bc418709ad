"""The difference of two versions of a result."""

from __future__ import annotations

import pyarrow as pa
import pytest

from forerun.include.verify.row_diff import SchemaChangedError, counts, row_diff


def rows(*values: tuple[object, ...]) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([v[0] for v in values], pa.int64()),
            "x": pa.array([v[1] for v in values], pa.float64()),
        }
    )


def test_it_is_a_bag_with_weights():
    before = rows((1, 1.0), (1, 1.0), (1, 1.0), (2, None), (3, 3.0))
    after = rows((1, 1.0), (2, None), (2, None), (3, 4.0))
    diff = row_diff(before, after)
    assert diff.to_pylist() == [
        {"k": 1, "x": 1.0, "__w": -2},
        {"k": 2, "x": None, "__w": 1},
        {"k": 3, "x": 3.0, "__w": -1},
        {"k": 3, "x": 4.0, "__w": 1},
    ]
    assert counts(diff) == (2, 3)


def test_another_order_of_a_sum_is_no_difference():
    diff = row_diff(rows((1, 0.1 + 0.2), (2, float("nan"))), rows((2, float("nan")), (1, 0.3)))
    assert diff.num_rows == 0
    assert counts(diff) == (0, 0)


def test_versions_without_rows():
    assert row_diff(rows(), rows()).num_rows == 0
    assert row_diff(rows(), rows((1, 1.0))).column("__w").to_pylist() == [1]


def test_other_columns_are_no_difference_of_rows():
    with pytest.raises(SchemaChangedError, match="k"):
        row_diff(rows((1, 1.0)), rows((1, 1.0)).rename_columns(["key", "x"]))
