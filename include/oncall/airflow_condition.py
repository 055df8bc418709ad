"""Tells how Airflow itself is, where that decides about days: processes that are dead, DAGs that
are paused, files of DAGs that cannot be read.

The store knows nothing of it: a task that Airflow does not begin leaves no trace there. So whoever
shows a day asks Airflow, and this says what follows for the tasks of a DAG. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forerun.include.oncall.spans import span_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """A reason in Airflow for which the tasks of a DAG do not go on. ``what`` is a sentence without
    its full stop, ``to_do`` is what ends it. ``waiting_only``: tasks that wait do not go on, all
    others do."""

    what: str
    to_do: str
    waiting_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadPart:
    """A process of Airflow (``scheduler``, ``triggerer``, ``dag-processor``) that gives no sign of
    life. ``last_seen`` is None for one that has never given any."""

    name: str
    last_seen: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A file of DAGs that cannot be imported: its path, the error in a line (empty for somebody who
    may not know it), and the ids of the DAGs that were in it when it last could be."""

    path: str
    error: str
    dag_ids: frozenset[str]


UNOPENED = "forerun_unopened"
"""How the keys begin under which a task leaves in Airflow's database that a day could not be opened
and that the store could not be told: an XCom, which Airflow takes away when the task begins again.
"""

LATELY = timedelta(days=2)
"""Of DAG runs that were to begin longer ago nobody is told that they could not open their day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnopenedDay:
    """A day that could not be opened and of which the store could not be told: the report, its DAG,
    the report date, what failed in a line, and what to do about it."""

    report: str
    dag_id: str
    day: str
    what: str
    hint: str

    @property
    def left(self) -> dict[str, str]:
        """Return what the task leaves of it; its DAG is known."""
        return {name: getattr(self, name) for name in _LEFT}


def unopened_day(dag_id: str, left: object) -> UnopenedDay | None:
    """Return the day of which a task of a DAG has left this; None if it is nothing of the kind."""
    known = left if isinstance(left, Mapping) else {}
    if not all(isinstance(known.get(name), str) for name in _LEFT):
        return None
    return UnopenedDay(dag_id=dag_id, **{name: known[name] for name in _LEFT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line at the head of a page, about Airflow or about a DAG (``dag_id``). ``is_bad``: a day is
    not published because of it, or will not be."""

    what: str
    to_do: str
    dag_id: str = ""
    is_bad: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowCondition:
    """Airflow as it is at ``now``. ``paused`` and ``gone`` have ids of DAGs: a DAG is gone when no
    file has it any more. ``unopened`` are days that only Airflow knows of. ``unknown`` says why
    Airflow could not be asked, empty where it could."""

    now: datetime
    dead: tuple[DeadPart, ...] = ()
    paused: frozenset[str] = frozenset()
    broken: tuple[BrokenFile, ...] = ()
    gone: frozenset[str] = frozenset()
    unopened: tuple[UnopenedDay, ...] = ()
    unknown: str = ""

    def halt_of(self, dag_id: str) -> Halt | None:
        """Return why tasks of a DAG do not go on, None if nothing is known to hold them up. What
        one person can put right by one step comes first."""
        if dag_id in self.paused:
            what = f"DAG {dag_id} is paused: none of its tasks begins"
            return Halt(what=what, to_do=_unpause(dag_id))
        halts = [_halt(part, self.now) for part in self.dead if part.name in _HALTING]
        halts += [_broken(file) for file in self.broken if dag_id in file.dag_ids]
        if not halts and dag_id in self.gone:
            what = f"no file of DAGs has DAG {dag_id} any more: none of its tasks begins"
            return Halt(what=what, to_do="Put its file back.")
        return min(halts, key=lambda one: one.waiting_only, default=None)

    def notices(self, unfinished: Iterable[str], known: Collection[str] = ()) -> Iterator[Notice]:
        """Yield what to say at the head of a page. ``unfinished``: for each day that is shown and
        not published the id of its DAG; ``known``: the ids of all DAGs that are shown."""
        left = list(unfinished)
        if self.unknown:
            what = f"Airflow could not be asked how it is: {self.unknown}"
            yield Notice(what=what, to_do="Look at Airflow's own pages.", is_bad=False)
        for part in self.dead:
            halt = _halt(part, self.now)
            yield Notice(what=halt.what, to_do=halt.to_do, is_bad=part.name in _HALTING)
        for file in self.broken:
            if file.dag_ids & {*left, *known}:
                halt = _broken(file)
                yield Notice(what=halt.what, to_do=halt.to_do)
        for dag_id in sorted({*left, *known} & self.paused):
            days = left.count(dag_id)
            waiting = f"{_days(days)} of it {'is' if days == 1 else 'are'} not published"
            what = f"DAG {dag_id} is paused: {waiting if days else 'no new day of it is opened'}"
            yield Notice(what=what, to_do=_unpause(dag_id), dag_id=dag_id, is_bad=days > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDag:
    """A DAG as Airflow has it. ``file`` is where it is from: a bundle, and the path in it;
    ``is_broken``: that file could not be imported lately; ``is_stale``: no file has it any more."""

    dag_id: str
    file: tuple[str | None, str | None]
    is_paused: bool
    is_stale: bool
    is_broken: bool


def condition_of(
    now: datetime,
    health: Mapping[str, Mapping[str, str | None]],
    dags: Sequence[KnownDag],
    errors: Mapping[tuple[str | None, str | None], str],
    left: Iterable[tuple[str, object]] = (),
) -> AirflowCondition:
    """Return how Airflow is by its health, as its API gives that, its DAGs, the stack traces of the
    files that cannot be imported, and what is ``left`` under :data:`UNOPENED`, each with the id of
    its DAG."""
    files: dict[tuple[str | None, str | None], set[str]] = {}
    for dag in dags:
        if dag.is_broken or dag.file in errors:
            files.setdefault(dag.file, set()).add(dag.dag_id)
    broken = (
        BrokenFile(
            path=file[1] or "(its path is not known)",
            error=error_line(errors.get(file, "")),
            dag_ids=frozenset(dag_ids),
        )
        for file, dag_ids in files.items()
    )
    return AirflowCondition(
        now=now,
        dead=tuple(_dead(health)),
        paused=frozenset(dag.dag_id for dag in dags if dag.is_paused),
        broken=tuple(broken),
        gone=frozenset(dag.dag_id for dag in dags if dag.is_stale),
        unopened=tuple(one for each in left if (one := unopened_day(*each))),
    )


def _dead(health: Mapping[str, Mapping[str, str | None]]) -> Iterator[DeadPart]:
    """Yield the processes that Airflow's health calls unhealthy, or that have never run."""
    for name in ("scheduler", "triggerer", "dag_processor"):
        part = health.get(name) or {}
        if part.get("status") != "healthy":
            seen = part.get(f"latest_{name}_heartbeat")
            last = datetime.fromisoformat(seen) if seen else None
            yield DeadPart(name=name.replace("_", "-"), last_seen=last)


_LEFT = ("report", "day", "what", "hint")
_HALTING = ("scheduler", "triggerer")
"""Without the dag-processor tasks go on: what it says of files is old, then."""

_WITHOUT = {
    "scheduler": "no task of any DAG begins",
    "triggerer": "tasks that wait for a time, a source or cores do not go on, and nobody is warned",
    "dag-processor": "changed files of DAGs are not read",
}


def _halt(part: DeadPart, now: datetime) -> Halt:
    if part.last_seen is None:
        seen = "has never given a sign of life"
    else:
        since = span_text((now - part.last_seen).total_seconds())
        seen = f"has given no sign of life since {part.last_seen:%H:%M:%S} UTC, {since} ago"
    return Halt(
        what=f"Airflow's {part.name} {seen}: {_WITHOUT[part.name]}",
        to_do=f"Start it again (airflow {part.name}); its log says why it ended.",
        waiting_only=part.name == "triggerer",
    )


def _broken(file: BrokenFile) -> Halt:
    error = f": {file.error}" if file.error else ""
    return Halt(
        what=f"the DAG file {file.path} cannot be imported, so no task of its DAGs begins{error}",
        to_do="Put the file right; Airflow reads it again within half a minute, and goes on.",
    )


def _unpause(dag_id: str) -> str:
    return f"Unpause it in Airflow, or run: airflow dags unpause {dag_id}"


def error_line(stack_trace: str) -> str:
    """Return the error at the end of a stack trace, in a line."""
    named = [line for line in stack_trace.splitlines() if _RAISED.match(line)]
    return _MODULE.sub("", named[-1])[:_LONGEST] if named else ""


_RAISED = re.compile(r"[A-Za-z_][\w.]*: ")
_MODULE = re.compile(r"^[\w.]*\.(?=\w+: )")
_LONGEST = 400


def _days(count: int) -> str:
    return f"{count} day{'' if count == 1 else 's'}"
