"""What may be a part of a key."""

from __future__ import annotations

import pytest

from forerun.include.state.layout import Generation, KeyNameError, generation_of, part


@pytest.mark.parametrize("name", ["a", "A-1", "2026-03-01", "x_=+:@.-y", "a" * 200])
def test_names_that_are_parts_of_keys(name: str):
    assert part(name, "report") == name


@pytest.mark.parametrize(
    "name", ["", "a\n", "\na", "a b", "a/b", "..", ".a", "-a", "é", "a\\b", "a%2Fb", "a" * 201]
)
def test_other_names_are_refused_wherever_they_stand(name: str):
    with pytest.raises(KeyNameError, match="cannot name a report"):
        part(name, "report")
    with pytest.raises(KeyNameError):
        Generation(name, "2026-03-01", "1").artifact("family", 1, "a1")
    with pytest.raises(KeyNameError):
        Generation("totals", "2026-03-01", "1").artifact("family", 1, name)


@pytest.mark.parametrize("generation", ["", "one", "-1", "1\n", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_generation_is_a_number(generation: str):
    with pytest.raises(KeyNameError, match="not the number of a generation"):
        _ = Generation("totals", "2026-03-01", generation).number


def test_the_generation_that_a_key_belongs_to():
    at = Generation("totals", "2026-03-01", "12")
    assert generation_of(at.plan(1, "a1")) == at
    with pytest.raises(KeyNameError, match="does not lie in a generation"):
        generation_of("results/totals/2026-03-01/pointer.json")
