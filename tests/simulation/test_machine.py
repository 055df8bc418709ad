"""The machine sees what it is there for: mutations of the protocol, swallowed kills, crashes."""

from __future__ import annotations

import pytest

from forerun.include.state import commits
from forerun.include.stores import store
from tests.simulation import doors
from tests.simulation.machine import play
from tests.simulation.mutations import MUTATIONS, rewritten, search
from tests.simulation.shrink import describe, shrink

QUICK = 100
MOST = 2000
AT_ONCE = (
    "no fence", "clean-up does not close before it deletes", "ages by the clock of the host",
    "a manifest is put whether one is there or not", "a retry makes a new manifest",
    "an older generation replaces a newer one", "attempts share a folder",
)  # fmt: skip


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.name in AT_ONCE], ids=str)
def test_a_broken_protocol_is_found_at_once(mutation):
    _, played = search(mutation, QUICK)
    assert played is not None


def test_every_mutation_still_applies():
    assert all(mutation.pairs() for mutation in MUTATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_broken_protocol_is_found(mutation):
    _, played = search(mutation, MOST)
    assert played is not None


def test_what_breaks_is_made_small_enough_to_read():
    name = "a commit is put whether one is there or not"
    mutation = next(m for m in MUTATIONS if m.name == name)
    _, found = search(mutation, 3 * QUICK)
    with doors.installed(mutation.pairs()):
        small = shrink(found)
    assert len(small.script.turns) <= 12
    assert len(small.trace) < len(found.trace)
    lines = describe(small).splitlines()
    assert lines[-1].endswith(small.violation)
    assert "put" in lines[-2]  # the call that broke it is the last one


def test_a_kill_that_the_product_catches_is_a_fault():
    find = "    found = store.find(at.commit(run))"
    blind = f"    try:\n    {find}\n    except BaseException:\n        return None"
    caught = rewritten(commits.read_commit, ((find, blind),))
    with doors.installed([(commits.read_commit, caught)]):
        said = [play(seed).violation for seed in range(2 * QUICK)]
    assert any("went on after a kill" in violation for violation in said)


def test_a_crash_of_the_product_is_a_fault():
    crashing = rewritten(store.put_or_get, (("    winner = store.get(key)", "    winner = 1 / 0"),))
    with doors.installed([(store.put_or_get, crashing)]):
        said = [play(seed).violation for seed in range(QUICK // 2)]
    assert any("ZeroDivisionError" in violation for violation in said)
