"""Show what the stages of one run read and write, as a tree, from the stored plan alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forerun.planner.contract.plan_v1 import (
    ArtifactOutput,
    FamilyInput,
    Plan,
    Run,
    SourceInput,
    Stage,
)


@dataclass(frozen=True, slots=True)
class Node:
    """A stage, a source or saved rows. ``kind`` is stage, source, delivery or kept."""

    depth: int
    kind: str
    text: str


def nodes(plan: Plan, run: Run) -> tuple[Node, ...]:
    """The stages of a run from its last output down to what it reads. A stage whose rows two
    others read is listed under the first; later it is named only."""
    writers = {s.output.family: s for s in run.stages if isinstance(s.output, ArtifactOutput)}
    read = {i.family for s in run.stages for i in s.inputs if isinstance(i, FamilyInput)}
    roots = [
        s
        for s in run.stages
        if not isinstance(s.output, ArtifactOutput) or s.output.family not in read
    ]
    seen: set[str] = set()
    found: list[Node] = []
    for stage in reversed(roots):
        found.extend(_stage(plan, run, stage, writers, seen, 0))
    return tuple(found)


def render(plan: Plan, run: Run) -> str:
    """The tree as text; empty for a run without stages."""
    return "".join(f"{'  ' * node.depth}{node.text}\n" for node in nodes(plan, run))


def _stage(
    plan: Plan, run: Run, stage: Stage, writers: dict[str, Stage], seen: set[str], depth: int
) -> Iterator[Node]:
    yield Node(depth, "stage", _title(plan, stage))
    if stage.id in seen:
        return
    seen.add(stage.id)
    for given in stage.inputs:
        if isinstance(given, SourceInput):
            yield _source(given, depth + 1)
            continue
        family = plan.family(given.family)
        writer = writers.get(given.family)
        if run.base and family.kind != "checkpoint":
            earlier = ", ".join(str(r.index) for r in plan.runs if r.opened and r.index < run.index)
            yield Node(depth + 1, "kept", f"kept by run {earlier}: {family.title}")
        if family.id in plan.inherited:
            yield Node(depth + 1, "kept", f"kept by earlier days: {family.title}")
        if writer is not None and writer is not stage:
            yield from _stage(plan, run, writer, writers, seen, depth + 1)


def _title(plan: Plan, stage: Stage) -> str:
    if isinstance(stage.output, ArtifactOutput):
        family = plan.family(stage.output.family)
        if family.kind == "checkpoint":
            return f"checkpoint: {family.title}"
        how = f" in {family.buckets} buckets" if family.buckets else ""
        return f"keep {family.title}{how}"
    return "the report"


def _source(given: SourceInput, depth: int) -> Node:
    if given.version == "delta":
        return Node(depth, "delivery", f"new rows of {given.source}")
    return Node(depth, "source", f"all rows of {given.source}")
