"""LIKE, ILIKE and RLIKE, with ANY, ALL and ESCAPE."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from forerun.planner.algebra.scalar import Call, Scalar, connected, references, walk
from forerun.planner.algebra.type_kinds import is_nested
from forerun.planner.algebra.types import BOOLEAN, STRING
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.coercion import cast


class LikeHandler(Protocol):
    def __call__(
        self, binder: Binder, node: exp.Expr, escape: exp.Expr | None = None
    ) -> Scalar: ...


def _like(name: str) -> LikeHandler:
    def handler(binder: Binder, node: exp.Expr, escape: exp.Expr | None = None) -> Scalar:
        value, pattern = binder.bind(node.this), node.args["expression"]
        extra = () if escape is None else (binder.bind(escape),)
        patterns = [pattern]
        if isinstance(pattern, exp.Any | exp.All):
            _refuse_operand(binder, node)
            patterns = pattern.this.expressions or [pattern.this.unnest()]
        bound = [binder.bind(p) for p in patterns]
        if isinstance(pattern, exp.Any | exp.All):
            _require_texts(binder, node, bound)
        for one in (value, *bound):
            if is_nested(one.type):
                raise binder.text.error(node, f"{name.upper()} compares texts, not {one.type}")
        value = cast(value, STRING)
        parts: list[Scalar] = [Call(name, (value, one, *extra), BOOLEAN) for one in bound]
        if node.args.get("negate"):
            # "a NOT LIKE ANY (...)" means that one of the patterns does not match.
            parts = [Call("not", (part,), BOOLEAN) for part in parts]
        return connected("or" if isinstance(pattern, exp.Any) else "and", parts)

    return handler


def _refuse_operand(binder: Binder, node: exp.Expr) -> None:
    """Refuse a quantified LIKE that something is compared with: to Spark ``a LIKE ANY (p) = b`` is
    ``a LIKE (any(p) = b)``, with the aggregate function of that name, and to sqlglot the patterns
    go on after the parenthesis."""
    if not isinstance(node.args["expression"].this, exp.Paren | exp.Tuple):
        raise binder.text.error(
            node, "a comparison with LIKE ANY or LIKE ALL", "put the LIKE into parentheses"
        )


def _require_texts(binder: Binder, node: exp.Expr, patterns: list[Scalar]) -> None:
    """Refuse constants after LIKE ANY or ALL that are no texts yet where Spark reads them: it does
    so, where all of them are constants, before it has cast anything."""
    calls = [part for one in patterns for part in walk(one) if isinstance(part, Call)]
    if any(references(one) for one in patterns) or any(c.name not in _EARLY for c in calls):
        return
    unfinished = any(
        part.name == "cast"
        for c in calls
        if c.name == "||"
        for part in c.args
        if isinstance(part, Call)
    )
    if unfinished:
        hint = "write the text itself"
        raise binder.text.error(node, "LIKE ANY and LIKE ALL take constants that are texts", hint)


_EARLY = frozenset({"cast", "try_cast", "||", "neg", "+", "-", "*", "/", "%", "case"})
"""What Spark computes while it parses, where it is over constants: calls by name wait."""


def escape(binder: Binder, node: exp.Expr) -> Scalar:
    inner, by = node.this, node.args["expression"]
    if not isinstance(by, exp.Literal) or len(by.name) != 1:
        raise binder.text.error(by, "ESCAPE takes one character")
    if isinstance(inner, exp.Like):
        return LIKE(binder, inner, node.args["expression"])
    if isinstance(inner, exp.ILike):
        return ILIKE(binder, inner, node.args["expression"])
    raise binder.text.unsupported(node, "ESCAPE here")


LIKE, ILIKE, RLIKE = _like("like"), _like("ilike"), _like("rlike")
