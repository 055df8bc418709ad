"""Show how a plan was found, rule by rule: the normal form as changes of the query, then the memo
as what each rule added to it."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import ndiff

from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.text import format_relation
from forerun.planner.explain.memo import expression_text
from forerun.planner.result import PlanResult
from forerun.planner.rules.normalize.driver import AppliedRewrite

_WIDTH = 120
"""Of a line of an operator with many columns."""


def render(found: PlanResult) -> str:
    """All steps, numbered, in the order in which they were taken."""
    memo, trace = found.space.memo, found.trace
    method = found.compared.best.method
    out = [f"normal form, steps: {len(found.rewrites)}"]
    for number, rewrite in enumerate(found.rewrites, 1):
        out += [f"{number:4} {rewrite.rule}", *_changes(rewrite)]
    out += ["", f"memo of {method.name} ({method.title}), steps: {len(trace.firings)}"]
    given = trace.firings[0].first if trace.firings else len(memo.expressions)
    out += [f"   0 the query, in {given} expressions"]
    for number, step in enumerate(trace.firings, 1):
        at = memo.expressions[step.at]
        out.append(
            f"{number:4} {step.rule} at G{memo.leader(at.group)} {expression_text(memo, at)}"
        )
        for one in memo.expressions[step.first : step.end]:
            dropped = "  (the same as another one, later)" if one.dropped else ""
            text = expression_text(memo, one).removesuffix(f"  by {step.rule}")
            out.append(f"       + G{memo.leader(one.group)} {text}{dropped}")
    if trace.spent:
        out.append("     the budget was spent")
    return "\n".join(out) + "\n"


def as_json(found: PlanResult) -> dict[str, list[str]]:
    """The names alone, in order: of the normal form, and of the memo."""
    return {
        "normal_form": [rewrite.rule for rewrite in found.rewrites],
        "memo": [step.rule for step in found.trace.firings],
    }


def _changes(rewrite: AppliedRewrite) -> Iterator[str]:
    """The lines of the relation that went and came."""
    before, after = (_lines(relation) for relation in (rewrite.before, rewrite.after))
    for line in ndiff(before, after):
        if line.startswith(("- ", "+ ")):
            yield f"       {line}" if len(line) <= _WIDTH else f"       {line[:_WIDTH]} ..."


def _lines(relation: Relation) -> list[str]:
    """Operators without their indentation: one that only moves up or down has not changed."""
    return [line.strip() for line in format_relation(relation).splitlines()]
