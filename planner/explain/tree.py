"""The plan as a tree: what each operator does early, what it keeps, what that is thought to cost.

A sub-plan that occurs more than once is printed once, under a name, and named where it occurs
again. The order of everything follows the query, so the same plan gives the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from planner.algebra.fingerprint import canonical
from planner.algebra.relational import Scan
from planner.contract.plan_v1 import ArtifactOutput, Family, Plan
from planner.explain.choice import why_batch
from planner.explain.found import MICRO, Found, reason_text
from planner.temporal.annotate import Operator, label
from planner.temporal.assign import Choice, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One operator. ``rows`` are estimates by run of the day: what the operator gives in each
    opened run if it works early, its whole output in the final run otherwise; ``cost`` its own
    cost in each opened run, in CPU seconds. ``shared`` names a sub-plan that occurs again;
    ``again`` is true where it does, and then nothing below it is listed."""

    depth: int
    operator: str
    mode: str
    kept: str = ""
    reason: str = ""
    rows: tuple[float, ...] = ()
    cost: tuple[float, ...] = ()
    shared: str = ""
    again: bool = False


@dataclass(slots=True)
class _Walk:
    found: Found
    names: dict[str, str]
    reasons: dict[int, str]
    seen: set[str] = field(default_factory=set)


def lines(found: Found) -> tuple[Line, ...]:
    """The operators of a plan, parents before inputs."""
    texts = {op.index: canonical(op.relation) for op in found.root.walk()}
    counts = Counter(
        texts[op.index] for op in found.root.walk() if not isinstance(op.relation, Scan)
    )
    names: dict[str, str] = {}
    for op in found.root.walk():
        text = texts[op.index]
        if counts[text] > 1 and text not in names:
            names[text] = f"#{len(names) + 1}"
    walk = _Walk(found, names, _reasons(found))
    chosen = found.decision.chosen
    if chosen.choice is None:
        return tuple(_batch_lines(walk, found.root, 0, texts))
    return tuple(_chosen_lines(walk, chosen.choice, 0, texts))


def render(found: Found) -> str:
    """The tree as text, with the runs above it and what is not incremental below it."""
    plan = found.plan
    parts = [*_header(plan), *why_batch(found), "", *_tree_text(lines(found))]
    if plan.families:
        parts += ["", "kept between runs:"]
        parts += [f"  {_family_text(family)}" for family in plan.families]
    if plan.not_incremental:
        parts += ["", "waits for the final run:"]
        parts += [
            f"  {item.operator}: {item.reason} ({reason_text(item.reason)})"
            for item in plan.not_incremental
        ]
    return "\n".join(parts) + "\n"


def _header(plan: Plan) -> Iterator[str]:
    opened = sum(run.opened for run in plan.runs)
    how = "batch, one run at the end" if plan.method == "batch" else (
        f"incremental, {opened} of {len(plan.runs)} runs opened"
    )  # fmt: skip
    yield f"report {plan.report}: {how}"
    for run in plan.runs:
        state = "committed" if run.committed else "opened" if run.opened else "not opened"
        count = len(run.stages)
        stages = f"{count} stage{'' if count == 1 else 's'}" if count else ""
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
            text += f"  kept as {line.kept}"
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


def _reasons(found: Found) -> dict[int, str]:
    """Reason codes by operator; the plan lists them in the order of the tree."""
    early = set()
    if (choice := found.decision.chosen.choice) is not None:
        stack = [choice]
        while stack:
            part = stack.pop()
            if part.mode in (Mode.EARLY, Mode.KEPT):
                early.add(part.operator.index)
            stack.extend(part.inputs)
    waiting = [
        op for op in found.root.walk() if op.changing and op.inputs and op.index not in early
    ]
    codes = [item.reason for item in found.plan.not_incremental]
    return {op.index: code for op, code in zip(waiting, codes, strict=False)}


def _line(walk: _Walk, op: Operator, depth: int, text: str) -> tuple[Line, bool]:
    """The operator without figures, and whether it has been listed before."""
    shared = walk.names.get(text, "")
    again = bool(shared) and text in walk.seen
    walk.seen.add(text)
    reason = walk.reasons.get(op.index, "")
    line = Line(
        depth=depth,
        operator=label(op.relation),
        mode="final" if op.changing else "static",
        reason=reason,
        shared=shared,
        again=again,
    )
    return line, again


def _batch_lines(walk: _Walk, op: Operator, depth: int, texts: dict[int, str]) -> Iterator[Line]:
    line, again = _line(walk, op, depth, texts[op.index])
    last = len(walk.found.plan.runs)
    yield replace(line, rows=(walk.found.sizes.snapshot(op, last).rows,))
    if not again:
        for given in op.inputs:
            yield from _batch_lines(walk, given, depth + 1, texts)


def _chosen_lines(walk: _Walk, choice: Choice, depth: int, texts: dict[int, str]) -> Iterator[Line]:
    op = choice.operator
    line, again = _line(walk, op, depth, texts[op.index])
    early = choice.mode in (Mode.EARLY, Mode.KEPT)
    yield replace(
        line,
        mode=choice.mode.value,
        kept=_kept(walk, choice),
        reason="" if early else line.reason,
        rows=_rows(walk.found, choice),
        cost=tuple(cost / MICRO for cost in choice.own),
    )
    if not again:
        for given in choice.inputs:
            yield from _chosen_lines(walk, given, depth + 1, texts)


def _rows(found: Found, choice: Choice) -> tuple[float, ...]:
    opened = found.decision.chosen.opened
    op = choice.operator
    if choice.mode in (Mode.EARLY, Mode.KEPT):
        base = max((r.index for r in found.plan.runs if r.committed), default=0)
        spans = zip((base, *opened[:-1]), opened, strict=True)
        return tuple(found.sizes.delta(op, old, new).rows for old, new in spans)
    return (found.sizes.snapshot(op, opened[-1]).rows,)


def _kept(walk: _Walk, choice: Choice) -> str:
    """The family that holds the output; some outputs are read whole and stay where they are."""
    if choice.mode is not Mode.KEPT:
        return ""
    written = {family.id for family in walk.found.plan.families}
    family = walk.found.kept[choice.operator.index]
    return family if family in written else "rows"


def stage_target(plan: Plan, output: object) -> str:
    """Where the rows of a stage go, in words."""
    if isinstance(output, ArtifactOutput):
        return _family_text(plan.family(output.family))
    return "the result"
