"""The comparator of results: what it must accept and, above all, what it must refuse."""

from __future__ import annotations

import datetime as dt
import math
import random
import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forerun.include.verify.equality import Cut, OrderKey, compare


def table(**columns: list[object] | pa.Array) -> pa.Table:
    return pa.table(dict(columns))


def test_bags_have_no_order() -> None:
    left = table(a=[1, 2, 2, None], b=["x", "y", "y", None])
    assert compare(left, left.take([3, 1, 0, 2])).equal


def test_multiplicity_counts() -> None:
    verdict = compare(table(a=[1, 2, 2]), table(a=[1, 1, 2]))
    assert not verdict.equal
    assert verdict.differences == (
        "1 rows are missing, 1 rows should not be there",
        "not expected: a=1",
        "missing: a=2",
    )


def test_null_is_not_zero_nor_empty() -> None:
    assert not compare(table(a=[None, 1]), table(a=[0, 1])).equal
    assert not compare(table(a=[None, "x"]), table(a=["", "x"])).equal
    assert not compare(table(a=[None, 1.0]), table(a=[0.0, 1.0])).equal
    assert not compare(table(a=[None, 1.0]), table(a=[math.nan, 1.0])).equal


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-8, False),
        (1e300, 1e300 * (1 + 1e-13), True),
        (math.nan, math.nan, True),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (math.inf, 1e308, False),
        (math.nan, math.inf, False),
        (0.0, -0.0, True),
        (0.0, 1e-300, False),
    ],
)
def test_doubles(left: float, right: float, equal: bool) -> None:
    assert compare(table(k=[1], d=[left]), table(k=[1], d=[right])).equal is equal


def test_known_mass_allows_what_cancellation_leaves() -> None:
    left, right = table(d=[0.0]), table(d=[3e-5])
    assert not compare(left, right).equal
    assert compare(left, right, mass={"d": 1e6}).equal
    assert not compare(left, right, mass={"d": 1e3}).equal


def test_two_float_columns_are_matched_together() -> None:
    near = 1.0 + 1e-13
    assert compare(table(a=[1.0, near], b=[5.0, 3.0]), table(a=[near, 1.0], b=[5.0, 3.0])).equal
    assert not compare(table(a=[1.0, 2.0], b=[5.0, 3.0]), table(a=[1.0, 2.0], b=[3.0, 5.0])).equal


def test_a_chain_of_near_values_does_not_hide_a_far_one() -> None:
    step = 0.9e-9
    chain = [1.0 + i * step for i in range(10)]
    verdict = compare(table(d=chain), table(d=[chain[0]] + [chain[-1]] * 9))
    assert not verdict.equal
    assert "d: expected" in verdict.differences[0]


def test_float_has_its_own_rounding() -> None:
    one = pa.array([1.0], pa.float32())
    assert compare(table(f=one), table(f=pa.array([1.0 + 1e-7], pa.float32()))).equal
    assert not compare(table(f=one), table(f=pa.array([1.0 + 1e-6], pa.float32()))).equal


def test_decimals_compare_by_value_and_scale() -> None:
    short = pa.array([Decimal("1.50")], pa.decimal128(12, 2))
    assert compare(table(d=short), table(d=short.cast(pa.decimal128(38, 2)))).equal
    verdict = compare(table(d=short), table(d=short.cast(pa.decimal128(38, 3))))
    assert verdict.differences == (
        "column d: expected type decimal128(12, 2), got decimal128(38, 3)",
    )
    assert not compare(table(d=short), table(d=pa.array([Decimal("1.51")], short.type))).equal


def test_names_and_types_are_part_of_a_result() -> None:
    assert not compare(table(a=[1]), table(b=[1])).equal
    assert not compare(table(a=[1]), table(a=["1"])).equal
    assert not compare(table(a=[1], b=[1]), table(b=[1], a=[1])).equal
    assert compare(table(a=pa.array(["x"], pa.string_view())), table(a=["x"])).equal


def test_time_units_are_storage() -> None:
    noon = dt.datetime(2026, 1, 1, 12)
    coarse, fine = (pa.array([noon], pa.timestamp(unit)) for unit in ("us", "ns"))
    assert compare(table(t=coarse), table(t=fine)).equal
    assert not compare(table(t=coarse), table(t=pa.array([noon], pa.timestamp("us", "UTC")))).equal


def test_nested_values_are_exact_and_maps_have_no_order() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    assert compare(
        table(m=pa.array([[("a", 1), ("b", 2)]], kind)),
        table(m=pa.array([[("b", 2), ("a", 1)]], kind)),
    ).equal
    assert compare(table(s=[{"x": 1, "y": [1, None]}]), table(s=[{"x": 1, "y": [1, None]}])).equal
    assert not compare(table(s=[{"x": 1, "y": [1, 2]}]), table(s=[{"x": 1, "y": [2, 1]}])).equal


def test_empty_results() -> None:
    empty = table(a=pa.array([], pa.int64()), d=pa.array([], pa.float64()))
    assert compare(empty, empty).equal
    assert not compare(empty, table(a=[1], d=[1.0])).equal
    assert compare(empty, empty, cut=Cut((OrderKey(0),))).equal


class TestCut:
    full = table(k=[9, 8, 8, 8], v=["a", "b", "c", "d"])
    wanted = full.slice(0, 2)

    def verdict(self, rows: list[int], *, ties: bool = True, keys: bool = True) -> bool:
        cut = Cut((OrderKey(0, ascending=False),) if keys else (), self.full if ties else None)
        return compare(self.wanted, self.full.take(rows), cut=cut).equal

    def test_any_row_of_the_tie_class_will_do(self) -> None:
        assert self.verdict([0, 3])
        assert not compare(self.wanted, self.full.take([0, 3])).equal

    def test_rows_above_the_cut_are_fixed(self) -> None:
        other = table(k=[9, 8], v=["z", "b"])
        cut = Cut((OrderKey(0, ascending=False),), self.full)
        assert compare(self.wanted, other, cut=cut).differences[0] == "rows above the cut differ"

    def test_sort_keys_are_fixed(self) -> None:
        assert not self.verdict([1, 2])
        assert not self.verdict([0])
        assert not self.verdict([0, 1, 2])

    def test_a_row_from_nowhere_is_noticed(self) -> None:
        invented = table(k=[9, 8], v=["a", "q"])
        cut = Cut((OrderKey(0, ascending=False),), self.full)
        verdict = compare(self.wanted, invented, cut=cut)
        assert verdict.differences[0] == "not among the rows that tie: k=8, v=q"

    def test_a_row_taken_twice_is_noticed(self) -> None:
        wanted = table(k=[8, 8], v=["b", "c"])
        cut = Cut((OrderKey(0, ascending=False),), self.full)
        assert not compare(wanted, table(k=[8, 8], v=["d", "d"]), cut=cut).equal

    def test_without_order_any_rows_are_right(self) -> None:
        assert self.verdict([3, 2], keys=False)
        cut = Cut((), self.full)
        assert not compare(self.wanted, table(k=[9, 1], v=["a", "b"]), cut=cut).equal

    def test_says_what_it_could_not_check(self) -> None:
        cut = Cut((OrderKey(0, ascending=False),))
        verdict = compare(self.wanted, self.full.take([0, 2]), cut=cut)
        assert verdict.equal
        assert "by sort key only" in verdict.notes[0]
        assert verdict.undecided

    @pytest.mark.parametrize("nulls_first", [True, False])
    @pytest.mark.parametrize("ascending", [True, False])
    def test_nulls_have_their_place(self, ascending: bool, nulls_first: bool) -> None:
        wanted = table(k=[None, None, 1, 2], v=["a", "b", "c", "d"])
        swapped = table(k=[None, None, 1, 2], v=["a", "x", "c", "d"])
        cut = Cut((OrderKey(0, ascending, nulls_first),))
        # Only where NULLs come last are they at the cut, and interchangeable.
        assert compare(wanted, swapped, cut=cut).equal is not nulls_first

    def test_float_sort_keys_tie_within_tolerance(self) -> None:
        wanted = table(k=[2.0, 1.0], v=["a", "b"])
        other = table(k=[2.0, 1.0 + 1e-14], v=["a", "c"])
        assert compare(wanted, other, cut=Cut((OrderKey(0, ascending=False),))).equal


values = st.one_of(
    st.none(), st.floats(), st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, math.nan, math.inf])
)
rows = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 3)), values, values), max_size=12)


def three(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = (pa.int64(), pa.float64(), pa.float64())
    return pa.table(
        {
            n: pa.array(c, k, from_pandas=False)
            for n, c, k in zip("abc", columns, kinds, strict=True)
        }
    )


@given(rows, st.randoms(use_true_random=False))
def test_shuffled_rows_are_equal(data: list[tuple[object, ...]], rng: random.Random) -> None:
    other = rng.sample(data, len(data))
    assert compare(three(data), three(other)).equal


@given(rows, st.integers(0, 11))
def test_a_lost_row_is_noticed(data: list[tuple[object, ...]], at: int) -> None:
    lost = data[:at] + data[at + 1 :]
    assert compare(three(data), three(lost)).equal is (len(lost) == len(data))


@given(rows, st.integers(0, 11))
def test_a_changed_key_is_noticed(data: list[tuple[object, ...]], at: int) -> None:
    changed = [(99, *row[1:]) if i == at else row for i, row in enumerate(data)]
    assert compare(three(data), three(changed)).equal is (changed == data or at >= len(data))


def test_a_million_rows_take_seconds() -> None:
    count = 1_000_000
    rng = np.random.default_rng(7)
    left = pa.table({
        "k": rng.integers(0, 500_000, count),
        "s": pa.array(rng.integers(0, 1000, count)).cast(pa.string()),
        "d": rng.normal(size=count),
    })  # fmt: skip
    order = pa.array(rng.permutation(count))
    started = time.process_time()
    assert compare(left, left.take(order)).equal
    assert time.process_time() - started < 30
