"""Tasks of a day that have failed for good: the error, what to do about it, and when.

The store alone cannot tell a run that is at work from one that is dead. So a task that Airflow
tries no more leaves its error here, and takes it away when it is started again. Nothing is decided
by it: it is what people are shown first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from forerun.include.state.layout import Generation, day_failure_key
from forerun.include.state.records import decode, encode
from forerun.include.stores.store import Store, StoreReader

_CODE = re.compile(r"^\[([a-z][a-z-]*)\] ")
_HINT = "\n  hint: "
_LONGEST = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error that ended a task. ``code`` is that of a
    :class:`forerun.planner.errors.ForerunError`, empty for any other error; ``hint`` says what to
    do, empty where nobody knows; ``run`` is the run of the day, 0 where the day was not opened;
    ``tries`` is how often the task was begun, and ``at`` when it failed, in ISO 8601."""

    task: str
    run: int
    code: str
    message: str
    hint: str
    at: str
    tries: int

    @property
    def failed_at(self) -> datetime:
        return datetime.fromisoformat(self.at)

    @property
    def what(self) -> str:
        """The error in a line: the task, the code and the message."""
        code = f"[{self.code}] " if self.code else ""
        return f"{self.task} has failed: {code}{self.message}"


def failure_of(text: str, *, task: str, run: int, at: datetime, tries: int) -> Failure:
    """Return the failure that an error's text tells of, as tasks raise it: ``[code] message``, and
    a hint below."""
    text = text.strip()
    found = _CODE.match(text)
    message, _, hint = text[found.end() if found else 0 :].partition(_HINT)
    return Failure(
        task=task,
        run=run,
        code=found[1] if found else "",
        message=message.strip()[:_LONGEST] or "it gave no reason",
        hint=hint.strip()[:_LONGEST],
        at=at.isoformat(timespec="seconds"),
        tries=tries,
    )


def record_failure(store: Store, at: Generation, failure: Failure) -> None:
    """Keep the newest failure of each task of a generation."""
    store.put(at.failure(failure.task), encode(failure))


def forget_failure(store: Store, at: Generation, task: str) -> None:
    """Take away what is known of a task's failure: it has been started again."""
    store.delete(at.failure(task))


def read_failures(store: StoreReader, at: Generation) -> tuple[Failure, ...]:
    """Return the failures of a generation that still hold, oldest first."""
    keys = [file.key for file in store.list(at.failures)]
    found = [(key, store.find(key)) for key in keys]
    failures = [decode(Failure, file.data, key) for key, file in found if file is not None]
    return tuple(sorted(failures, key=lambda one: (one.at, one.task)))


def record_unopened(store: Store, report: str, day: str, failure: Failure) -> None:
    """Keep why a day could not be opened."""
    store.put(day_failure_key(report, day), encode(failure))


def read_unopened(store: StoreReader, report: str, day: str) -> Failure | None:
    """Return why a day could not be opened; None where it was, or where nobody knows."""
    key = day_failure_key(report, day)
    found = store.find(key)
    return decode(Failure, found.data, key) if found else None
