"""Runs the days of a case straight from the plan's contract, on any engine, and checks each result.

This is the shortest executor there can be: it binds snapshots, deliveries and families as views,
runs the stages of the current run in order, and keeps what they give. No files, no job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from planner.api import plan
from planner.contract.plan_v1 import (
    ArtifactOutput,
    Family,
    FamilyInput,
    Plan,
    SourceInput,
    Stage,
)
from planner.request import Committed, PlanRequest, Settings, TimePoint
from tests.oracles.bags import compare_bags, same_limited
from tests.oracles.values import Row
from tests.properties.cases import Case

Columns = tuple[tuple[str, str], ...]


class Engine(Protocol):
    """Something that evaluates Spark SQL over bound tables. Raises whatever it raises."""

    def bind(self, name: str, columns: Columns, rows: list[Row]) -> None: ...
    def query(self, sql: str) -> list[Row]: ...


@dataclass
class Day:
    """What has been committed so far."""

    committed: list[Committed] = field(default_factory=list)
    partitions: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)

    @property
    def base(self) -> int:
        return self.committed[-1].index if self.committed else 0


@dataclass(frozen=True)
class Outcome:
    """How far the case went: did any run before the last keep something that was read later?"""

    early_families: int
    batch: bool


def request_of(case: Case, run: int, points: int, day: Day, early: bool) -> PlanRequest:
    """Run ``run`` of a day with ``points`` runs."""
    weights = [0.25 + 0.75 * i / max(1, points - 1) for i in range(points)]
    weights[-1] = 1.0
    return PlanRequest(
        report=case.name,
        sql=case.query.sql,
        sources=case.sources,
        points=tuple(TimePoint(weight=w, arrived=(i + 1) / points) for i, w in enumerate(weights)),
        current=run,
        committed=tuple(day.committed),
        settings=Settings(temporal="early" if early else "cost"),
    )


def run_case(case: Case, engine: Engine, *, every_time_point: bool = False) -> Outcome:
    """Run the day and compare with the user's own text; optionally as if each run were the last."""
    day = Day()
    kept = 0
    final: Plan | None = None
    for run in range(1, case.runs + 1):
        last = run == case.runs
        if every_time_point and not last:
            so_far = plan(request_of(case, run, run, day, case.early)).plan
            rows = _run(so_far, case, engine, Day(list(day.committed), dict(day.partitions)))
            _check(case, engine, run, rows)
        current = plan(request_of(case, run, case.runs, day, case.early)).plan
        rows = _run(current, case, engine, day)
        if last:
            _check(case, engine, run, rows)
            final = current
        elif current.run.opened:
            families = tuple(current.family(name) for name in _written(current.run.stages))
            kept += len(families)
            day.committed.append(Committed(index=run, families=_all(day, families)))
    return Outcome(kept, final is not None and final.method == "batch")


def _all(day: Day, new: tuple[Family, ...]) -> tuple[Family, ...]:
    """The families this run holds a partition of."""
    return new


def _written(stages: tuple[Stage, ...]) -> list[str]:
    return [s.output.family for s in stages if isinstance(s.output, ArtifactOutput)]


def _run(current: Plan, case: Case, engine: Engine, day: Day) -> list[Row] | None:
    """Run the stages of the current run; the result's rows if there is a result."""
    run, result = current.run, None
    if run.opened and run.base != day.base:
        raise AssertionError(f"the plan goes on from run {run.base}, not {day.base}")
    for stage in run.stages:
        for given in stage.inputs:
            _bind(given, current, case, engine, day)
        rows = engine.query(stage.sql)
        if isinstance(stage.output, ArtifactOutput):
            family = current.family(stage.output.family)
            if rows and len(rows[0]) != len(family.columns):
                raise AssertionError(f"{stage.id} gives {len(rows[0])} columns for {family}")
            held = day.partitions.get(family.id, [])
            day.partitions[family.id] = held + [(run.index, row) for row in rows]
        else:
            result = rows
    return result


def _bind(
    given: SourceInput | FamilyInput, current: Plan, case: Case, engine: Engine, day: Day
) -> None:
    run = current.current
    if isinstance(given, FamilyInput):
        family = current.family(given.family)
        columns = (*((c.name, c.type) for c in family.columns), ("__run", "INT"))
        rows = [(*row, written) for written, row in day.partitions.get(family.id, [])]
        engine.bind(family.id, columns, rows)
        return
    table = case.tables[given.source]
    rows = table.rows(run)
    if given.version == "delta":
        rows = rows[len(table.rows(day.base)) :]
    engine.bind(given.view, table.columns, rows)


def _check(case: Case, engine: Engine, run: int, rows: list[Row] | None) -> None:
    """Equal to the user's own text over what has arrived by ``run``."""
    if rows is None:
        raise AssertionError(f"run {run} publishes no result")
    for name, table in case.tables.items():
        engine.bind(name, table.columns, table.rows(run))
    query = case.query
    if query.limit is not None:
        same_limited(engine.query(query.ordered), rows, query.sort_keys, query.limit)
        return
    expected = engine.query(query.sql)
    compare_bags(expected, rows, magnitude=1e4)
    if query.order:
        same_limited(expected, rows, query.sort_keys, len(expected))
        keys = [tuple(row[k] for k in query.sort_keys) for row in rows]
        if keys != [tuple(row[k] for k in query.sort_keys) for row in expected]:
            raise AssertionError("the rows of the result are not in the order of the query")
