"""Generated days by the hundred thousand, counted by construct.

``python -m tests.properties.many_days FOLDER --days 100000`` goes on where it was ended, and writes
each day that is wrong, made small, to ``FOLDER/wrong/``. ``--counts`` shows what was tried so far.
A query is planned once and tried on several histories: other rows that arrive otherwise, which no
plan depends on here (:mod:`tests.properties.other_rows`). Days are shared out by ``--shard I/N``.

A day is judged on the row interpreter, which knows of overflows, or on Sail. A day whose text fails
over all that has come is counted and not looked at; a run that fails before the last one is fine
where the text fails over what has come by then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from forerun.include.verify.sail_gaps import SAIL_GAPS, gaps_of
from forerun.planner.api import PlanResult, plan
from forerun.planner.errors import MethodError, UnsupportedSqlError
from forerun.planner.request import PDW, PlanRequest, Problem
from forerun.planner.rules.methods.catalog import SINGLE
from forerun.planner.sql.frontend import read_query
from tests.oracles.bags import DifferenceError
from tests.oracles.values import EvaluationError, NotInterpretedError
from tests.properties.cases import Case, to_json
from tests.properties.constructs import of_query, of_rows
from tests.properties.engines import InterpreterEngine, PlainSailEngine
from tests.properties.execute import Engine, RefusedError, expected_rows, run_case
from tests.properties.generate import APART, KINDS, NOT_ON_SAIL, changelog_case, random_case
from tests.properties.other_rows import other_rows
from tests.properties.sessions import sail_session
from tests.properties.shrink import Fails, shrink
from tests.properties.test_problems import random_problem

FIRST = 5_000_000
ON_INTERPRETER, ON_SAIL = 24, 8
_AT_ONCE = 20
_SHRINK_TRIES = 150


class Planner:
    """Plans what was not planned yet: of one query, whose histories ask for the same plans."""

    def __init__(self) -> None:
        self._known: dict[PlanRequest, PlanResult] = {}

    def __call__(self, request: PlanRequest) -> PlanResult:
        request = replace(request, report="day")
        if request not in self._known:
            self._known[request] = plan(request)
        return self._known[request]


def query_of(seed: int) -> tuple[Case, Problem, bool]:
    """The query of a seed, when its results are wanted, and whether it is for Sail."""
    rng = random.Random(f"many-{seed}")
    for_sail = seed % 8 == 0
    if rng.random() < 0.35:
        case = changelog_case(seed, for_sail=for_sail)
    else:
        on_sail = [kind for kind in APART if kind not in NOT_ON_SAIL]
        family = rng.choice(("", *on_sail) if for_sail else (*KINDS, *APART))
        case = random_case(seed, family, for_sail=for_sail)
    if rng.random() < 0.15:
        case = replace(case, method=rng.choice(SINGLE).name)
    elif rng.random() < 0.1:
        case = replace(case, state_budget=int(10 ** rng.uniform(6.0, 9.0)))
    problem = random_problem(seed, case.runs) if rng.random() < 0.15 else PDW
    if rng.random() < 0.95:
        case = replace(case, effort=(("tries", 2), ("compare", 0)))
    return case, problem, for_sail


def histories(case: Case, seed: int, *, for_sail: bool) -> Iterator[Case]:
    """The case and its query over other rows."""
    yield case
    extremes = "min(" in case.query.sql or "max(" in case.query.sql
    for number in range(1, ON_SAIL if for_sail else ON_INTERPRETER):
        limits = number % 4 == 3 and not for_sail
        yield other_rows(case, seed + number, limits=limits, nan=not (for_sail and extremes))


class Driver:
    """Plays the days of a shard, and keeps what it has counted in a folder."""

    def __init__(self, folder: Path, shard: int, shards: int) -> None:
        self._wrong = folder / "wrong"
        self._progress = folder / f"shard-{shard}-of-{shards}.json"
        self._wrong.mkdir(parents=True, exist_ok=True)
        self._shard, self._shards = shard, shards
        self.counts: Counter[str] = Counter()
        self._next = 0
        if self._progress.exists():
            state = json.loads(self._progress.read_text())
            self.counts, self._next = Counter(state["counts"]), state["next"]

    def play(self, days: int) -> None:
        """Go on until so many days of this shard are counted."""
        while self.counts["days"] < days:
            started = time.process_time()
            for _ in range(_AT_ONCE):
                self._query(FIRST + self._shard + self._next * self._shards)
                self._next += 1
            self.counts["CPU ms"] += round(1000 * (time.process_time() - started))
            state = {"next": self._next, "counts": dict(sorted(self.counts.items()))}
            beside = self._progress.with_suffix(".new")
            beside.write_text(json.dumps(state, indent=1))
            os.replace(beside, self._progress)

    def _query(self, seed: int) -> None:
        case, problem, for_sail = query_of(seed)
        engine = PlainSailEngine(sail_session()) if for_sail else InterpreterEngine()
        planner, made = Planner(), Counter(of_query(case))
        self.counts["queries"] += 1
        with engine.recording() if isinstance(engine, InterpreterEngine) else nullcontext():
            for day in histories(case, seed, for_sail=for_sail):
                whole = seed % 8 == 3
                found = self._day(day, engine, planner, problem, whole=whole)
                self.counts[found] += 1
                if found in ("the query is refused", "no such method"):
                    return
                self.counts["days"] += 1
                self.counts["days on Sail" if for_sail else "days on the interpreter"] += 1
                self.counts.update(f"day: {name}" for name in (*made, *of_rows(day)))

    def _day(
        self, day: Case, engine: Engine, planner: Planner, problem: Problem, *, whole: bool
    ) -> str:
        def judged(one: Case) -> str:
            return judge(one, engine, planner, problem, whole=whole)

        try:
            return judged(day)
        except MethodError:
            return "no such method"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
            text = traceback.format_exc(limit=-4)
            small = shrink(day, _fails_as(error, judged), _SHRINK_TRIES)
            path = self._wrong / f"{day.name}.json"
            path.write_text(to_json(small))
            path.with_suffix(".txt").write_text(f"{problem}\n{small.query.sql}\n\n{text}")
            return f"WRONG: {type(error).__name__}"


def _fails_as(error: Exception, judged: Callable[[Case], str]) -> Fails:
    def fails(one: Case) -> bool:
        try:
            judged(one)
        except Exception as again:  # noqa: BLE001
            return type(again) is type(error)
        return False

    return fails


def judge(day: Case, engine: Engine, planner: Planner, problem: Problem, *, whole: bool) -> str:
    """Play a day and say what became of it. Raises whatever is wrong."""
    on_interpreter = isinstance(engine, InterpreterEngine)
    try:
        outcome = run_case(
            day, engine, every_time_point=whole, judge_kept=whole and on_interpreter,
            problem=problem, planned=planner,
        )  # fmt: skip
    except NotInterpretedError:
        return "the query is refused"
    except UnsupportedSqlError:
        return "the query is refused"
    except RefusedError as refused:
        if not isinstance(refused.__cause__, EvaluationError):
            return "the query is refused"
        return "the text fails"
    except DifferenceError:
        named = [] if on_interpreter else sail_gaps(day)
        if not named:
            raise
        return f"a gap of Sail's that is named: {', '.join(named)}"
    except EvaluationError:
        for run in range(1, day.runs):
            try:
                expected_rows(day, engine, run)
            except RefusedError:
                return "a run fails where the text does"
        if _fails_in_one_run(day, engine):
            return "stages evaluate what the text does not, in one run as well"
        raise
    return "equal, with early work" if outcome.kept else "equal"


def sail_gaps(day: Case) -> list[str]:
    """The constructs of a day's query that Sail itself is known to compute wrongly."""
    relation = read_query(day.query.sql, day.sources).relation
    return [gap.code for gap in gaps_of(relation, SAIL_GAPS, day.query.sql)]


def _fails_in_one_run(day: Case, engine: Engine) -> bool:
    """Whether stages fail over all that has come at once: SQL leaves open in which order joins and
    filters are evaluated, and a value overflows in a pair of rows that no other order makes."""
    tables = {
        name: replace(table, deliveries=(tuple(table.rows(day.runs)),), withdrawn=())
        for name, table in day.tables.items()
    }
    once = replace(day, tables=tables, runs=1, method="batch")
    try:
        run_case(once, engine)
    except EvaluationError:
        return True
    return False


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=100_000)
    parser.add_argument("--shard", default="0/1", help="I/N: this one of so many")
    parser.add_argument("--counts", action="store_true", help="show what was tried, play nothing")
    given = parser.parse_args(arguments)
    if given.counts:
        _show(given.folder)
        return 0
    shard, shards = map(int, given.shard.split("/"))
    driver = Driver(given.folder, shard, shards)
    driver.play(given.days // shards)
    wrong = sum(n for name, n in driver.counts.items() if name.startswith("WRONG"))
    return 1 if wrong else 0


def _show(folder: Path) -> None:
    counts: Counter[str] = Counter()
    for path in folder.glob("shard-*.json"):
        counts.update(json.loads(path.read_text())["counts"])
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"{count:>10,}  {name}\n")


if __name__ == "__main__":
    raise SystemExit(main())
