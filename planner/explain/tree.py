"""The plan as a tree: what the final run does, and below what it reads of the store, how that was
made. A kept snapshot that is read more than once is listed once and named where it is read again.
The order of everything follows the plan, so the same plan gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from forerun.planner.algebra.describe import label
from forerun.planner.contract.plan_v1 import ArtifactOutput, Family, Plan
from forerun.planner.cost.constants import MICRO
from forerun.planner.explain import methods
from forerun.planner.explain.choice import (
    budgets_spent,
    compared,
    kept_of_budget,
    why_batch,
    why_own,
)
from forerun.planner.explain.reasons import reason_text
from forerun.planner.materialize.portfolio import MethodPlan
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.tree import groups_of
from forerun.planner.props.several_answers import several_answers
from forerun.planner.result import PlanResult
from forerun.planner.temporal.extraction import ExtractedPlan, chain, inputs_of, start_of
from forerun.planner.temporal.solution import ChainId, DpEntry, EntryKey, How


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One operator. ``mode``: static, early, kept (saved run by run) or final. ``rows`` are
    estimates: for what is kept what each opened run adds, else the output in its run; ``cost`` in
    CPU seconds: of what is kept in each opened run, else the operator's own. ``shared`` names what
    is read again; ``again`` is true where it is, and then nothing below it is listed."""

    depth: int
    operator: str
    mode: str
    kept: str = ""
    reason: str = ""
    rows: tuple[float, ...] = ()
    cost: tuple[float, ...] = ()
    shared: str = ""
    again: bool = False


def lines(found: PlanResult) -> tuple[Line, ...]:
    """The operators of a plan, parents before inputs."""
    chosen = found.decision.chosen.extracted
    if chosen is None:
        return tuple(_batch_lines(found))
    return _lines_of_result(found, chosen, chosen.results[-1])


def _lines_of_result(found: PlanResult, chosen: ExtractedPlan, index: int) -> tuple[Line, ...]:
    """The operators of the result that the ``index``-th opened run gives."""
    walk = _Walk(found, chosen)
    walk.add(index, chosen.root, chosen.entry(index, chosen.root), 0)
    twice = {line.kept for line in walk.found_lines if line.again}
    return tuple(
        replace(line, shared=line.kept if line.kept in twice else "") for line in walk.found_lines
    )


def render(found: PlanResult, plans_by_method: Sequence[MethodPlan] = ()) -> str:
    """The tree as text, with the runs above it and what is not incremental below it; what each
    method alone would give, if that is at hand."""
    plan = found.plan
    choice = (
        *compared(found), *why_own(found), *why_batch(found),
        *kept_of_budget(found), *budgets_spent(found),
    )  # fmt: skip
    parts = [*_header(plan), *choice, "", *_tree_text(lines(found))]
    parts += _early_results(found)
    if plan.kept:
        parts += ["", "kept between runs:"]
        parts += [f"  {_family_text(family)}" for family in plan.kept]
    if checkpoints := [family for family in plan.families if family not in plan.kept]:
        parts += ["", "stored on the way, for a try that takes the run over:"]
        parts += [f"  {_family_text(family)}" for family in checkpoints]
    if plan.not_incremental:
        parts += ["", "waits for the final run:"]
        parts += [
            f"  {item.operator}: {item.reason} ({reason_text(item.reason)})"
            for item in plan.not_incremental
        ]
    known = {source.name: source.keys for source in found.request.sources}
    if open_ := several_answers(found.reading.query.relation, known):
        parts += ["", "several right answers (add unique columns to its ORDER BY for one):"]
        parts += [f"  {one}" for one in open_]
    if plans_by_method:
        parts += ["", *methods.lines(found, plans_by_method)]
    return "\n".join(parts) + "\n"


def _early_results(found: PlanResult) -> Iterator[str]:
    chosen = found.decision.chosen.extracted
    if chosen is None:
        return
    for index in chosen.results[:-1]:
        yield ""
        run = found.request.own_run(chosen.solution.spans[index].run)
        yield f"the early result of run {run}:"
        yield from _tree_text(_lines_of_result(found, chosen, index))


def _header(plan: Plan) -> Iterator[str]:
    opened = sum(run.opened for run in plan.runs)
    how = {
        "incremental": f"incremental, {opened} of {len(plan.runs)} runs opened",
        "batch": f"batch, {_batch_runs(opened)}",
        "own-batch": "own batch, one run at the end in stages of our own",
    }
    yield f"report {plan.report}: {how[plan.method]}"
    for run in plan.runs:
        state = "committed" if run.committed else "opened" if run.opened else "not opened"
        count = len(run.stages)
        stages = f"{count} stage{'' if count == 1 else 's'}" if count else ""
        stages += ", early result" if run.early_result else ""
        cost = f"{run.estimated_cost / MICRO:10.2f} CPU s" if run.opened else " " * 16
        yield (
            f"  run {run.index}  weight {run.weight:<5g} arrived {run.arrived:>5.0%} {cost}"
            f"  {state:<10} {stages}"
        ).rstrip()
    share = plan.estimated_cost / plan.batch_cost if plan.batch_cost else 1.0
    yield (
        f"  weighted cost {plan.estimated_cost / MICRO:.2f} CPU s, "
        f"batch {plan.batch_cost / MICRO:.2f} CPU s: {share:.2f} of batch (estimates)"
    )


def _batch_runs(opened: int) -> str:
    return "one run at the end" if opened == 1 else f"{opened} runs, each by itself"


def _family_text(family: Family) -> str:
    how = f", {family.buckets} buckets by {', '.join(family.key)}" if family.key else ""
    signed = ", signed" if family.signed else ""
    return f"{family.id}: {family.kind}, {family.title}{how}{signed}"


def _tree_text(found: tuple[Line, ...]) -> Iterator[str]:
    heads = [f"{'  ' * line.depth}{_named(line)}" for line in found]
    width = max(map(len, heads), default=0)
    modes = max((len(line.mode) for line in found), default=0)
    for head, line in zip(heads, found, strict=True):
        if line.again:
            yield head
            continue
        text = f"{head:<{width}}  {line.mode:<{modes}}  rows {' / '.join(map(_count, line.rows))}"
        if any(line.cost):
            text += f"  cost {' / '.join(f'{c:.2f}' for c in line.cost)} s"
        if line.kept:
            text += f"  {'read' if line.mode == 'shared' else 'kept'} as {line.kept}"
        if line.reason:
            text += f"  ({line.reason})"
        yield text


def _named(line: Line) -> str:
    if line.again:
        return f"{line.shared} again: {line.operator}"
    return f"{line.operator} [{line.shared}]" if line.shared else line.operator


def _count(rows: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if rows >= size:
            return f"{rows / (1e3 if unit == 'k' else size):.3g}{unit}"
    return f"{rows:.0f}"


def _reasons(plan: Plan) -> dict[str, str]:
    return {item.operator: item.reason for item in reversed(plan.not_incremental)}


def _batch_lines(found: PlanResult) -> Iterator[Line]:
    """List the operators of the query as it was written, parents before inputs."""
    memo, groups = found.space.memo, groups_of(found.space.memo, found.relation)
    reasons, last = _reasons(found.plan), len(found.plan.runs)
    waiting = [(found.relation, 0)]
    while waiting:
        node, depth = waiting.pop()
        tvr = memo.tvr_of(groups[id(node)])
        changing = tvr is not None and tvr.changing
        yield Line(
            depth=depth,
            operator=label(node),
            mode="final" if changing else "static",
            reason=reasons.get(label(node), "") if changing else "",
            rows=(found.group_sizes.snapshot(groups[id(node)], last).rows,),
        )
        waiting += [(given, depth + 1) for given in reversed(node.inputs)]


@dataclass(slots=True)
class _Walk:
    """Lists the cells of a chosen plan."""

    found: PlanResult
    chosen: ExtractedPlan
    found_lines: list[Line] = field(default_factory=list)
    seen: set[ChainId] = field(default_factory=set)

    def add(self, index: int, place: EntryKey, entry: DpEntry, depth: int) -> None:
        """A cell and what it is made of; shuffles have no line of their own."""
        if entry.moved is not None:
            self.add(index, (place[0], (), place[2]), entry.moved, depth)
        elif entry.how is How.SPLIT:
            parts = (entry.added, (), False)
            self.add(index, parts, self.chosen.entry(index, parts), depth)
        elif entry.how is How.EXPRESSION:
            self._computed(index, place, entry, depth)
        else:
            self._kept(index, place[0], entry, depth)

    def _computed(self, index: int, place: EntryKey, entry: DpEntry, depth: int) -> None:
        if entry.expression is None:
            return
        memo, spans = self.found.space.memo, self.chosen.solution.spans
        tvr = memo.tvr_of(place[0])
        final = index == len(spans) - 1
        static = tvr is not None and not tvr.changing
        mode = "static" if static else "final" if final else "early"
        text = label(entry.expression.node)
        self.found_lines.append(
            Line(
                depth=depth,
                operator=text,
                mode=mode,
                reason=_reasons(self.found.plan).get(text, "") if mode == "final" else "",
                rows=(self._rows(index, place),),
                cost=(entry.own / MICRO,),
            )
        )
        places, _ = inputs_of(entry, place, index)
        for below in places:
            self.add(index, below, self.chosen.entry(index, below), depth + 1)

    def _rows(self, index: int, place: EntryKey) -> float:
        span, group_sizes = self.chosen.solution.spans[index], self.found.group_sizes
        if self.found.space.memo.group(place[0]).step:
            return group_sizes.step(place[0], span.base, span.run).rows
        return group_sizes.snapshot(place[0], span.base if place[2] else span.run).rows

    def _kept(self, index: int, group: GroupId, entry: DpEntry, depth: int) -> None:
        chosen, families = self.chosen, self.found.families
        kept, slot = entry.kept, entry.slot
        if kept is None or slot is None:
            return
        until = index - 1 if entry.how is How.ADDED or entry.reads_before else index
        start = start_of(chosen, kept, until) or families.committed_start(kept)
        family = families.family(kept, start) if start else families.read_only.get(kept)
        name = family.id if family is not None else ""
        again = kept in self.seen
        self.seen.add(kept)
        made = sorted(chain(chosen.solution, kept, until))
        made = [at for at in made if (kept, at) in chosen.partitions]
        places = [chosen.partitions[kept, at] for at in made]
        costs = [chosen.partition_costs[kept, at] / MICRO for at in made]
        rows = [self._rows(at, place) for at, place in zip(made, places, strict=True)]
        if entry.how is How.ADDED:
            rows.append(self._rows(index, (entry.added, (), False)))
        what = label(self.found.families.relation(slot))
        if entry.how is How.READ and group == slot.delta:
            what += ", what came"
        self.found_lines.append(
            Line(
                depth=depth,
                operator=what,
                mode="kept",
                kept=name,
                rows=tuple(rows),
                cost=tuple(costs),
                again=again,
            )
        )
        if made and not again:
            first = chosen.entry(made[0], places[0], made=True)
            for place, below in self._inside(made[0], places[0], first):
                self.add(made[0], place, below, depth + 1)

    def _inside(
        self, index: int, place: EntryKey, entry: DpEntry
    ) -> list[tuple[EntryKey, DpEntry]]:
        """Return the entries that a partition is made of: below the operator whose rows it
        keeps."""
        if entry.moved is not None:
            return self._inside(index, (place[0], (), place[2]), entry.moved)
        if entry.how is not How.EXPRESSION:
            return [(place, entry)]
        places, _ = inputs_of(entry, place, index)
        return [(below, self.chosen.entry(index, below)) for below in places]


def stage_target(plan: Plan, output: object) -> str:
    """Return where the rows of a stage go, in words."""
    if isinstance(output, ArtifactOutput):
        return _family_text(plan.family(output.family))
    return "the result"
