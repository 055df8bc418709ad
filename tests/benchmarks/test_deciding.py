"""A small night that is decided for all its reports: it costs no deadline and no money."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tests.benchmarks.deciding import lines, run_decided


def test_deciding_for_all_misses_no_more_and_pays_no_more() -> None:
    nights = [run_decided(seed, 25) for seed in (1, 2)]
    assert [(*one.missed[1:], one.lost) for one in nights] == [(0, 0, 0), (0, 0, 0)]
    assert sum(one.paid[1] for one in nights) < sum(one.paid[0] for one in nights)
    assert all(one.peak <= 1 for one in nights)
    found = {("25", "100%", f"night-{i}"): asdict(one) for i, one in enumerate(nights)}
    text = "\n".join(lines(argparse.Namespace(), found))
    assert "| 25, 100%, 2 | deadlines missed | 0 | 0 | 0 |" in text
