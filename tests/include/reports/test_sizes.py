"""Byte counts: what is taken, and what is refused."""

from __future__ import annotations

import pytest

from forerun.include.reports.values.sizes import SizeError, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("12", 12),
        ("12B", 12),
        ("500MB", 500_000_000),
        ("500mb", 500_000_000),
        (" 1.5 GiB ", 3 << 29),
        ("2KiB", 2048),
        ("1TB", 10**12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text, "--state-budget") == size


@pytest.mark.parametrize("text", ["", "much", "-1", "5 XB", "1e9", "1,5GB", "MB", "nan"])
def test_other_texts_are_refused_with_what_they_are_of(text: str) -> None:
    with pytest.raises(SizeError, match=r"--state-budget .* is not a number of bytes"):
        parse_bytes(text, "--state-budget")
