"""The one entry to the planner: a request in, a plan and how it came about out.

The flow: SQL to algebra, normalize, explore (rules to a fixpoint over the memo), decide (which runs
are opened, what is kept, how every group is had in every run) and build the stages of every run
that is still to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from forerun.planner.algebra.node import walk
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import Relation, scanned_columns, sources
from forerun.planner.algebra.spark_functions import ONLY_TEXT
from forerun.planner.checks import check, settled
from forerun.planner.contract.plan_v1 import (
    CONTRACT_VERSION,
    ColumnSpec,
    Family,
    Plan,
    ReliedForeignKey,
    Run,
    SourceInput,
    SourceTable,
    Stage,
    stated,
)
from forerun.planner.cost.work import itemized, stated_work
from forerun.planner.errors import MethodError
from forerun.planner.exact.sums import ExactSums
from forerun.planner.gc_pause import without_collecting
from forerun.planner.lifting.query import lifted_query, lifted_request
from forerun.planner.materialize import portfolio
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.materialize.checkpoints import Checkpoints, checkpoints
from forerun.planner.materialize.itemized import itemized_alternatives, itemized_candidate
from forerun.planner.materialize.portfolio import (
    ComparedPlans,
    MethodPlan,
    MethodPlanned,
    growing_sources,
    plan_alone,
    plan_best,
)
from forerun.planner.nesting import room_for_nesting
from forerun.planner.not_incremental import not_incremental
from forerun.planner.request import PlanRequest
from forerun.planner.result import PlanResult as PlanResult  # noqa: PLC0414 - what the door gives
from forerun.planner.result import Reading
from forerun.planner.rules.methods.catalog import SINGLE, method_of
from forerun.planner.rules.normalize import generated_leaves
from forerun.planner.rules.normalize.driver import AppliedRewrite, normalize
from forerun.planner.rules.normalize.leaves import with_read_widths
from forerun.planner.rules.normalize.prune import prune_columns
from forerun.planner.sql.frontend import Query, read_query
from forerun.planner.sql.question import question_of
from forerun.planner.stages.build import StageBuilder, StageContext
from forerun.planner.stages.flawed import result_output, text_for
from forerun.planner.stats.containment import with_contained_keys
from forerun.planner.temporal.extraction import ExtractedPlan
from forerun.planner.temporal.unchanged import Unchanged
from forerun.planner.tvr.signed import ColumnIds


@without_collecting()
@room_for_nesting()
def plan(request: PlanRequest) -> PlanResult:
    """Plan the rest of a day. Raises :class:`forerun.planner.errors.ForerunError` with what to
    do."""
    read = _read(request)
    request, relation = read.request, read.relation
    if request.method == "auto":
        return _or_batch(read, plan_best(relation, request, read.ids, read.relied))
    method = method_of(request.method)
    why_not = method.why_not(relation, growing_sources(request))
    if why_not is not None and method in SINGLE:
        raise MethodError(
            f"the method {method.name} does not apply to this query: {why_not}",
            hint="Use auto: of all methods that apply, the cheapest for each part of the query.",
        )
    alone = plan_alone(method, relation, request, read.ids, read.relied)
    return _or_batch(read, ComparedPlans(alone, spent=alone.spent))


def _or_batch(read: Reading, compared: ComparedPlans) -> PlanResult:
    """Replace the plan by batch if batch is cheaper with today's best join order. Kept state ties a
    plan to the join order of the day's first run; the user's text is not tied. Applies to the
    method ``auto`` only."""
    request, decision = read.request, compared.best.decision
    ordered_then = bool(request.first_sources and request.committed)
    if not ordered_then or request.method != "auto":
        return _result(read, compared)
    now = _read(replace(read.asked, first_sources=()))
    if request.settings.temporal == "early" or now.relation == read.relation:
        return _result(read, compared)
    asked = replace(now.request, method="batch")
    alone = plan_alone(method_of("batch"), now.relation, asked, now.ids, now.relied)
    batch = alone.decision.batch
    if batch.rank < decision.chosen.rank:
        return _result(now, replace(compared, best=alone))
    if batch.rank < decision.batch.rank:
        best = replace(compared.best, decision=replace(decision, batch=batch))
        return _result(read, replace(compared, best=best))
    return _result(read, compared)


@without_collecting()
@room_for_nesting()
def plans_by_method(found: PlanResult) -> tuple[MethodPlan, ...]:
    """Return what each method alone gives for a request that has been planned, as :func:`plan`
    would."""
    read = found.reading
    return portfolio.plans_by_method(read.relation, read.request, read.ids, read.relied)


def _collated(query: Query, request: PlanRequest) -> Iterator[str]:
    """Yield why a query is not planned that reads columns with a collation: stages cast to plain
    STRING. A column that is only there changes nothing."""
    there = {
        (source.name, column.name)
        for source in request.sources
        for column in source.columns
        if "COLLATE" in column.type.name
    }
    if not there:
        return
    read = scanned_columns(prune_columns(query.relation))
    if read & there or any(isinstance(node, Recursion) for node in walk(query.relation)):
        yield ONLY_TEXT["collate"]


def _read(asked: PlanRequest) -> Reading:
    request = asked
    check(request)
    allowed = request.settings.allowed_functions
    query = read_query(
        request.sql,
        request.sources,
        allowed_functions=allowed,
        parameters=request.parameters,
    )
    only_text = dict.fromkeys((*query.only_text, *_collated(query, request)))
    query = replace(query, only_text=tuple(only_text))
    request = settled(request, query.only_text)
    ids = ColumnIds(query.last_id)
    if request.days is not None:
        query = lifted_query(query, request.days, request.sources, ids)
        request = lifted_request(request, request.days)
    request = _with_contained_keys(request, query)
    if query.hinted and request.settings.own_batch == "cost":
        # Who writes hints knows of the data what no estimate does, and stages of our own have none.
        request = replace(request, settings=replace(request.settings, own_batch="never"))
    off = request.settings.left_out
    rewrites: list[AppliedRewrite] = []

    def observe(rule: str, before: Relation, after: Relation) -> None:
        rewrites.append(AppliedRewrite(rule, before, after))

    sources_then = request.first_sources or request.sources
    relied: set[tuple[str, str]] = set()
    relation = normalize(query.relation, sources_then, ids, observe, off, relied)
    text = next((one.before for one in rewrites if one.rule == generated_leaves.NAME), relation)
    request = replace(
        request,
        sources=with_read_widths(relation, text, request.sources),
        first_sources=with_read_widths(relation, text, request.first_sources),
    )
    return Reading(asked, request, query, relation, ids, tuple(rewrites), frozenset(relied))


def _extracted(candidate: Candidate) -> ExtractedPlan:
    if candidate.extracted is None:
        raise ValueError("the user's own text has no parts")
    return candidate.extracted


def _result(read: Reading, compared: ComparedPlans) -> PlanResult:
    """The contract of what was chosen, and all that explain may want to show of it."""
    request, relation, best = read.request, read.relation, compared.best
    decision, memo = best.decision, best.explored.memo
    chosen = decision.chosen
    used: tuple[Family, ...] = ()
    stored = 0.0
    if chosen.is_text:
        runs = _batch_runs(read, best)
    else:
        runs, used, stored = _runs(read, best)
    in_use = frozenset(best.method.rule_names) - frozenset(request.settings.rules_off)
    result = Plan(
        version=CONTRACT_VERSION,
        report=request.report,
        sql=request.sql,
        method=chosen.kind,
        current=request.own_run(request.current),
        # For the user's own text, it does not matter what is declared.
        sources=_source_tables(
            read, frozenset() if chosen.is_text else read.relied, is_text=chosen.is_text
        ),
        families=used,
        runs=runs,
        session=request.settings.session,
        estimated_cost=stated(chosen.total + stored),
        batch_cost=stated(decision.batch.total),
        not_incremental=not_incremental(relation, memo, chosen, in_use),
        objective=request.problem.objective,
        batch_because=request.batch_because,
        question=None if request.days else question_of(request),
        inherited=_inherited(request, used),
    )
    return PlanResult(result, read, compared)


def _inherited(request: PlanRequest, used: tuple[Family, ...]) -> tuple[str, ...]:
    """The ids of the families of a plan that earlier days have begun."""
    known = request.committed[0].families if request.runs_before else ()
    return tuple(sorted({family.id for family in known} & {family.id for family in used}))


def _with_contained_keys(request: PlanRequest, query: Query) -> PlanRequest:
    """The request with what the query itself tells of its sources."""
    return replace(
        request,
        sources=with_contained_keys(query.relation, request.sources),
        first_sources=with_contained_keys(query.relation, request.first_sources),
    )


def _context(read: Reading, best: MethodPlanned, candidate: Candidate) -> StageContext:
    request = read.request
    return StageContext(
        best.space,
        _extracted(candidate),
        best.families,
        best.group_sizes,
        best.ids,
        ExactSums(read.relation, request.sources, best.ids),
        itemized(request.settings.prices),
        request.settings.small_sides,
        request.current if request.settings.exact_sums else 0,
        request.counted,
        _checkpoints(read, best, candidate),
    )


def _of_run(context: StageContext, request: PlanRequest, run: int) -> StageContext:
    """The context of a run: of one that another engine does its own, in which no side of a join is
    counted before its stage."""
    if run not in request.early_runs:
        return context
    return replace(context, prices=itemized(request.prices_of(run)), small_sides=False)


def _runs(read: Reading, best: MethodPlanned) -> tuple[tuple[Run, ...], tuple[Family, ...], float]:
    """All runs of the day, the opened ones with their stages, the families that they use, and what
    their checkpoints cost, weighted."""
    request = read.request
    candidate = _itemized(read, best)
    extracted = _extracted(candidate)
    used, stored = dict[str, Family](), 0.0
    base = request.committed[-1].index if request.committed else 0
    built: dict[int, Run] = {}
    last = len(request.points)
    context = _context(read, best, candidate)
    unchanged = Unchanged(best.space, best.group_sizes)
    for index, (run, cost) in enumerate(zip(candidate.opened, candidate.by_run, strict=True)):
        builder = StageBuilder(_of_run(context, request, run), index)
        stages = builder.build(read.query)
        used.update(builder.used)
        point = request.points[run - 1]
        stored += point.weight * builder.added
        built[run] = Run(
            index=request.own_run(run),
            weight=point.weight,
            opened=True,
            base=request.own_run(base) if base else 0,
            stages=stages,
            estimated_cost=stated(cost + builder.added),
            arrived=point.arrived,
            early_result=run != last and index in extracted.results,
            relies_on=_relied_on(extracted, index),
            unchanged=tuple(sorted(unchanged.sources(extracted.solution.spans[index]))),
        )
        base = run
    runs = tuple(built.get(i) or _idle(i, request) for i in request.own_points)
    return runs, tuple(used[name] for name in sorted(used)), stored


def _relied_on(chosen: ExtractedPlan, index: int) -> tuple[ReliedForeignKey, ...]:
    """The foreign keys that the ``index``-th opened run depends on, in a fixed order."""
    return tuple(sorted((one for at, one in chosen.relied if at == index), key=repr))


def _checkpoints(
    read: Reading, best: MethodPlanned, candidate: Candidate
) -> Mapping[int, Checkpoints]:
    """Return where the results of the runs are cut."""
    request = read.request
    if not request.settings.interruptions:
        return {}
    sums = ExactSums(read.relation, request.sources, best.ids.fork())
    again = itemized_alternatives(candidate, request, best.space, best.group_sizes, sums)
    extracted = _extracted(candidate)
    return checkpoints(extracted, best.space, again, request.settings.interruptions)


def _itemized(read: Reading, best: MethodPlanned) -> Candidate:
    """The chosen candidate with costs that know their work."""
    sums = ExactSums(read.relation, read.request.sources, best.ids.fork())
    return itemized_candidate(
        best.decision.chosen, read.request, best.space, best.group_sizes, sums
    )


def _idle(index: int, request: PlanRequest) -> Run:
    """A run that is not opened, or is over."""
    point = request.points[index - 1]
    committed = any(run.index == index for run in request.committed)
    return Run(
        index=request.own_run(index),
        weight=point.weight,
        opened=committed,
        base=0,
        arrived=point.arrived,
        committed=committed,
    )


def _batch_runs(read: Reading, best: MethodPlanned) -> tuple[Run, ...]:
    """Return runs of the user's own text in each run that gives the result."""
    request, query, chosen = read.request, read.query, _itemized(read, best)
    start = itemized(request.settings.prices).stage_start
    last = len(request.points)
    own = request.sql.strip().rstrip(";").rstrip()
    text = text_for(request.settings.prices, query, own)
    inputs = tuple(SourceInput(view=name, source=name, version="snapshot") for name in query.named)
    base = request.committed[-1].index if request.committed else 0
    built: dict[int, Run] = {}
    for run, cost, plan in zip(chosen.opened, chosen.by_run, chosen.text_plans, strict=True):
        early, point = run != last, request.points[run - 1]
        stage = Stage(
            id="result",
            title=f"the report{' so far' if early else ''}, from the sources",
            sql=text,
            inputs=inputs,
            output=result_output(query, request.settings.prices),
            parameters=query.parameters,
            estimated_rows=stated(best.group_sizes.snapshot(best.explored.root, run).rows),
            estimated_cost=stated(in_stage := plan.by_run[-1] + start),
            work=stated_work(in_stage),
        )
        built[run] = Run(
            index=request.own_run(run),
            weight=point.weight,
            opened=True,
            base=request.own_run(base) if base else 0,
            stages=(stage,),
            estimated_cost=stated(cost),
            arrived=point.arrived,
            early_result=early,
        )
        base = run
    return tuple(built.get(i) or _idle(i, request) for i in request.own_points)


def _source_tables(
    read: Reading, relied: frozenset[tuple[str, str]], *, is_text: bool
) -> tuple[SourceTable, ...]:
    """The sources that a plan reads; the user's own text names some of which no row matters."""
    used = sources(read.relation) | {source for source, _ in relied}
    used |= frozenset(read.query.named) if is_text else frozenset()
    # The user's text reads what it was before it was normalized.
    scanned = scanned_columns(prune_columns(read.query.relation)) | scanned_columns(read.relation)
    return tuple(
        SourceTable(
            name=source.name,
            columns=tuple(
                ColumnSpec(name=c.name, type=c.type.sql, nullable=c.nullable)
                for c in source.columns
            ),
            changing=source.changing,
            relies_not_null=tuple(
                c.name for c in source.columns if (source.name, c.name) in relied
            ),
            reads=tuple(
                c.name
                for c in source.columns
                if source.change == "changelog" and (source.name, c.name) in scanned
            ),
        )
        for source in sorted(read.request.sources, key=lambda s: s.name)
        if source.name in used
    )
