"""``spark-submit run.py --plan URI --attempt TOKEN``: do one run of a day and commit it; or, with
several ``--plan``, the runs of several reports in one application.

Exit codes: 0 all runs are committed (by this attempt or by another) or have given up, as early runs
may, of which the store says why; 2 one of them cannot be done, with the reason on stderr; 1 a bug,
with a traceback. Of several runs each is done whatever becomes of the others. The last line of
stdout is a JSON object, of several runs with one in ``runs`` for each. Expectations that fail do
not change the exit code: the commit says so, and publishing refuses.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from forerun.include.engines import ENGINES
from forerun.include.machine.cpu_meter import Meter
from forerun.include.runs.stored_plan import StoredPlan
from forerun.planner.errors import ContractError, ForerunError
from forerun.spark_jobs.application import Outcome, read_lifted, read_plans, run_all
from forerun.spark_jobs.engine import Engine, start_engine
from forerun.spark_jobs.executor import GivenUpError, Progress
from forerun.spark_jobs.failures import StageError, explained

CANNOT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _parse(arguments)
    meter = Meter(whole_process=True)

    def progress(line: str) -> None:
        _say(f"[{meter.wall_s:6.1f} s] {line}")

    try:
        outcomes = run(options, progress, meter)
    except ForerunError as error:
        _say(f"error: {error.code}: {error}")
        return CANNOT
    said = [_said(outcome, options.attempt) for outcome in outcomes]
    sys.stdout.write(json.dumps(said[0] if len(options.plan) == 1 else {"runs": said}) + "\n")
    errors = (outcome.error for outcome in outcomes if outcome.error is not None)
    failed = [error for error in errors if not isinstance(error, GivenUpError)]
    for reason in failed:
        _say(f"error: {reason.code}: {reason}")
    return CANNOT if failed else 0


def run(options: argparse.Namespace, progress: Progress, meter: Meter) -> list[Outcome]:
    """Read the plans, start the engine, execute. The engine is stopped whatever happens."""
    plans, failed = read_plans(options.plan)
    if not plans:
        return failed
    if options.run is not None and plans[0].plan.current != options.run:
        raise ContractError(
            f"{options.plan[0]} plans run {plans[0].plan.current}, not run {options.run}",
            hint="Pass the run that the plan was made for.",
        )
    with explained(f"starting {options.engine}"):
        engine = _start(options, plans)
    try:
        lifted = read_lifted(options.lifted, progress)
        return [*run_all(engine, plans, options.attempt, progress, meter, lifted), *failed]
    finally:
        _stop(engine, progress)


def _said(outcome: Outcome, attempt: str) -> dict[str, object]:
    """Return the content of the last line of stdout on a run."""
    commit = outcome.commit
    if commit is None:
        error = outcome.error
        return {"report": outcome.report, "error": error.code if error is not None else ""}
    return {
        "report": outcome.report,
        "run": commit.run,
        "attempt": commit.attempt,
        "won": commit.attempt == attempt,
        "critical": sum(check.critical for check in commit.checks),
        "warnings": sum(check.warnings for check in commit.checks),
    }


def _stop(engine: Engine, progress: Progress) -> None:
    """A driver whose JVM is gone cannot be stopped; that must not hide why it is gone, nor that
    the run is committed."""
    try:
        with explained("stopping the engine"):
            engine.stop()
    except StageError as error:
        progress(error.message)


def _start(options: argparse.Namespace, plans: Sequence[StoredPlan]) -> Engine:
    """Each engine is imported only when it is asked for."""
    first = plans[0].plan
    name = f"forerun {first.report} run {first.current}"
    if len(plans) > 1:
        name = f"forerun {first.report} and {len(plans) - 1} more"
    return start_engine(ENGINES[options.engine], master=options.master, name=name)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run.py",
        description=(__doc__ or "").partition("\n\n")[0],
        epilog="example: spark-submit run.py --plan s3://bucket/store/reports/sales/2026-01-31/1/"
        "plans/run-2-5f0c.json --attempt t1-9a3b",
    )
    parser.add_argument(
        "--plan", required=True, action="append", help="URI of the stored plan of a run; repeatable"
    )
    parser.add_argument(
        "--lifted",
        default=[],
        action="append",
        help="URI of a query that does the runs of several of the plans at once; repeatable",
    )
    parser.add_argument("--run", type=int, help="which run of the day a single plan must be of")
    parser.add_argument("--attempt", required=True, help="token that no other attempt has")
    parser.add_argument("--engine", choices=tuple(ENGINES), default="spark")
    parser.add_argument("--master", help="Spark master; default: what spark-submit says")
    options = parser.parse_args(arguments)
    if options.run is not None and len(options.plan) > 1:
        parser.error("--run goes with a single --plan")
    return options


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
