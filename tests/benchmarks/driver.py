"""One way to measure: cells, of which each is written down as it ends, and a table of all of them.

A :class:`Benchmark` says which cells there are, how one is measured and how their figures read. The
driver does the rest, for all alike: what has its figures by this code under these conditions is not
measured again, so a command may be killed and started again; a cell that fails is said, and tried
again by the next command; one that takes too long is given up for good. Nobody else measures the
same meanwhile. Ratios within one command are what to look at, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import atexit
import fcntl
import hashlib
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

import psutil

from forerun.include.machine.jvm import home_folder
from forerun.planner.errors import ForerunError, MethodError
from tests.benchmarks.page import PAGE, ROOT, write_section

K = TypeVar("K")
V = TypeVar("V")
Name = tuple[str, ...]
"""What a cell is of, such as a query and a method: together, they are the cell's name."""
Figures = dict[str, Any]
"""What was measured, as JSON. ``differences``: texts that say where a result is not the right one;
``not_covered``: codes of what the engine itself gets wrong, so that the day may be the right
one."""
Found = Mapping[Name, Figures]
"""The figures of the cells that have any, in the order of the cells."""

FAILED, REFUSED, TOO_LONG = "failed", "refused", "too long"
"""A cell that did not end, one whose method does not apply to the query, and one that was given up
for taking too long: the next command tries only the first again."""
_CODE = ("planner", "include", "forerun", "spark_jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One thing to measure. ``under``: the conditions that figures must have in common to be
    compared, beside the code. ``measure`` gets what was measured of the other cells by now, and
    raises ForerunError for what cannot be; ``limit_s``: seconds after which it is given up, 0 for
    any."""

    name: Name
    measure: Callable[[Found], Figures]
    under: str = ""
    limit_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What is measured, and how it reads. ``cells`` and ``lines`` get the options of the command;
    ``about`` is what has to be known to read the lines; ``section`` names the part of ``page`` that
    is written once every cell has figures, empty for none; ``beside`` are files by name that are
    written next to the page."""

    cells: Callable[[argparse.Namespace], Iterable[Cell]]
    lines: Callable[[argparse.Namespace, Found], Iterable[str]]
    about: str = ""
    section: Callable[[argparse.Namespace], str] = lambda _given: ""
    page: Path = PAGE
    beside: Callable[[argparse.Namespace, Found], Mapping[str, str]] = lambda _given, _found: {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A cell that was measured, or why it has no figures (``how``: one of :data:`FAILED` and so
    on)."""

    cell: Name
    under: str
    code: str
    at: str
    figures: Figures = field(default_factory=dict)
    how: str = ""
    error: str = ""


def code_version(root: Path = ROOT) -> str:
    """A digest of all of the product that takes part in a day."""
    digest = hashlib.sha256()
    for path in sorted(path for package in _CODE for path in (root / package).rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Kept:
    """Records in a file, a line each, that outlives the command. Of one cell under the same
    conditions and by the same code, the last one counts."""

    def __init__(self, path: Path, code: str = "") -> None:
        self.path, self.code = path, code or code_version()
        self._last: dict[tuple[Name, str], Record] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                read = json.loads(line)
                one = Record(**{**read, "cell": tuple(read["cell"])})
                if one.code == self.code:
                    self._last[one.cell, one.under] = one

    def of(self, cells: Iterable[Cell]) -> dict[Name, Record]:
        """The records of these cells, in their order."""
        asked = ((cell.name, cell.under) for cell in cells)
        return {key[0]: self._last[key] for key in asked if key in self._last}

    def put(self, cell: Cell, figures: Figures, how: str = "", error: str = "") -> None:
        """Write down what came of a cell."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        record = Record(
            cell=cell.name, under=cell.under, code=self.code, at=at, figures=figures, how=how,
            error=error,
        )  # fmt: skip
        self._last[cell.name, cell.under] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record)) + "\n")
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else measures into a file meanwhile. Raises BlockingIOError if somebody does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


class OneAtATime(Generic[K, V]):
    """What several cells in turn share, such as a session: opened by the first that wants it, and
    closed when one wants another, or the command ends."""

    def __init__(self, opened: Callable[[K], AbstractContextManager[V]]) -> None:
        self._opened, self._stack = opened, ExitStack()
        self._open: list[tuple[K, V]] = []
        atexit.register(self.close)

    def of(self, key: K) -> V:
        if not self._open or self._open[0][0] != key:
            self.close()
            self._open.append((key, self._stack.enter_context(self._opened(key))))
        return self._open[0][1]

    def close(self) -> None:
        self._open.clear()
        self._stack.close()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield a table of the page."""
    yield f"| {' | '.join(columns)} |"
    yield "| --- " * len(columns) + "|"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def chosen(cells: Iterable[Cell], only: Sequence[Sequence[str]]) -> list[Cell]:
    """The cells whose names have one of the words of each list. Ends the command for a word that no
    name has."""
    every = list(cells)
    known = {word for cell in every for word in cell.name}
    if unknown := {word for words in only for word in words} - known:
        raise SystemExit(
            f"nothing is called {', '.join(sorted(unknown))}; there are {sorted(known)}"
        )
    return [cell for cell in every if all({*cell.name} & {*words} for words in only)]


def run(name: str, benchmark: Benchmark, given: argparse.Namespace) -> int:
    """Measure what is asked for and has no figures yet, print the table of what was asked for, and
    write the page if nothing is missing of all."""
    every = list(benchmark.cells(given))
    asked = chosen(every, given.only)
    path = home_folder() / "bench" / f"{name}.jsonl"
    with alone(path):
        kept = Kept(path)
        done = kept.of(asked)
        wanted = [
            cell
            for cell in asked
            if given.again or cell.name not in done or done[cell.name].how == FAILED
        ]
        say(f"{len(wanted)} of {len(asked)} to measure; the others have figures in {kept.path}")
        measure(kept, every, wanted)
    records, all_records = kept.of(asked), kept.of(every)
    print("\n".join(lines_of(benchmark, given, asked, records)))
    missing = [cell for cell in every if cell.name not in all_records]
    if (section := benchmark.section(given)) and not given.no_page:
        if given.page or not missing:
            _publish(benchmark, given, section, every, all_records)
        else:
            say(f"no page: {len(missing)} of {len(every)} have no figures")
    wrong = [one for one in records.values() if not _is_right(one)]
    return int(len(records) < len(asked) or bool(wrong))


def measure(kept: Kept, every: Sequence[Cell], wanted: Sequence[Cell]) -> None:
    """Measure the ``wanted`` cells in turn, and write down each as it ends."""
    started = time.time()
    for number, cell in enumerate(wanted):
        say(progress(" ".join(cell.name), number, len(wanted), time.time() - started))
        try:
            with _at_most(kept, cell):
                kept.put(cell, cell.measure(_found(kept.of(every))))
        except ForerunError as error:
            how = REFUSED if isinstance(error, MethodError) else FAILED
            say(f"{' '.join(cell.name)} {how.upper()}: {error}")
            kept.put(cell, {}, how, str(error))


def progress(name: str, done: int, of: int, elapsed_s: float) -> str:
    """What is under way and how long it will all take, going by the cells that are done."""
    text = f"{name}: {done + 1} of {of}, {timedelta(seconds=round(elapsed_s))} elapsed"
    if not done:
        return text
    end = datetime.now() + timedelta(seconds=elapsed_s / done * (of - done))
    return f"{text}, end expected at {end:%H:%M}"


@contextmanager
def _at_most(kept: Kept, cell: Cell) -> Iterator[None]:
    """Give the block the seconds of a cell. After them the command starts itself again without it,
    since a session in this process cannot be stopped otherwise."""

    def end() -> None:
        kept.put(cell, {}, TOO_LONG, f"not done in {cell.limit_s:g} s")
        say(f"not done in {cell.limit_s:g} s: going on with the next one")
        for child in psutil.Process().children(recursive=True):
            child.kill()
        given = [one for one in sys.orig_argv[1:] if one != "--again"]
        os.execv(sys.executable, [sys.executable, *given])

    if not cell.limit_s:
        yield
        return
    timer = threading.Timer(cell.limit_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def lines_of(
    benchmark: Benchmark,
    given: argparse.Namespace,
    cells: Sequence[Cell],
    records: Mapping[Name, Record],
) -> list[str]:
    """The figures of these cells as lines of the page: where and when, what is missing or went
    wrong, and the tables."""
    found = _found(records)
    dates = sorted({one.at[:10] for one in records.values()})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "not run yet"
    codes = {one.code for one in records.values()}
    under = filter(None, [cell.under for cell in cells[-1:]])
    head = [machine(), when, *under, *(f"code {code}" for code in codes)]
    out = [f"{', '.join(head)}.", ""]
    if len(records) < len(cells):
        missing = [" ".join(cell.name) for cell in cells if cell.name not in records]
        out += [f"**Unfinished: {len(records)} of {len(cells)} have figures.** Without:"]
        out += [f"{', '.join(missing[:9])}{', ...' if len(missing) > 9 else ''}", ""]
    trouble = [_trouble(one) for one in records.values() if one.how != REFUSED]
    if any(trouble):
        out += [*filter(None, trouble), ""]
    if benchmark.about:
        out += [*benchmark.about.splitlines(), ""]
    return [*out, *benchmark.lines(given, found)] if found else out


def _found(records: Mapping[Name, Record]) -> Found:
    return {name: one.figures for name, one in records.items() if not one.how}


def _trouble(one: Record) -> str:
    name = " ".join(one.cell)
    if one.how:
        return f"- {name} {one.how}: {one.error}"
    if not (differences := one.figures.get("differences")):
        return ""
    gaps = one.figures.get("not_covered")
    why = f", where the engine's own text is wrong ({gaps})" if gaps else ""
    return f"- {name} is not equal{why}: {'; '.join(differences)}"


def _is_right(one: Record) -> bool:
    """Return whether what came of a cell is known to be no other than it should be."""
    if one.how:
        return one.how == REFUSED
    return not one.figures.get("differences") or bool(one.figures.get("not_covered"))


def _publish(
    benchmark: Benchmark,
    given: argparse.Namespace,
    section: str,
    cells: Sequence[Cell],
    records: Mapping[Name, Record],
) -> None:
    write_section(section, lines_of(benchmark, given, cells, records), benchmark.page)
    found = _found(records)
    beside = benchmark.beside(given, found) if found else {}
    for file, text in beside.items():
        (benchmark.page.parent / file).write_text(text, encoding="utf-8")
    say(f"wrote {', '.join([benchmark.page.name, *beside])} in {benchmark.page.parent}")
