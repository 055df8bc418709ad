"""The one entry to the planner: a request in, a plan and how it came about out.

The flow: SQL to algebra, normalize, explore (rules to a fixpoint over the memo), decide (which runs
are opened, what is kept, how every group is had in every run) and build the stages of every run
that is still to come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.algebra.describe import label
from planner.algebra.relational import Relation, sources, walk
from planner.checks import check
from planner.collection import seldom_collecting
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
from planner.errors import MethodError, Reason
from planner.materialize import methods
from planner.materialize.families import Families
from planner.materialize.methods import (
    Alternative,
    Compared,
    growing_sources,
    plan_alone,
    plan_best,
)
from planner.materialize.runs import Candidate, Decision
from planner.memo.memo import Memo
from planner.memo.tree import groups_of
from planner.request import PlanRequest
from planner.rules.methods.catalog import SINGLE, method_of
from planner.rules.normalize.driver import Rewrite, normalize
from planner.search.explore import Trace
from planner.search.incremental import reason
from planner.sql.frontend import Query, read_query
from planner.stages.build import Context, StageBuilder
from planner.stats.containment import with_contained_keys
from planner.temporal.figures import Figures
from planner.temporal.space import Space
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The plan, and what explain shows of how it was found. ``relation``: the normalized query.
    ``request``: as it was planned, with what the query says of its sources. ``compared``: the
    methods that were planned apart, and which one the plan is of. ``ids``: where those of the memo
    go on from. ``rewrites``: how the query came into normal form, step by step."""

    plan: Plan
    query: Query
    relation: Relation
    space: Space
    figures: Figures
    families: Families
    decision: Decision
    trace: Trace
    request: PlanRequest
    compared: Compared
    ids: ColumnIds
    rewrites: tuple[Rewrite, ...]


@seldom_collecting()
def plan(request: PlanRequest) -> PlanResult:
    """Plan the rest of a day. Raises :class:`planner.errors.ForerunError` with what to do."""
    read = _read(request)
    request, relation = read.request, read.relation
    if request.method == "auto":
        return _or_batch(read, plan_best(relation, request, read.ids))
    method = method_of(request.method)
    why_not = method.why_not(relation, growing_sources(request))
    if why_not is not None and method in SINGLE:
        raise MethodError(
            f"the method {method.name} does not apply to this query: {why_not}",
            hint="Use auto: of all methods that apply, the cheapest for each part of the query.",
        )
    alone = plan_alone(method, relation, request, read.ids)
    return _or_batch(read, Compared(alone, spent=alone.spent))


def _or_batch(read: _Read, compared: Compared) -> PlanResult:
    """What was found, or batch where that is cheaper in the order of joins that is best by now.
    What is kept is of use only in the order that joins had when it was planned; the user's own text
    is bound to none."""
    request, decision = read.request, compared.best.decision
    if not request.committed or request.method in ("progressive", "batch"):
        return _result(read, compared)
    now = _read(replace(request, first_sources=()))
    if request.settings.temporal == "early" or now.relation == read.relation:
        return _result(read, compared)
    asked = replace(now.request, method="batch")
    alone = plan_alone(method_of("batch"), now.relation, asked, now.ids)
    batch = alone.decision.batch
    if batch.rank < decision.chosen.rank:
        return _result(now, replace(compared, best=alone))
    if batch.rank < decision.batch.rank:
        best = replace(compared.best, decision=replace(decision, batch=batch))
        return _result(read, replace(compared, best=best))
    return _result(read, compared)


@seldom_collecting()
def alternatives(found: PlanResult) -> tuple[Alternative, ...]:
    """What each method alone gives for a request that has been planned, as :func:`plan` would."""
    return methods.alternatives(found.relation, found.request, found.ids)


@dataclass(frozen=True, slots=True)
class _Read:
    """The query of a request, in normal form; the request with what the query tells."""

    request: PlanRequest
    query: Query
    relation: Relation
    ids: ColumnIds
    rewrites: tuple[Rewrite, ...]


def _read(request: PlanRequest) -> _Read:
    check(request)
    if request.settings.state_budget == 0 and not request.committed:
        request = replace(request, method="batch")  # nothing can be kept, so there is only batch
    query = read_query(request.sql, request.sources)
    ids = ColumnIds(query.last_id)
    request = _with_contained_keys(request, query)
    off = frozenset(request.settings.rules_off)
    rewrites: list[Rewrite] = []

    def observe(rule: str, before: Relation, after: Relation) -> None:
        rewrites.append(Rewrite(rule, before, after))

    sources_then = request.first_sources or request.sources
    relation = normalize(query.relation, sources_then, ids, observe, off)
    return _Read(request, query, relation, ids, tuple(rewrites))


def _result(read: _Read, compared: Compared) -> PlanResult:
    """The contract of what was chosen, and all that explain may want to show of it."""
    request, relation, best = read.request, read.relation, compared.best
    decision, memo = best.decision, best.explored.memo
    chosen = decision.chosen
    used: tuple[Family, ...] = ()
    if chosen.is_batch:
        runs = _batch_runs(chosen, relation, read.query, request)
    else:
        runs, used = _runs(chosen, read.query, request, best.families, best.space, best.ids)
    in_use = frozenset(best.method.rule_names) - frozenset(request.settings.rules_off)
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
        not_incremental=_not_incremental(relation, memo, chosen, in_use),
        objective=request.problem.objective,
        shared=tuple(
            replace(offer.origin, family=offer.view.id)
            for offer in sorted(request.shared, key=lambda offer: offer.view.id)
            if offer.view.id in {family.id for family in used}
        ),
    )
    return PlanResult(
        result,
        read.query,
        relation,
        best.space,
        best.figures,
        best.families,
        decision,
        best.explored.trace,
        request,
        compared,
        read.ids,
        read.rewrites,
    )


def _with_contained_keys(request: PlanRequest, query: Query) -> PlanRequest:
    """The request with what the query itself tells of its sources."""
    return replace(
        request,
        sources=with_contained_keys(query.relation, request.sources),
        first_sources=with_contained_keys(query.relation, request.first_sources),
    )


def _runs(
    candidate: Candidate,
    query: Query,
    request: PlanRequest,
    families: Families,
    space: Space,
    ids: ColumnIds,
) -> tuple[tuple[Run, ...], tuple[Family, ...]]:
    """All runs of the day; the opened ones with their stages."""
    if candidate.chosen is None:
        raise ValueError("batch has no choice")
    used: dict[str, Family] = {}
    base = request.committed[-1].index if request.committed else 0
    built: dict[int, Run] = {}
    last = len(request.points)
    context = Context(space, candidate.chosen, families, ids)
    for index, (run, cost) in enumerate(zip(candidate.opened, candidate.by_run, strict=True)):
        builder = StageBuilder(context, index)
        stages = builder.build(query)
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
            early_result=run != last and index in candidate.chosen.results,
        )
        base = run
    return tuple(built.get(i) or _idle(i, request) for i in range(1, last + 1)), tuple(
        used[name] for name in sorted(used)
    )


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
    """The user's own text, as it was written, in each run that gives the result."""
    last = len(request.points)
    text = request.sql.strip().rstrip(";").rstrip()
    inputs = tuple(
        SourceInput(view=name, source=name, version="snapshot")
        for name in sorted(sources(query.relation) | sources(relation))
    )
    base = request.committed[-1].index if request.committed else 0
    built: dict[int, Run] = {}
    for run, cost in zip(chosen.opened, chosen.by_run, strict=True):
        early, point = run != last, request.points[run - 1]
        stage = Stage(
            id="result",
            title=f"the report{' so far' if early else ''}, from the sources",
            sql=text,
            inputs=inputs,
            output=ResultOutput(columns=query.names, ordered=query.ordered),
            estimated_cost=round(cost),
        )
        built[run] = Run(
            index=run,
            weight=point.weight,
            opened=True,
            base=base,
            stages=(stage,),
            estimated_cost=round(cost),
            arrived=point.arrived,
            early_result=early,
        )
        base = run
    return tuple(built.get(i) or _idle(i, request) for i in range(1, last + 1))


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


def _not_incremental(
    relation: Relation, memo: Memo, candidate: Candidate, in_use: frozenset[str]
) -> tuple[NotIncremental, ...]:
    """Operators that wait for the final run, parents first, each with its reason. ``in_use``: the
    rules that there were."""
    waiting = []
    early = _worked_early(memo, candidate)
    reasons: dict[int, Reason | None] = {}
    nodes = list(walk(relation))
    groups = groups_of(memo, relation)
    for node in reversed(nodes):
        tvr = memo.tvr_of(groups[id(node)])
        if tvr is None or not tvr.changing or not node.inputs:
            continue
        below = any(reasons.get(id(child)) is not None for child in node.inputs)
        own = None if tvr.has_delta else reason(memo, next(memo.alternatives(tvr.new)).node, in_use)
        reasons[id(node)] = own or (Reason.INPUT_WAITS if below and not tvr.has_delta else None)
    for node in nodes:
        tvr = memo.tvr_of(groups[id(node)])
        if tvr is None or not tvr.changing or not node.inputs or tvr.id in early:
            continue
        why = reasons[id(node)] or Reason.COST
        waiting.append(NotIncremental(operator=label(node), reason=why))
    return tuple(waiting)


def _worked_early(memo: Memo, candidate: Candidate) -> set[int]:
    """TVRs of which some version is computed before the final run."""
    if candidate.chosen is None:
        return set()
    last = len(candidate.chosen.solution.spans) - 1
    groups = {group for index, group in candidate.chosen.worked if index < last}
    return {
        tvr.id
        for tvr in memo.tvrs
        if any(memo.leader(group) in groups for group in tvr.edges.values())
    }
