"""How many distinct values parts of a column have together: never more than they have."""

from __future__ import annotations

import random

import pytest

from forerun.include.sources.disjoint import PartOfColumn, least_distinct


def parts(values: list[list[int]]) -> list[PartOfColumn]:
    return [PartOfColumn(min(one), max(one), len(set(one))) for one in values]


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        ([[1, 2, 3], [4, 5]], 5),
        ([[1, 2, 3], [3, 5]], 4),
        ([[1, 2, 9], [1, 5]], 3),
        ([[5, 5], [5], [5]], 1),
        ([[1, 3], [2, 4, 6], [5, 7]], 4),
        ([], 0),
    ],
)
def test_parts_that_do_not_meet_add_up(values, distinct):
    assert least_distinct(parts(values)) == distinct


@pytest.mark.parametrize("seed", range(200))
def test_it_is_a_lower_bound_that_is_exact_for_sorted_rows(seed):
    rng = random.Random(seed)
    rows = [rng.randrange(rng.choice((4, 60))) for _ in range(rng.randrange(1, 80))]
    size = rng.randrange(1, 20)

    def chunks(of: list[int]) -> list[list[int]]:
        return [of[at : at + size] for at in range(0, len(of), size)]

    assert 1 <= least_distinct(parts(chunks(rows))) <= len(set(rows))
    assert least_distinct(parts(chunks(sorted(rows)))) == len(set(rows))


def test_parts_without_bounds_count_by_the_largest():
    known = parts([[1, 2], [3, 4]])
    assert least_distinct([*known, PartOfColumn(None, None, 3)]) == 4
    assert least_distinct([*known, PartOfColumn(None, None, 9)]) == 9
