"""The suite is itself tested: every mutation of rules and stages must turn it red."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts.mutate import ROOT
from scripts.mutations import MUTATIONS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_mutations_apply(mutation):
    """A mutation whose text is gone would test nothing."""
    assert (ROOT / mutation.path).read_text().count(mutation.old) == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_mutation_is_noticed():
    done = subprocess.run(
        [sys.executable, "-m", "scripts.mutate"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("red ") == len(MUTATIONS) >= 15
