"""A small night whose reports decide one at a time: it costs no deadline and no money."""

from __future__ import annotations

from tests.benchmarks.deciding import run_decided, section


def test_deciding_beside_others_misses_no_more_and_pays_no_more():
    nights = [run_decided(seed, 25) for seed in (1, 2)]
    assert [(one.missed[1], one.lost) for one in nights] == [(0, 0), (0, 0)]
    assert sum(one.paid[1] for one in nights) < sum(one.paid[0] for one in nights)
    text = "\n".join(section([(25, 1.0, nights)]))
    assert "| 25, 100%, 2 | deadlines missed | 0 | 0 | 0 |" in text
