"""Print what the commands say: results on stdout, everything on the way on stderr."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from forerun.planner.errors import ForerunError


def notes() -> Console:
    """The console on stderr, for progress and remarks."""
    return Console(stderr=True, highlight=False)


def output() -> Console:
    """The console on stdout, for tables; as wide as they need where it is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 140)


def say(text: str) -> None:
    """A result, as it is, on stdout."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def say_json(record: Mapping[str, object]) -> None:
    """A result as JSON on stdout."""
    say(to_text(record))


def to_text(record: Mapping[str, object]) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def fail(error: ForerunError, *, as_json: bool) -> None:
    """An error that the user can put right: code, message and hint, never a traceback."""
    if as_json:
        record = {"code": error.code, "message": error.message, "hint": error.hint}
        say_json({"error": record})
    sys.stderr.write(f"error ({error.code}): {error}\n")


@contextmanager
def children_apart() -> Iterator[None]:
    """Let what child processes that are started meanwhile write to stderr, now and later, go into a
    file: the start of Spark's JVM says five lines that no reader of a command needs. They are shown
    if the block fails."""
    with tempfile.TemporaryFile() as said:
        own = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        except BaseException:
            said.seek(0)
            os.write(own, said.read())
            raise
        finally:
            os.dup2(own, 2)
            os.close(own)


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress bars on stderr; nothing but the last state where stderr is not a terminal."""
    bars = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=notes(),
    )
    with bars:
        yield bars
