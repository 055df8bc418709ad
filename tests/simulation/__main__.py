"""``python -m tests.simulation 17`` plays seed 17; ``0:2000`` those, to the first failure."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.simulation import doors
from tests.simulation.census import census, table
from tests.simulation.machine import play
from tests.simulation.shrink import describe, shrink


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", help="a seed, or FROM:TO")
    parser.add_argument("--trace", action="store_true", help="print all calls of a seed")
    parser.add_argument("--on", action="store_true", help="go on after a failure")
    parser.add_argument("--shrink", action="store_true", help="make a failing schedule small")
    parser.add_argument("--count", action="store_true", help="say how often what happened")
    options = parser.parse_args()
    start, colon, end = options.seeds.partition(":")
    seeds = range(int(start), int(end) if colon else int(start) + 1)
    failed = calls = 0
    counted: Counter[str] = Counter()
    began = time.process_time()
    with doors.installed():
        for seed in seeds:
            played = play(seed)
            calls += played.steps
            if options.count:
                counted += census([played])
            if options.trace and not played.violation:
                print(*played.trace, sep="\n")
                print(played.done)
            if played.violation:
                failed += 1
                small = shrink(played) if options.shrink else played
                shown = describe(small) if options.shrink or options.trace else ""
                print(shown or f"seed {seed}: {played.violation}")
                if not options.on:
                    break
    if options.count:
        print(table(counted, len(seeds)))
    took = time.process_time() - began
    number = seed - seeds[0] + 1
    print(f"{number} schedules, {calls} calls, {failed} failed, {1000 * took / number:.2f} ms each")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
