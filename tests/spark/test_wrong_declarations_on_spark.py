"""Days on Spark of which something that the report declares is not so, or what a footer says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.properties.chunks import starts
from tests.properties.wrong_declarations import EQUAL, REFUSED, ends, wrong_case

CASES, CHUNK = 48, 12


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("start", starts(0, CASES, CHUNK, fast=0))
def test_a_wrong_declaration_changes_no_result_in_silence(sessions, tmp_path: Path, start: int):
    """Those of ``tests/properties/test_wrong_declarations.py``, which has more of them on Sail."""
    found: Counter[str] = Counter()
    for seed in range(start, start + CHUNK):
        case, lies, method = wrong_case(seed)
        try:
            found[ends(*sessions, tmp_path / "day", case, lies, method)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, {method}: {case.query.sql} {lies}") from error
    assert found[EQUAL] > 0, found
    assert CHUNK - found[EQUAL] - found[REFUSED] > 0, found
