"""``spark-submit run.py --plan URI --run i --attempt TOKEN``: do one run of a day and commit it.

Exit codes: 0 the run is committed (by this attempt or by another), 2 it cannot be done, with the
reason on stderr, 1 a bug, with a traceback. The last line of stdout is a JSON object. Expectations
that fail do not change the exit code: the commit says so, and publishing refuses.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from include.days.stored_plan import StoredPlan
from include.engines import ENGINES
from include.machine.cpu_meter import Meter
from include.state.records import RunCommit
from planner.contract import Plan
from planner.errors import ContractError, ForerunError
from spark_jobs.engine import Engine, start_engine
from spark_jobs.executor import Progress, execute
from spark_jobs.failures import StageError, explained

CANNOT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _parse(arguments)
    meter = Meter(whole_process=True)

    def progress(line: str) -> None:
        _say(f"[{meter.wall_s:6.1f} s] {line}")

    try:
        commit = run(options, progress, meter)
    except ForerunError as error:
        _say(f"error: {error.code}: {error}")
        return CANNOT
    outcome = {
        "run": commit.run,
        "attempt": commit.attempt,
        "won": commit.attempt == options.attempt,
        "critical": sum(check.critical for check in commit.checks),
        "warnings": sum(check.warnings for check in commit.checks),
    }
    sys.stdout.write(json.dumps(outcome) + "\n")
    return 0


def run(options: argparse.Namespace, progress: Progress, meter: Meter) -> RunCommit:
    """Read the plan, start the engine, execute. The engine is stopped whatever happens."""
    stored = StoredPlan.read(options.plan)
    plan = stored.plan
    if plan.current != options.run:
        raise ContractError(
            f"{options.plan} plans run {plan.current}, not run {options.run}",
            hint="Pass the run that the plan was made for.",
        )
    with explained(f"starting {options.engine}"):
        engine = _start(options, plan)
    try:
        progress(
            f"run {plan.current} of {plan.report}: {len(plan.run.stages)} stages, {engine.name}"
        )
        with explained(f"run {plan.current}"):
            return execute(engine, stored, options.attempt, progress, meter)
    finally:
        _stop(engine, progress)


def _stop(engine: Engine, progress: Progress) -> None:
    """A driver whose JVM is gone cannot be stopped; that must not hide why it is gone, nor that
    the run is committed."""
    try:
        with explained("stopping the engine"):
            engine.stop()
    except StageError as error:
        progress(error.message)


def _start(options: argparse.Namespace, plan: Plan) -> Engine:
    """Each engine is imported only when it is asked for."""
    name = f"forerun {plan.report} run {plan.current}"
    return start_engine(ENGINES[options.engine], master=options.master, name=name)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plan", required=True, help="URI of the stored plan of this run")
    parser.add_argument("--run", required=True, type=int, help="which run of the day, from 1")
    parser.add_argument("--attempt", required=True, help="token that no other attempt has")
    parser.add_argument("--engine", choices=tuple(ENGINES), default="spark")
    parser.add_argument("--master", help="Spark master; default: what spark-submit says")
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
