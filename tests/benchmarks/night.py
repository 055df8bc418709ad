"""``make bench-night``: all queries of a suite as one report group, against batch of each alone and
of all in one application.

The night is one application per time point that pays; each query's result has to equal batch. The
same group is run once more over the same deliveries with nothing kept, and so all its work at the
end: what comes from the application in common, from stages of our own and from early work can be
told apart.

    python -m tests.benchmarks night tpch --scale 3
    python -m tests.benchmarks night tpch --scale 10 --group q01,q03,q18 --again
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from forerun.include.machine.jvm import home_folder
from forerun.include.state.layout import Generation
from forerun.planner.request import Settings
from forerun.simulation.accounts import RunAccount
from forerun.simulation.day import plain_query, read_simulated
from forerun.simulation.deliveries import parse_correlation
from forerun.simulation.group import run_group_day
from forerun.simulation.plain import PlainQuery, run_together
from forerun.simulation.planning import Report
from forerun.simulation.running import SparkRunner
from forerun.simulation.simulated_day import Simulation, arrive, write_deliveries
from tests.benchmarks.days import POINTS, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, code_version, say, table
from tests.benchmarks.executed import MEMORY, conditions
from tests.benchmarks.figures import MEASURES, Day, Run, csv_of, executor, process
from tests.benchmarks.plot import Bars, bars_svg
from tests.benchmarks.suites import SUITES, Suite

PLAIN, TOGETHER, AT_THE_END, NIGHT = "plain", "together", "at_the_end", "night"
FIRST, ON_SAIL = "first", "night_early_on_sail"
"""The plain queries alone and all in one application; the group with one run at the end, with its
early runs, and with these on the small engine where they may be. Before these the group once with
one run in a new store, where Spark is asked how it reads each text: whoever is measured first would
pay that for all."""
_NESTED = ("stages", "early_result")


class _Executing:
    """Executes the parts of a night. The results of the plain queries stay in ``work``, where those
    of the group are compared with them."""

    def __init__(self, suite: Suite, scale: float, texts: Mapping[str, str], master: str) -> None:
        self._suite, self._scale, self._master = suite, scale, master
        self._reports = [Report(name, sql) for name, sql in texts.items()]
        name = f"{suite.name}-{scale:g}-night-{code_version()}"
        self._work = home_folder() / "bench" / name

    @cached_property
    def _runner(self) -> SparkRunner:
        (self._work / "logs").mkdir(parents=True, exist_ok=True)
        return SparkRunner(self._work / "logs", self._master, memory=MEMORY)

    @cached_property
    def _night(self) -> Simulation:
        days = Days.of(self._suite, self._scale)
        return Simulation(
            name=NIGHT, sql="", tables=days.tables, changing=self._suite.changing, points=POINTS,
            correlations=tuple(map(parse_correlation, self._suite.together)), seed=1,
            work=self._fresh(NIGHT), store=str(self._work / "store"), incoming=days.incoming,
        )  # fmt: skip

    def _fresh(self, name: str) -> Path:
        """An empty folder for the deliveries of one part."""
        shutil.rmtree(self._work / name, ignore_errors=True)
        return self._work / name

    @cached_property
    def _plain(self) -> dict[str, PlainQuery]:
        """The plain queries over everything."""
        whole = replace(self._night, work=self._fresh(PLAIN))
        alone = [replace(whole, name=one.name, sql=one.sql) for one in self._reports]
        used = [tuple(sorted(read_simulated(one).named)) for one in alone]
        write_deliveries(
            whole, sorted({table for one in used for table in one}), lambda _rows: None
        )
        for run in range(1, len(whole.points) + 1):
            arrive(whole, run)
        both = zip(alone, used, strict=True)
        return {one.name: plain_query(one, its, self._runner) for one, its in both}

    def plain(self, query: str, _found: Found) -> Figures:
        at, account = self._plain[query].run()
        return {"at": asdict(at), "account": account.as_json()}

    def together(self, _found: Found) -> Figures:
        return run_together(list(self._plain.values()), NIGHT).as_json()

    def group(self, name: str, found: Found) -> Figures:
        """Do the group's day, and compare it with the plain queries that were measured before."""
        plain = [found[PLAIN, report.name] for report in self._reports]
        what = replace(self._night, name=name, work=self._fresh(name))
        if name in (
            FIRST,
            AT_THE_END,
        ):  # over the same files: more of them are more work for whoever reads
            what = replace(what, settings=Settings(state_budget=0))
        if name == ON_SAIL:
            what = replace(what, early_engine="sail")
        day = run_group_day(what, self._reports, self._runner, say, lambda _rows: None)
        batches = [(Generation(**one["at"]), _account(one["account"])) for one in plain]
        account = day.account(batches, _account(found[(TOGETHER,)]))
        differences = [
            f"{one.report}: {text}" for one in account.reports for text in one.differences
        ]
        return {**account.as_json(), "differences": differences}


def _account(part: Mapping[str, Any]) -> RunAccount:
    """A run's figures without those of its stages."""
    return RunAccount(**{name: value for name, value in part.items() if name not in _NESTED})


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--group", default="", help="only these queries, such as q03,q09; no page")


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the plain queries, alone and together, and the group at the end and as a night."""
    suite = SUITES[given.suite]
    texts = suite.texts()
    queries = given.group.split(",") if given.group else list(texts)
    parts = _Executing(suite, given.scale, {name: texts[name] for name in queries}, given.master)
    under = conditions(suite, given.scale, given.master)
    for query in queries:
        yield Cell(name=(PLAIN, query), under=under, measure=partial(parts.plain, query))
    under += f", a group of {','.join(queries) if given.group else len(queries)}"
    yield Cell(name=(TOGETHER,), under=under, measure=parts.together)
    for name in (FIRST, AT_THE_END, NIGHT, ON_SAIL):
        yield Cell(name=(name,), under=under, measure=partial(parts.group, name))


def days_of(found: Found) -> list[Day]:
    """The queries' days; what stands for own batch is the group with all its work at the end."""
    both = zip(found[(NIGHT,)]["reports"], found[(AT_THE_END,)]["reports"], strict=True)
    return [Day((one["name"],), one["runs"], one["batch"], end["runs"][-1]) for one, end in both]


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the sums of the night, what saved how much, and a row for each query."""
    if (NIGHT,) not in found or (AT_THE_END,) not in found:
        return
    night, end = found[(NIGHT,)], found[(AT_THE_END,)]
    yield f"{len(night['reports'])} queries in one group. Planning a time point took"
    yield f"{(night['plan_ms'] or 0) / 1000:.1f} s at most."
    yield ""
    yield from table(("CPU seconds", "executors", "processes"), _sums(found))
    yield ""
    saved = ("saved by, in this order", "weighted CPU seconds of processes")
    yield from table((*saved, "of an application each"), _told_apart(night, end))
    yield ""
    columns = ("query", "decided at the end", "runs (executors)", "all at the end", "batch")
    yield from table((*columns, "ratio"), map(_row, days_of(found)))


def _sums(found: Found) -> Iterator[tuple[str, ...]]:
    night, end = found[(NIGHT,)], found[(AT_THE_END,)]
    first, on_sail = found.get((FIRST,)), found.get((ON_SAIL,))
    nights = {"night": night, **({"with early runs on Sail": on_sail} if on_sail else {})}
    runs: list[tuple[str, Run]] = [
        (f"{name}, at {run['arrived']:.0%} (weight {run['weight']:g})", run)
        for name, one in nights.items()
        for run in one["runs"]
    ]
    if first:
        runs.append(("the group, all at the end, in a new store", first["runs"][-1]))
    runs.append(("the group, all at the end", end["runs"][-1]))
    runs.append(("batch, an application each", night["batch"]))
    runs.append(("batch, all in one application", night["batch_together"]))
    for title, run in runs:
        yield title, *(f"{measure(run):.1f}" for _, measure in MEASURES)
    for title, to in (("of an application each", ""), ("of all in one", "_to_together")):
        names = (f"weighted_ratio{to}", f"process_ratio{to}")
        for what, one in nights.items():
            yield f"{what}, weighted, {title}", *(f"**{one[name]:.2f}**" for name in names)


def _told_apart(night: Figures, end: Figures) -> Iterator[tuple[str, ...]]:
    """What saved how much of a batch application for each query, step by step."""
    alone, together = process(night["batch"]), process(night["batch_together"])
    at_the_end = process(end["runs"][-1])
    for what, saved in (
        ("one application for all", alone - together),
        ("stages of our own where they pay", together - at_the_end),
        ("early work", at_the_end - night["process_ratio"] * alone),
    ):
        yield what, f"{saved:.1f}", f"{saved / alone:.0%}"


def _row(day: Day) -> Iterable[str]:
    ratio = day.ratio(executor)
    costs = (f"{executor(run):.1f}" for run in (day.own, day.batch))
    told = f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}"
    return (day.query, day.final.get("decided") or "-", day.taken(executor), *costs, told)


def bars(days: Sequence[Day]) -> list[Bars]:
    """The bars of each query; the mark is the group with all its work at the end."""
    return [
        Bars(
            day.query,
            day.ratio(executor),
            day.ratio(process),
            day.own_ratio(executor) if executor(day.batch) else 0.0,
        )
        for day in days
    ]


def beside(given: argparse.Namespace, found: Found) -> dict[str, str]:
    """The plot and all rows."""
    days, name = days_of(found), f"night-{given.suite}"
    title = (
        f"{SUITES[given.suite].title}, scale {given.scale:g}, one night: weighted CPU of each "
        "report over batch"
    )
    drawn = bars_svg(title, bars(days), mark="all at the end, executors")
    return {f"{name}.svg": drawn, f"{name}.csv": csv_of(days)}


BENCHMARK = Benchmark(
    cells=cells,
    lines=lines,
    section=lambda given: "" if given.group else f"bench-night-{given.suite}",
    beside=beside,
)
