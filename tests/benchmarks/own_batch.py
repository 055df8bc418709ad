"""The user's own text beside batch in stages of our own, in one warm session: is the cheaper one by
estimate the cheaper one?

Each query of a suite runs once in either way, which warms it up and is not counted, and then as
``A B B A``: A is its text, B our stages. CPU seconds of the process and of executors are the means
of both. Sources are whole and static; each result is compared with that of the text. Figures of
this code and these conditions are not measured again, so the command may be killed and started
again.

    python -m tests.benchmarks own_batch tpch --scale 1
    python -m tests.benchmarks own_batch demo --scale 1 --again
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from forerun.include.machine.cpu_meter import Meter
from forerun.include.machine.jvm import home_folder
from forerun.include.runs.prepare import open_generation, prepare_run
from forerun.include.state.layout import Generation
from forerun.planner.errors import ForerunError
from forerun.planner.request import Settings, TimePoint
from forerun.simulation.accounts import RunAccount
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import InProcessRunner
from forerun.simulation.tables import find_tables
from tests.benchmarks.common_work import ALL_SUITES
from tests.benchmarks.days import Arrivals, Days, say
from tests.benchmarks.executed import conditions_of
from tests.benchmarks.figures import Estimates
from tests.benchmarks.results import BATCH, OWN, Conditions, Results, Row, failed
from tests.benchmarks.session_days import QueryDays, spark_session

MASTER, MEMORY = "local[2]", "4g"
WHOLE = Arrivals("whole", (TimePoint(weight=1.0),))
_ROUND = (BATCH, OWN, OWN, BATCH)


@dataclass(frozen=True, slots=True)
class _Taken:
    """One execution: what it left, its account, and the CPU of the process."""

    at: Generation
    account: RunAccount
    process_s: float


def _take(plain: PlainQuery, way: str) -> _Taken:
    meter = Meter()
    at, account = plain.run() if way == BATCH else plain.run_own()
    return _Taken(at, account, meter.cpu_s)


def chosen_by_auto(plain: PlainQuery) -> str:
    """The kind of plan that ``auto`` has for the query over what there is."""
    spec = replace(plain.spec, name=f"{plain.spec.name}__auto")
    now = spec.points(plain.day)[-1]
    day = open_generation(spec.store, spec, plain.day, trigger=uuid.uuid4().hex, now=now)
    settings = Settings(prices=plain.runner.engine.prices)
    result = prepare_run(day, spec.runs, method="auto", now=now, settings=settings).result
    if result is None:
        raise ValueError(f"{spec.name} was not planned")
    return result.plan.method


def measured(conditions: Conditions, query: str, plain: PlainQuery) -> Iterator[Row]:
    """Yield a row for the text and one for our stages; ``method`` of both is what ``auto`` has."""
    for way in (BATCH, OWN):
        _take(plain, way)
    taken: dict[str, list[_Taken]] = {BATCH: [], OWN: []}
    for way in _ROUND:
        taken[way].append(_take(plain, way))
    verdict = plain.compare(taken[OWN][0].at, taken[BATCH][0].at)
    chosen = chosen_by_auto(plain)
    for way, runs in taken.items():
        yield Row(
            **asdict(conditions), at=datetime.now(UTC).isoformat(timespec="seconds"), query=query,
            run=way, weight=1.0, arrived=1.0, decided=chosen, equal=verdict.equal,
            estimated_s=runs[0].account.estimated_cost,
            executor_s=round(sum(one.account.cpu_s for one in runs) / len(runs), 3),
            process_s=round(sum(one.process_s for one in runs) / len(runs), 3),
            stages=len(runs[0].account.stages), error="; ".join(verdict.differences),
            method="batch",
        )  # fmt: skip


def measure(kept: Results, conditions: Conditions, queries: Sequence[str]) -> None:
    """Execute these queries and write down the figures of each when it is done."""
    suite = replace(ALL_SUITES[conditions.suite], changing=frozenset(), together=())
    folder = suite.generate(float(conditions.scale))
    days = Days(suite, folder, find_tables(folder), WHOLE, folder)  # nothing is delivered
    with spark_session(MASTER, MEMORY) as runner:
        for query in queries:
            say(f"{query}: {queries.index(query) + 1} of {len(queries)}")
            try:
                kept.put(list(measured(conditions, query, _plain(days, query, runner))))
            except ForerunError as error:
                at = datetime.now(UTC).isoformat(timespec="seconds")
                kept.put(failed(conditions, at, query, str(error), "batch"))
                continue
            print(_line(query, kept.of(conditions)), flush=True)


def _plain(days: Days, query: str, runner: InProcessRunner) -> PlainQuery:
    work = days.folder.with_name(f"{days.folder.name}-own-batch")
    return QueryDays(days, query, runner, work).plain


def _line(query: str, rows: Sequence[Row]) -> str:
    text, own = _pair(query, rows)
    mark = "" if text.equal else f"  NOT EQUAL: {text.error}"
    return (
        f"{query:6} text {text.process_s:5.1f} CPU s ({text.executor_s:5.1f} of executors), "
        f"ours {own.process_s:5.1f} ({own.executor_s:5.1f}); ours of text "
        f"{own.process_s / text.process_s:.2f}, by estimate "
        f"{own.estimated_s / text.estimated_s:.2f}; auto: {text.decided}{mark}"
    )


def _pair(query: str, rows: Sequence[Row]) -> tuple[Row, Row]:
    found = {row.run: row for row in rows if row.query == query}
    return found[BATCH], found[OWN]


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield how estimates fit, of all and of the ratio, and what following them would take."""
    done = sorted({row.query for row in rows if row.run == OWN})
    pairs = [_pair(query, rows) for query in done]
    if not pairs:
        return
    all_runs = [(one.estimated_s, one.process_s) for pair in pairs for one in pair]
    ratios = [
        (own.estimated_s / text.estimated_s, own.process_s / text.process_s) for text, own in pairs
    ]
    for name, found in (("runs", all_runs), ("ours of text", ratios)):
        fit = Estimates.of(found)
        yield (
            f"{name}: {fit.runs}, rank correlation {fit.rank_correlation:.2f}, median error "
            f"{fit.median_error:.0%} after a factor of {fit.factor:.2f}"
        )
    took = {
        "text": sum(text.process_s for text, _ in pairs),
        "ours": sum(own.process_s for _, own in pairs),
        "auto": sum((own if own.decided == "own-batch" else text).process_s for text, own in pairs),
        "the cheaper": sum(min(text.process_s, own.process_s) for text, own in pairs),
    }
    yield "CPU s: " + ", ".join(f"{name} {cpu:.1f}" for name, cpu in took.items())


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", choices=ALL_SUITES)


def main(given: argparse.Namespace) -> int:
    suite = ALL_SUITES[given.suite]
    conditions = conditions_of(suite.name, given.scale, MASTER, WHOLE, MEMORY)
    place = home_folder() / "bench" / f"{suite.name}-{given.scale:g}-own-batch.csv"
    kept = Results(given.csv or place)
    asked = given.only or list(suite.texts())
    with kept.alone():
        wanted = asked if given.again else kept.missing(conditions, asked, "batch")
        say(f"{len(wanted)} queries to run, {len(asked) - len(wanted)} have figures in {kept.path}")
        if wanted:
            measure(kept, conditions, wanted)
        rows = kept.of(conditions)
        for line in summary(rows):
            print(line)
    return int(not all(row.equal for row in rows))
