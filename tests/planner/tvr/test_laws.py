"""The laws of signed bags, on random bags: what every delta rule stands on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.laws import Bag, bag, combine, consolidated, difference, product

rows = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]))
plain_bags = st.lists(rows, max_size=8).map(bag)
signed_bags = st.dictionaries(rows, st.integers(-3, 3), max_size=6).map(Bag)


def same_key(left: tuple, right: tuple) -> bool:
    return left[0] == right[0]


@given(plain_bags, plain_bags)
def test_difference_is_what_combine_needs(old: Bag, new: Bag) -> None:
    assert combine(old, difference(new, old)) == new


@given(signed_bags, signed_bags, signed_bags)
def test_combine_is_associative_and_commutative(a: Bag, b: Bag, c: Bag) -> None:
    assert combine(a, b) == combine(b, a)
    assert combine(combine(a, b), c) == combine(a, combine(b, c))


@given(signed_bags)
def test_consolidation_changes_nothing_that_counts(delta: Bag) -> None:
    assert combine(Bag(), delta) == consolidated(delta)
    assert 0 not in consolidated(delta).values()


@given(plain_bags, signed_bags, plain_bags, signed_bags)
def test_the_join_convention(left: Bag, d_left: Bag, right: Bag, d_right: Bag) -> None:
    """d(L join R) = dL join R_new + L_old join dR."""
    new_left, new_right = combine(left, d_left), combine(right, d_right)
    change = combine(product(d_left, new_right, same_key), product(left, d_right, same_key))
    before = product(left, right, same_key)
    assert combine(before, change) == product(new_left, new_right, same_key)


@given(plain_bags, signed_bags, plain_bags, signed_bags)
def test_both_sides_new_counts_one_term_twice(
    left: Bag, d_left: Bag, right: Bag, d_right: Bag
) -> None:
    """The mistake the convention is there to prevent is visible exactly when dL meets dR."""
    new_left, new_right = combine(left, d_left), combine(right, d_right)
    wrong = combine(product(d_left, new_right, same_key), product(new_left, d_right, same_key))
    after = combine(product(left, right, same_key), wrong)
    twice = product(d_left, d_right, same_key)
    assert combine(product(new_left, new_right, same_key), twice) == after
