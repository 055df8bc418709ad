"""``make bench-night``: all queries of a suite as one report group, against batch of each alone and
of all in one application.

The night is one application per time point that pays; each query's result has to equal batch. The
same group is run once more with all its work at the end, so that what comes from the application in
common, from stages of our own and from early work can be told apart. What was measured by this code
under these conditions is not measured again, so the command may be killed and started again. Run it
on a machine that does nothing else.

    python -m tests.benchmarks night tpch --scale 3
    python -m tests.benchmarks night tpch --scale 10 --only q01,q03,q18 --again
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from forerun.include.machine.jvm import home_folder
from forerun.planner.algebra.relational import sources as sources_of
from forerun.simulation.day import plain_query, read_simulated
from forerun.simulation.deliveries import parse_correlation
from forerun.simulation.group import run_group_day
from forerun.simulation.plain import run_together
from forerun.simulation.planning import Report
from forerun.simulation.running import SparkRunner
from forerun.simulation.simulated_day import Simulation, arrive, write_deliveries
from tests.benchmarks import results
from tests.benchmarks.days import POINTS, Days, say
from tests.benchmarks.executed import SUITES, conditions_of
from tests.benchmarks.kept_night import AT_THE_END, NIGHT, KeptNight
from tests.benchmarks.night_figures import Group, bars, rows_of, section
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.plot import svg
from tests.benchmarks.results import Conditions


class _Measuring:
    """Executes the parts of a night that are not kept yet, and keeps each when it is over."""

    def __init__(
        self, days: Days, texts: Mapping[str, str], conditions: Conditions, kept: KeptNight
    ) -> None:
        self._reports = [Report(name, sql) for name, sql in texts.items()]
        self._kept = kept
        self._started = time.monotonic()
        (kept.work / "logs").mkdir(parents=True, exist_ok=True)
        self._runner = SparkRunner(kept.work / "logs", conditions.master, memory=conditions.memory)
        self._night = Simulation(
            name=NIGHT, sql="", tables=days.tables, changing=days.suite.changing, points=POINTS,
            correlations=tuple(map(parse_correlation, days.suite.together)), seed=1,
            work=kept.fresh(NIGHT), store=str(kept.work / "store"), incoming=days.incoming,
        )  # fmt: skip

    def all(self) -> None:
        """The plain queries, alone and together; the group with all its work at the end; the
        night."""
        self._plain_queries()
        at_the_end = replace(
            self._night, name=AT_THE_END, points=POINTS[-1:], changing=frozenset(), correlations=(),
            incoming=None,
        )  # fmt: skip
        for what in (at_the_end, self._night):
            if not self._kept.has(what.name):
                self._group(replace(what, work=self._kept.fresh(what.name)))

    def _plain_queries(self) -> None:
        whole = replace(self._night, work=self._kept.fresh("plain"))
        alone = [replace(whole, name=one.name, sql=one.sql) for one in self._reports]
        used = [tuple(sorted(sources_of(read_simulated(one)))) for one in alone]
        write_deliveries(
            whole, sorted({table for one in used for table in one}), lambda _rows: None
        )
        for run in range(1, len(whole.points) + 1):
            arrive(whole, run)
        plain = [plain_query(one, its, self._runner) for one, its in zip(alone, used, strict=True)]
        missing = [one.name for one in self._reports if not self._kept.has_plain(one.name)]
        for report, query in zip(self._reports, plain, strict=True):
            if report.name in missing:
                number = missing.index(report.name) + 1
                self._say(f"the plain query of {report.name}, {number} of {len(missing)}")
                self._kept.put_plain(report.name, *query.run())
        if self._kept.together is None:
            self._say("the plain queries in one application")
            self._kept.put_together(run_together(plain, NIGHT))

    def _group(self, what: Simulation) -> None:
        self._say(f"the group, {what.name}")
        day = run_group_day(what, self._reports, self._runner, self._say, lambda _rows: None)
        self._say("comparison")
        plain = [self._kept.plain(report.name) for report in self._reports]
        together = self._kept.together
        assert together is not None, "the plain queries come first"
        self._kept.put_group(what.name, day.account(plain, together))

    def _say(self, text: str) -> None:
        say(f"{time.monotonic() - self._started:6.0f} s  {text}")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=SUITES)


def main(given: argparse.Namespace) -> int:
    suite = SUITES[given.suite]
    conditions = conditions_of(suite.name, given.scale, given.master)
    texts = suite.texts()
    queries = given.only or list(texts)
    bench = home_folder() / "bench"
    kept = KeptNight(bench / f"{suite.name}-{given.scale:g}-night", conditions, queries)
    if given.again:
        kept.forget()
    if not kept.complete:
        days = Days.of(suite, given.scale)
        _Measuring(days, {name: texts[name] for name in queries}, conditions, kept).all()
        kept.clear_work()
    night, at_the_end = kept.group(NIGHT), kept.group(AT_THE_END)
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    at = datetime.now(UTC).isoformat(timespec="seconds")
    lines = section(night, at_the_end, conditions, at, machine)
    print("\n".join(lines))
    if queries == list(texts):
        _publish(conditions, at, night, at_the_end, lines)
    return int(not (night["equal"] and at_the_end["equal"]))


def _publish(
    conditions: Conditions, at: str, night: Group, at_the_end: Group, lines: Sequence[str]
) -> None:
    """Write the section of the page, the plot and the rows of all runs."""
    folder, name = PAGE.parent, f"night-{conditions.suite}"
    results.write_csv(folder / f"{name}.csv", rows_of(conditions, at, night, at_the_end))
    title = (
        f"{SUITES[conditions.suite].title}, scale {conditions.scale}, one night: weighted CPU of "
        "each report over batch"
    )
    plot = svg(title, bars(night, at_the_end), mark="all at the end, executors")
    (folder / f"{name}.svg").write_text(plot, encoding="utf-8")
    write_section(f"bench-{name}", [*lines, "", f"![each report over batch]({name}.svg)"])
    say(f"wrote {PAGE.relative_to(ROOT)}, {name}.svg and {name}.csv beside it")
