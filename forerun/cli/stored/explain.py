"""``forerun explain``: an error code, or what the plan of a day does and why."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import forerun
from forerun import console
from forerun.cli.stored.options import JsonOption, StoreOption, read_day, store_at
from forerun.include.oncall.day.standing import plan_sentence
from forerun.include.oncall.day.view import DayView, read_day_view
from forerun.include.oncall.remedies import BATCH_SHARES
from forerun.planner.errors import RequestError
from forerun.planner.explain.reasons import reason_text

_CODE = re.compile(r'^    code = "([a-z-]+)"(?=\s|\Z)', re.MULTILINE)
_ROOMS = ("planner", "include", "spark_jobs", "airflow", "simulation", "past", "demo", "cli")


def explain_command(
    what: Annotated[
        str, typer.Argument(metavar="CODE|REPORT", help="An error code, or a report with its DAY.")
    ],
    day: Annotated[str, typer.Argument(metavar="[DAY]", help="The report date.")] = "",
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> int:
    """Explain an error by its code, or the plan of a report's day: its runs, stages, and why.

    Every error of Forerun begins with its code, such as [source-file].
    """
    if not day:
        return _explain_code(what.strip("[]"), as_json=as_json)
    opened = store_at(store)
    view = read_day_view(opened, read_day(opened, what, day))
    if as_json:
        console.say_json(_record(view))
    else:
        console.say("\n".join(_lines(view)))
    return 0


def error_codes() -> dict[str, str]:
    """Return what each error code means: the docstring of its class. The classes are found in the
    source, since importing all of them would import Airflow and Spark."""
    package = Path(forerun.__file__).parent
    files = (path for room in _ROOMS for path in sorted((package / room).rglob("*.py")))
    texts = (path.read_text(encoding="utf-8") for path in files)
    return dict(pair for text in texts if _CODE.search(text) for pair in _classes(text))


def _classes(text: str) -> Iterator[tuple[str, str]]:
    for node in ast.parse(text).body:
        found = _CODE.search(ast.get_source_segment(text, node) or "")
        if found and isinstance(node, ast.ClassDef):
            yield found[1], inspect.cleandoc(ast.get_docstring(node) or "")


def _explain_code(code: str, *, as_json: bool) -> int:
    known = error_codes()
    if code not in known:
        near = difflib.get_close_matches(code, known, n=1)
        raise RequestError(
            f"{code} is no error code of Forerun",
            hint=f"Did you mean {near[0]}?"
            if near
            else "For a plan name the day, too: forerun explain REPORT 2026-01-31.",
        )
    shared = code in BATCH_SHARES
    if as_json:
        console.say_json({"code": code, "means": known[code], "batch_shares_it": shared})
        return 0
    helps = "Running batch runs into it as well." if shared else "Running batch may get around it."
    console.say(f"[{code}] {known[code]}\n\nWhat to do stands in the hint of the error. {helps}")
    return 0


def _lines(view: DayView) -> Iterator[str]:
    records, plan = view.records, view.records.plan
    yield f"{records.at.report} of {records.at.day}, generation {records.at.generation}"
    yield plan_sentence(plan)
    for run in view.runs:
        name = "final run" if run.final else f"run {run.index}"
        at = run.at.astimezone(records.spec.zone)
        yield f"\n{name}, {at:%Y-%m-%d %H:%M}, price {run.weight:g}: {run.state}"
        if run.flow:
            yield run.flow.rstrip()
    if plan is not None and plan.not_incremental:
        yield "\nWaits for the final run:"
        yield from (f"  {one.operator}: {reason_text(one.reason)}" for one in plan.not_incremental)
    for version in view.versions:
        yield f"\nplanned for run {version.file.run}: {version.sentence}"
        yield from (f"  {change}" for change in version.changes)


def _record(view: DayView) -> dict[str, object]:
    plan = view.records.plan
    return {
        "report": view.records.at.report,
        "day": view.records.at.day,
        "plan": plan_sentence(plan),
        "method": plan.method if plan else None,
        "runs": [
            {
                "run": run.index,
                "at": run.at.isoformat(),
                "weight": run.weight,
                "state": run.state,
                "estimated_cpu_s": run.estimated_s,
                "stages": run.flow,
            }
            for run in view.runs
        ],
    }
