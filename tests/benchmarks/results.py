"""Figures of executed days: a row for each query and run, in a CSV file that outlives its command.

A row says under which conditions it was measured: code, scale, master, memory, points of time. All
rows of a query are written at once when its day is over, so a killed command loses one day at most,
and the next one goes on with what is missing.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from forerun.simulation.accounts import DayAccount, RunAccount
from tests.benchmarks.page import ROOT

BATCH, OWN = "batch", "own batch"
"""What is run beside the runs of the day: the user's own text, and stages of our own."""
FAILED, REFUSED, TOO_LONG = "failed", "refused", "too long"
"""A day that did not end, one whose method does not apply to the query, and one that was given up
for taking too long: the next command does not try it again."""
WITHOUT_FIGURES = (FAILED, REFUSED, TOO_LONG)
_CODE = ("planner", "include", "forerun", "spark_jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What figures must have in common to be compared."""

    suite: str
    scale: str
    master: str
    memory: str
    points: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Conditions):
    """One run of a query's day, by its number, or :data:`BATCH` or :data:`OWN` beside it. A day
    that has no figures is one row, one of :data:`WITHOUT_FIGURES`, with the reason as ``error``.
    ``method`` is the one that was asked for. ``not_covered`` has the codes of what the engine
    itself gets wrong in the query, so that a day that differs from it may be the right one."""

    at: str
    query: str
    run: str
    weight: float = 0.0
    arrived: float = 0.0
    decided: str = ""
    equal: bool = False
    estimated_s: float = 0.0
    executor_s: float = 0.0
    process_s: float = 0.0
    wall_s: float = 0.0
    plan_ms: float = 0.0
    source_rows: int = 0
    state_rows: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    stages: int = 0
    error: str = ""
    method: str = "auto"
    not_covered: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the result is known to be no other than it should be."""
        return self.equal or bool(self.not_covered)

    @property
    def conditions(self) -> Conditions:
        return Conditions(**{f.name: getattr(self, f.name) for f in fields(Conditions)})


_READ = {
    "str": str, "float": float, "int": int, "bool": lambda text: text == "True",
}  # fmt: skip


def code_version(root: Path = ROOT) -> str:
    """A digest of all of the product that takes part in a day."""
    digest = hashlib.sha256()
    for path in sorted(path for package in _CODE for path in (root / package).rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def rows_of(
    conditions: Conditions, at: str, query: str, day: DayAccount, method: str = "auto"
) -> list[Row]:
    """The rows of a day that was executed."""
    runs: list[tuple[str, RunAccount]] = [(str(run.index), run) for run in day.runs]
    runs.append((BATCH, day.batch))
    if day.own_batch is not None:
        runs.append((OWN, day.own_batch))
    return [
        Row(
            **asdict(conditions), at=at, query=query, run=name, weight=run.weight,
            arrived=run.arrived, decided=run.decided, equal=day.equal,
            estimated_s=run.estimated_cost, executor_s=round(run.cpu_s, 3),
            process_s=round(run.process_cpu_s, 3), wall_s=round(run.wall_s, 3),
            plan_ms=round(run.plan_ms or 0.0, 1), source_rows=run.rows_read,
            state_rows=run.state_rows_read, bytes_read=run.bytes_read,
            bytes_kept=run.state_bytes, stages=len(run.stages),
            error="" if day.equal else "; ".join(day.differences), method=method,
            not_covered=" ".join(gap["code"] for gap in day.not_covered),
        )
        for name, run in runs
    ]  # fmt: skip


def failed(
    conditions: Conditions, at: str, query: str, error: str, method: str = "auto", run: str = FAILED
) -> list[Row]:
    """The row of a day that did not end."""
    return [Row(**asdict(conditions), at=at, query=query, run=run, error=error, method=method)]


class Results:
    """All rows of a CSV file, of any conditions."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[Row]:
        if not self.path.exists():
            return []
        with self.path.open(newline="", encoding="utf-8") as lines:
            return [_row(line) for line in csv.DictReader(lines)]

    def of(self, conditions: Conditions) -> list[Row]:
        """The rows that were measured under these conditions."""
        return [row for row in self.rows() if row.conditions == conditions]

    def missing(
        self, conditions: Conditions, queries: Sequence[str], method: str = "auto"
    ) -> list[str]:
        """The queries without figures by this method under these conditions; a day that failed has
        none, and one that the method refuses needs none."""
        rows = (row for row in self.of(conditions) if row.method == method)
        there = {row.query for row in rows if row.run != FAILED}
        return [query for query in queries if query not in there]

    def put(self, fresh: Sequence[Row]) -> None:
        """Add the rows of a query's day, in place of those that it has by the same method under
        the same conditions."""
        replaced = set(map(_day, fresh))
        stay = [row for row in self.rows() if _day(row) not in replaced]
        write_csv(self.path, [*stay, *fresh])

    def put_account(self, query: str, day: DayAccount) -> None:
        """Write down all that is known of a query's last day, each stage with its cost, beside the
        file: where a day lost, it is read there."""
        folder = self.path.with_name(f"{self.path.stem}-accounts")
        folder.mkdir(exist_ok=True)
        (folder / f"{query}.json").write_text(json.dumps(day.as_json(), indent=1), encoding="utf-8")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else measures meanwhile. Raises BlockingIOError if somebody does."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield


def _day(row: Row) -> tuple[Conditions, str, str]:
    return row.conditions, row.query, row.method


def _row(line: Mapping[str, str]) -> Row:
    """A row as it was written; files from before there were columns for the method and for gaps
    are of ``auto``, and without gaps."""
    known = [f for f in fields(Row) if f.name in line or f.name not in ("method", "not_covered")]
    return Row(**{f.name: _READ[str(f.type)](line[f.name]) for f in known})


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows to a file, which appears when it is whole."""
    fresh = path.with_suffix(".new")
    with fresh.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(path)
