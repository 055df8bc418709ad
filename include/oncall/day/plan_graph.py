"""The plan of a day as a graph over its time points: which run computes what from what.

A column per run; a lane per source, per kept table, and for the result. So a table that is kept is
one lane, with a stage in each run that adds to it, and arrows show who reads whose rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from forerun.include.oncall.day.records import DayRecords
from forerun.include.state.records import RunCommit, StageMetrics
from forerun.include.stores.store import StoreReader
from forerun.planner.contract import Plan, decode_plan
from forerun.planner.contract.plan_v1 import ArtifactOutput, FamilyInput, Run, SourceInput, Stage
from forerun.planner.cost.constants import MICRO
from forerun.planner.explain.sql import statements

RESULT = "result"
"""The lane of the report itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """A row of the graph, by what it is about. ``kind``: ``source``, ``kept`` (a family of the
    plan) or ``result``."""

    id: str
    kind: Literal["source", "kept", "result"]
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """Something in a run: rows that are ``read``, or a ``stage`` that computes some. ``level``
    orders the nodes of a run: each reads only from lower ones of it."""

    id: str
    run: int
    lane: str
    level: int
    title: str
    stage: ShownStage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStage:
    """A stage with its SQL as Spark gets it, as it was estimated and, where the run is committed,
    measured; ``folder`` is where its rows lie then."""

    id: str
    title: str
    sql: str
    reads: tuple[str, ...]
    estimated_rows: int
    estimated_s: float
    metrics: StageMetrics | None
    folder: str


@dataclass(frozen=True, slots=True)
class PlanGraph:
    """The graph: its lanes from top to bottom, its nodes, and arrows between them by id. ``runs``
    are the runs that have nodes."""

    lanes: tuple[GraphRow, ...]
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...]

    @property
    def runs(self) -> tuple[int, ...]:
        return tuple(sorted({node.run for node in self.nodes}))

    @property
    def stages(self) -> tuple[GraphNode, ...]:
        """The nodes that compute something, in the order of the runs and of their stages."""
        return tuple(node for node in self.nodes if node.stage)


def read_plan_graph(store: StoreReader, records: DayRecords, plan: Plan) -> PlanGraph:
    """The graph of a plan. Runs that are committed are shown as the plan that they followed had
    them, with what they measured."""
    done = {commit.run: commit for commit in records.chain}
    followed = {run: decode_plan(store.get(commit.plan)) for run, commit in done.items()}
    return plan_graph(plan, followed, done)


def plan_graph(
    plan: Plan, followed: Mapping[int, Plan], done: Mapping[int, RunCommit]
) -> PlanGraph:
    """Return the graph of a plan: the pure form of :func:`read_plan_graph`. ``followed`` has the
    plans of the committed runs, ``done`` their commits."""
    drawing = _Drawing()
    for run in plan.runs:
        of_run = followed.get(run.index, plan)
        drawing.add_run(of_run, of_run.runs[run.index - 1], done.get(run.index))
    return drawing.graph()


class _Drawing:
    """A graph under construction, run by run. ``_writers``: the stages that have written to each
    family so far."""

    def __init__(self) -> None:
        self._lanes: dict[str, GraphRow] = {}
        self._nodes: dict[str, GraphNode] = {}
        self._edges: dict[tuple[str, str], None] = {}
        self._writers: dict[str, list[str]] = {}

    def add_run(self, plan: Plan, run: Run, commit: RunCommit | None) -> None:
        for stage in run.stages:
            node_id = f"run-{run.index}-{stage.id}"
            given = list(self._inputs(run, stage))
            inside = [self._nodes[i].level for i in given if self._nodes[i].run == run.index]
            lane = self._lane_of(plan, stage)
            self._nodes[node_id] = GraphNode(
                id=node_id,
                run=run.index,
                lane=lane,
                level=1 + max(inside, default=0),
                title=stage.title,
                stage=_shown(plan, stage, commit),
            )
            self._edges.update(dict.fromkeys((i, node_id) for i in given))
            if isinstance(stage.output, ArtifactOutput):
                self._writers.setdefault(stage.output.family, []).append(node_id)

    def graph(self) -> PlanGraph:
        order = ("source", "kept", "result")
        lanes = sorted(self._lanes.values(), key=lambda lane: order.index(lane.kind))
        return PlanGraph(tuple(lanes), tuple(self._nodes.values()), tuple(self._edges))

    def _inputs(self, run: Run, stage: Stage) -> Iterator[str]:
        for given in stage.inputs:
            if isinstance(given, SourceInput):
                yield self._read(run.index, given)
            else:
                yield from self._writers.get(given.family, ())

    def _read(self, run: int, given: SourceInput) -> str:
        lane = f"source-{given.source}"
        self._lanes.setdefault(lane, GraphRow(id=lane, kind="source", title=given.source))
        delta = given.version == "delta"
        title = "new rows" if delta else "all rows"
        node_id = f"run-{run}-{lane}-{given.version}"
        node = GraphNode(id=node_id, run=run, lane=lane, level=0, title=title)
        self._nodes.setdefault(node_id, node)
        return node_id

    def _lane_of(self, plan: Plan, stage: Stage) -> str:
        if not isinstance(stage.output, ArtifactOutput):
            self._lanes.setdefault(RESULT, GraphRow(id=RESULT, kind="result", title="the report"))
            return RESULT
        family = plan.family(stage.output.family)
        lane = f"kept-{family.id}"
        title = f"checkpoint: {family.title}" if family.kind == "checkpoint" else family.title
        self._lanes.setdefault(lane, GraphRow(id=lane, kind="kept", title=title))
        return lane


def _shown(plan: Plan, stage: Stage, commit: RunCommit | None) -> ShownStage:
    reads = tuple(
        plan.family(given.family).title
        if isinstance(given, FamilyInput)
        else f"{'new' if given.version == 'delta' else 'all'} rows of {given.source}"
        for given in stage.inputs
    )
    measured = commit.metrics.stages if commit else ()
    family = stage.output.family if isinstance(stage.output, ArtifactOutput) else RESULT
    parts = [*commit.artifacts, *([commit.result] if commit.result else [])] if commit else []
    return ShownStage(
        id=stage.id,
        title=stage.title,
        sql=statements(stage),
        reads=reads,
        estimated_rows=stage.estimated_rows,
        estimated_s=stage.estimated_cost / MICRO,
        metrics=next((one for one in measured if one.stage == stage.id), None),
        folder=next((part.folder for part in parts if part.family == family), ""),
    )
