"""Doing a repair: its run as an application, the difference to what is published, publishing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from forerun.include.days.handle import Day
from forerun.include.machine.jvm import home_folder
from forerun.include.machine.wall_clock import utc_now
from forerun.include.past.repair import Repair, begin_repair, pin_all
from forerun.include.runs.prepare import publish_result
from forerun.include.sources.corrections import find_corrections
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import RunCommit
from forerun.include.state.rows import result_rows
from forerun.include.stores.opening import open_store
from forerun.include.verify.repair_diff import write_diff
from forerun.include.verify.row_diff import row_diff
from forerun.past.telling import tell_planned, telling_how_runs_end, told_publication
from forerun.planner.errors import ForerunError
from forerun.simulation.running import open_runner, scratch_folder


class NotVerifiedError(ForerunError):
    """A repair gives other rows than computing the report anew."""

    code = "not-verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedVersion:
    """A repair that is computed: its commit, and how its rows differ from those that are published
    (``diff``, :func:`forerun.include.verify.row_diff.row_diff`), which lie at ``diff_uri`` too.
    ``pointer`` is None until it is published; ``changed_again``: files that changed while all that
    was done."""

    day: Day
    repair: Repair
    commit: RunCommit
    diff: pa.Table
    diff_uri: str
    process_cpu_s: float | None = None
    pointer: Pointer | None = None
    changed_again: int = 0


def compute(
    repair: Repair, engine: str, master: str, say: Callable[[str], None]
) -> RepairedVersion:
    """Do the run of a repair and compare its result with what is published. Nothing that readers
    see is changed. A repair that was computed before is not computed again."""
    prepared = begin_repair(repair, now=utc_now())
    day = replace(repair.day, store=open_store(repair.day.store.root), at=prepared.at)
    used = None
    if prepared.skip_reason:
        say(prepared.skip_reason)
    else:
        say(f"computing {repair.day.spec.name} of {repair.day.date}")
        tell_planned(day, prepared)
        logs = scratch_folder(home_folder() / "repairs", repair.day.spec.name)
        with (
            open_runner(engine, logs, master) as runner,
            telling_how_runs_end(lambda: [(day, prepared.run, "final")]),
        ):
            used = runner.run([prepared.plan_uri], "repair", tiny=prepared.tiny)
    commit = day.commit(prepared.run)
    if commit is None or commit.result is None:
        raise ForerunError(
            f"the run of the repair of {day.spec.name}, {day.date}, has not been committed",
            code="run-failed",
            hint="Ask for the repair again: it goes on from what is done.",
        )
    diff = write_diff(day, commit, repair.published)
    return RepairedVersion(
        day=day,
        repair=repair,
        commit=commit,
        diff=diff,
        diff_uri=day.store.uri(day.at.diff(commit.run, commit.attempt)),
        process_cpu_s=used.process_cpu_s if used is not None else None,
    )


def verify(
    version: RepairedVersion,
    repair: Repair,
    engine: str,
    master: str,
    say: Callable[[str], None],
) -> None:
    """Compute the report anew as well, in a generation that nobody publishes, and compare.
    ``repair`` is the same one planned for that ``engine``. Raises :class:`NotVerifiedError` if the
    rows are not the same."""
    anew = compute(replace(repair, plans=(repair.anew,)), engine, master, say)
    results = [
        result_rows(one.day.store, one.commit.result)
        for one in (anew, version)
        if one.commit.result is not None
    ]
    if differing := row_diff(*results).num_rows:
        raise NotVerifiedError(
            f"{differing} rows of the repair of {version.day.spec.name}, {version.day.date}, are "
            f"others than {engine} computes anew, in generation {anew.day.at.generation}",
            hint="Nothing is published. Where ORDER BY ... LIMIT leaves open which rows come last, "
            "both may be right; otherwise repair it with --anew --engine spark, and report this.",
        )
    say(f"{engine} computes the same anew")


def publish(version: RepairedVersion) -> RepairedVersion:
    """Publish a repair, and look whether the sources are still as it has read them. Raises what
    :func:`forerun.include.days.publishing.publish_result` raises."""
    day, now = version.day, utc_now()
    run = version.commit.run
    pointer = told_publication(day, run, lambda: publish_result(day, now=now, run=run))
    pins = pin_all(day.store, day.spec, day.date, now)
    changed = [
        one
        for name, (_, pin) in version.repair.pins.items()
        for one in find_corrections(pin, pins[name][1])
    ]
    return replace(version, pointer=pointer, changed_again=len(changed))
