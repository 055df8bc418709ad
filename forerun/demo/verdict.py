"""Whether early work paid on the demo's day, and what Forerun would have done left to itself.

The demo asks for every early run, so that there is something to see. Whether they pay depends on
how much there is to do: below some size the fixed cost of an application is all there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from forerun.accounts import DayAccount
from forerun.planning import build_request, read_report
from forerun.tables import Table
from planner import api
from planner.request import TimePoint


def left_to_itself(
    report: Path, tables: Mapping[str, Table], points: tuple[TimePoint, ...]
) -> tuple[int, ...]:
    """The early runs that the planner opens in mode ``auto``, by its estimate; none is batch."""
    request = build_request(read_report(report), tables, frozenset(tables), points, "auto")
    plan = api.plan(request).plan
    return tuple(run.index for run in plan.runs[:-1] if run.opened)


def early_words(early: tuple[int, ...]) -> str:
    if not early:
        return "batch"
    return f"early run{'s' if len(early) > 1 else ''} {_list([str(run) for run in early])}"


def verdict(
    days: Mapping[str, DayAccount], alone: Mapping[str, tuple[int, ...]]
) -> tuple[str, ...]:
    """The answer in the figures of this very demo, in sentences. ``days`` and ``alone`` (of
    :func:`left_to_itself`) by the reports' titles."""
    cheaper = [title for title, day in days.items() if (day.weighted_ratio or 1.0) < 1.0]
    dearer = [title for title in days if title not in cheaper]
    said = []
    if cheaper:
        said.append(f"Early work paid for {_list(cheaper)}: less CPU times price than batch.")
    if dearer:
        said.append(f"Early work did not pay for {_list(dearer)}.")
    opening = [
        run.process_cpu_s - run.cpu_s
        for day in days.values()
        for run in day.runs[:-1]
        if not run.skipped
    ]
    if opening:
        work = _list([f"{day.batch.cpu_s:.1f}" for day in days.values()])
        said.append(
            f"An application takes {median(opening):.0f} s of CPU besides its work on the data, "
            f"and there is little of that here: {work} s in the plain queries. The shares compare "
            "the work of the executors; counted by whole processes, every further application "
            "weighs in."
        )
    by_itself = "; ".join(f"{title}, {early_words(early)}" for title, early in alone.items())
    said.append(
        "The demo asks for every early run, whether it pays or not. Left to itself (mode auto), "
        f"Forerun would have chosen: {by_itself}."
    )
    said.append("docs/benchmarks.md has figures at scale 10.")
    return tuple(said)


def _list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
