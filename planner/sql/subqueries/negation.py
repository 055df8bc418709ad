"""NOT over AND and OR that hold subqueries."""

from __future__ import annotations

from sqlglot import exp


def without_outer_not(inner: exp.Expr) -> exp.Expr | None:
    """``NOT inner`` with the NOT moved to the parts of an AND or OR, or gone for a NOT; None for
    any other and where no IN subquery is inside.

    Spark does so before it looks at subqueries. It matters to them alone: ``x NOT IN (...)`` knows
    NULLs, while ``x IN (...)`` as a value does not (see ``apply.in_as_value``).
    """
    if not isinstance(inner, exp.And | exp.Or | exp.Not) or not any(
        part.args.get("query") is not None for part in inner.find_all(exp.In)
    ):
        return None
    if isinstance(inner, exp.Not):
        return inner.this  # type: ignore[no-any-return]
    pushed = exp.Or() if isinstance(inner, exp.And) else exp.And()
    for side in ("this", "expression"):
        # Not set(): the parts stay where they are in the tree, and are known by identity.
        negation = exp.Not()
        negation.args["this"] = inner.args[side]
        pushed.args[side] = negation
    return pushed
