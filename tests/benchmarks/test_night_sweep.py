"""A small warehouse through the sweep: its figures are what they are said to be."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tests.benchmarks.night_sweep import USUAL, lines, run_warehouse
from tests.benchmarks.nights import generate_night


def test_a_warehouse_of_some_reports():
    found = run_warehouse(2, 150, 1)
    assert len(found.nights) == 1
    for night in found.nights:
        assert night.lost == 0
        assert night.paid[0] < night.paid[1]
        assert 0.9 < night.paid[0] / night.hindsight < 1.1
    assert found.peaks[1] < found.peaks[0]
    assert found.least[0] < found.least[1]
    text = "\n".join(lines(argparse.Namespace(), {(USUAL, "2"): asdict(found)}))
    assert "1 warehouses, 1 nights in all." in text
    assert "met and the plan missed: 0." in text


def test_the_same_seed_is_the_same_night():
    assert generate_night(5, 10).reports == generate_night(5, 10).reports
    assert generate_night(5, 10).reports != generate_night(6, 10).reports
