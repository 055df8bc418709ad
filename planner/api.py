"""The one entry to the planner: a request in, a plan and how it came about out.

The flow: SQL to algebra, normalize, annotate with rules, decide (which runs are opened, what runs
early, what is kept) and build the stages of every run that is still to come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.algebra.relational import Relation, sources
from planner.contract.plan_v1 import (
    CONTRACT_VERSION,
    ColumnSpec,
    Family,
    NotIncremental,
    Plan,
    ResultOutput,
    Run,
    SourceInput,
    SourceTable,
    Stage,
)
from planner.errors import Reason, RequestError
from planner.materialize.families import Families
from planner.materialize.runs import Candidate, Decision, decide, walk
from planner.request import PlanRequest
from planner.rules.explore.eager_aggregate import aggregate_eagerly
from planner.rules.explore.same_group import join_groups_once
from planner.rules.normalize.driver import normalize
from planner.sql.frontend import Query, read_query
from planner.stages.build import Span, StageBuilder
from planner.stats.containment import with_contained_keys
from planner.temporal.annotate import Operator, annotate, label
from planner.temporal.assign import Mode
from planner.temporal.sizes import Sizes
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The plan, and what explain shows of how it was found. ``kept``: the id of the family that
    holds an operator's output, by the operator's index."""

    plan: Plan
    query: Query
    root: Operator
    sizes: Sizes
    decision: Decision
    kept: Mapping[int, str]


def plan(request: PlanRequest) -> PlanResult:
    """Plan the rest of a day. Raises :class:`planner.errors.ForerunError` with what to do."""
    check(request)
    query = read_query(request.sql, request.sources)
    ids = ColumnIds(query.last_id)
    request = _with_contained_keys(request, query)
    relation = normalize(query.relation, request.first_sources or request.sources, ids)
    root, sizes, families, decision = _decide(relation, request, ids)
    chosen = decision.chosen
    used: tuple[Family, ...] = ()
    if chosen.is_batch:
        runs = _batch_runs(chosen, relation, query, request)
    else:
        runs, used = _runs(chosen, query, request, families, ids)
    result = Plan(
        version=CONTRACT_VERSION,
        report=request.report,
        sql=request.sql,
        method="batch" if chosen.is_batch else "incremental",
        current=request.current,
        sources=_source_tables(relation, request),
        families=used,
        runs=runs,
        session=request.settings.session,
        estimated_cost=round(chosen.total),
        batch_cost=round(decision.batch.total),
        not_incremental=_not_incremental(root, chosen),
    )
    return PlanResult(result, query, root, sizes, decision, _kept(chosen, families))


def _with_contained_keys(request: PlanRequest, query: Query) -> PlanRequest:
    """The request with what the query itself tells of its sources."""
    return replace(
        request,
        sources=with_contained_keys(query.relation, request.sources),
        first_sources=with_contained_keys(query.relation, request.first_sources),
    )


def _decide(
    relation: Relation, request: PlanRequest, ids: ColumnIds
) -> tuple[Operator, Sizes, Families, Decision]:
    """The best decision over the query as it is and with aggregates pushed below joins."""
    changing = frozenset(s.name for s in request.sources if s.changing)

    def look(at: Relation, batch: Candidate | None) -> tuple[Operator, Sizes, Families, Decision]:
        root = annotate(at, changing)
        sizes = Sizes(root, request)
        families = Families(root, sizes, request, ids)
        return root, sizes, families, decide(root, sizes, families, request, batch)

    plain = look(relation, None)
    if request.method == "batch" or request.settings.temporal == "early":
        return plain
    eager = aggregate_eagerly(relation, ids)
    if eager is None:
        return plain
    pushed = look(join_groups_once(eager), plain[3].batch)
    if pushed[3].chosen.is_batch or pushed[3].chosen.total >= plain[3].chosen.total:
        return plain
    return pushed


def check(request: PlanRequest) -> None:
    """Refuse a request that has no meaning."""
    if not request.points:
        raise RequestError("the day has no runs", hint="Give at least one time point.")
    for index, point in enumerate(request.points, 1):
        if not 0 < point.weight < math.inf:
            raise RequestError(
                f"the weight of run {index} is {point.weight:g}",
                hint="Weights are prices of compute: positive numbers.",
            )
        if not 0 <= point.arrived <= 1:
            raise RequestError(
                f"run {index} has {point.arrived:g} of the data",
                hint="Give fractions between 0 and 1, such as 0.58,0.79,1.",
            )
    for earlier, later in zip(request.points, request.points[1:], strict=False):
        if later.arrived < earlier.arrived:
            raise RequestError(
                f"less data has arrived later ({later.arrived:g} after {earlier.arrived:g})",
                hint="Give the arrived fractions in the order of the runs.",
            )
    if not 1 <= request.current <= len(request.points):
        raise RequestError(
            f"there is no run {request.current} in a day of {len(request.points)} runs",
            hint="Runs are counted from 1.",
        )
    if any(run.index >= request.current for run in request.committed):
        raise RequestError(
            f"run {request.current} is planned, but run {request.committed[-1].index} is committed",
            hint="A run after this one is already there: go on from it, or clear the day.",
        )


def _runs(
    chosen: Candidate, query: Query, request: PlanRequest, families: Families, ids: ColumnIds
) -> tuple[tuple[Run, ...], tuple[Family, ...]]:
    """All runs of the day; the opened ones with their stages."""
    if chosen.choice is None:
        raise ValueError("batch has no choice")
    used: dict[str, Family] = {}
    base = request.committed[-1].index if request.committed else 0
    built: dict[int, Run] = {}
    last = len(request.points)
    for run, cost in zip(chosen.opened, chosen.by_run, strict=True):
        builder = StageBuilder(Span(run, base, run == last), families, ids)
        stages = builder.build(chosen.choice, query)
        used.update(builder.used)
        point = request.points[run - 1]
        built[run] = Run(
            index=run,
            weight=point.weight,
            opened=True,
            base=base,
            stages=stages,
            estimated_cost=round(cost),
            arrived=point.arrived,
        )
        base = run
    return tuple(built.get(i) or _idle(i, request) for i in range(1, last + 1)), tuple(
        used[name] for name in sorted(used)
    )


def _kept(chosen: Candidate, families: Families) -> dict[int, str]:
    if chosen.choice is None:
        return {}
    return {
        part.operator.index: families.family(part.operator, part.key).id
        for part in walk(chosen.choice)
        if part.mode is Mode.KEPT
    }


def _idle(index: int, request: PlanRequest) -> Run:
    """A run that is not opened, or is over."""
    point = request.points[index - 1]
    committed = any(run.index == index for run in request.committed)
    return Run(
        index=index,
        weight=point.weight,
        opened=committed,
        base=0,
        arrived=point.arrived,
        committed=committed,
    )


def _batch_runs(
    chosen: Candidate, relation: Relation, query: Query, request: PlanRequest
) -> tuple[Run, ...]:
    """One run at the end: the user's own text, as it was written."""
    last = len(request.points)
    text = request.sql.strip().rstrip(";").rstrip()
    stage = Stage(
        id="result",
        title="the report, from the sources",
        sql=text,
        inputs=tuple(
            SourceInput(view=name, source=name, version="snapshot")
            for name in sorted(sources(query.relation) | sources(relation))
        ),
        output=ResultOutput(columns=query.names, ordered=query.ordered),
        estimated_cost=round(chosen.by_run[-1]),
    )
    final = Run(
        index=last,
        weight=request.points[-1].weight,
        opened=True,
        base=request.committed[-1].index if request.committed else 0,
        stages=(stage,),
        estimated_cost=round(chosen.by_run[-1]),
        arrived=request.points[-1].arrived,
    )
    return (*(_idle(index, request) for index in range(1, last)), final)


def _source_tables(relation: Relation, request: PlanRequest) -> tuple[SourceTable, ...]:
    used = sources(relation)
    return tuple(
        SourceTable(
            name=source.name,
            columns=tuple(
                ColumnSpec(name=c.name, type=c.type.sql, nullable=c.nullable)
                for c in source.columns
            ),
            changing=source.changing,
        )
        for source in sorted(request.sources, key=lambda s: s.name)
        if source.name in used
    )


def _not_incremental(root: Operator, chosen: Candidate) -> tuple[NotIncremental, ...]:
    """Operators that wait for the final run, parents first, each with its reason."""
    early = set()
    if chosen.choice is not None:
        early = {
            part.operator.index
            for part in walk(chosen.choice)
            if part.mode in (Mode.EARLY, Mode.KEPT)
        }
    waiting = []
    for operator in root.walk():
        if not operator.changing or operator.index in early or not operator.inputs:
            continue
        waiting.append(NotIncremental(operator=label(operator.relation), reason=_reason(operator)))
    return tuple(waiting)


def _reason(operator: Operator) -> Reason:
    if operator.reason is not None:
        return operator.reason
    below = (i for given in operator.inputs for i in given.walk())
    if any(i.reason is not None for i in below):
        return Reason.INPUT_WAITS
    return Reason.COST
