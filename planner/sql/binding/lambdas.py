"""Lambdas of the text, ``x -> x + 1``, and the calls of functions that take them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from forerun.planner.algebra.higher_order import HIGHER_ORDER, LAMBDA, VARIABLE
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.type_kinds import is_nested, kind_of
from forerun.planner.algebra.types import STRING, DataType
from forerun.planner.sql.binding.binder import Binder


def higher_order(binder: Binder, node: exp.Expr, name: str, arguments: Sequence[exp.Expr]) -> Call:
    """The call of a function with lambdas among its arguments, which come last."""
    known = HIGHER_ORDER.get(name)
    given = tuple(argument for argument in arguments if not isinstance(argument, exp.Lambda))
    lambdas = tuple(argument for argument in arguments if isinstance(argument, exp.Lambda))
    if known is None:
        raise binder.text.error(lambdas[0], f"{name} takes no lambda")
    args = tuple(binder.bind(argument) for argument in given)
    types = tuple(arg.type for arg in args)
    fits = len(args) == known.given and kind_of(types[0]) in ("", known.of)
    variables = known.variables(types) if fits else ()
    if not 0 < len(lambdas) <= len(variables):
        listed = ", ".join(map(str, types)) or "nothing"
        raise binder.text.error(node, f"{name} does not take {listed} and {len(lambdas)} lambdas")
    bound = []
    for one, own in zip(lambdas, variables, strict=False):
        if not len(own) - known.optional <= len(one.expressions) <= len(own):
            many = f"{len(own)} variables, not {len(one.expressions)}"
            raise binder.text.error(one, f"a lambda of {name} has {many}")
        bound.append(_lambda(binder, one, own, tests=known.tests))
    bodies = tuple(one.type for one in bound)
    if known.body is not None and not _fits(bodies[0], known.body(types)):
        wanted = known.body(types)
        what = f"the lambda of {name} gives {bodies[0]}, and Spark takes only {wanted} here"
        raise binder.text.error(lambdas[0], what, "CAST what it gives, or what it begins with")
    return Call(name, (*args, *bound), known.result(types, bodies))


def _fits(body: DataType, wanted: DataType) -> bool:
    """Return whether the type of a lambda's body is the wanted one, as far as that is known: fields
    may have other names, and NULL is of any type."""
    nested = is_nested(body) and is_nested(wanted)
    known = body.is_known and wanted.is_known
    return nested or not known or body == wanted or kind_of(body) == "v"


def _lambda(binder: Binder, node: exp.Lambda, types: Sequence[DataType], *, tests: bool) -> Call:
    """A lambda whose variables have these types, as many as it names."""
    text = binder.text
    if found := node.find(exp.Subquery, exp.Select, exp.Exists):
        raise text.unsupported(found, "a subquery in a lambda")
    names = [one.name.lower() for one in node.expressions]
    if len(set(names)) < len(names):
        raise text.error(node, f"two variables of a lambda are called {names[0]}")
    outer = binder.variables
    first = 1 + max((_number(one) for one in outer.values()), default=-1)
    own = {
        name: Call(VARIABLE, (Literal(f"v{first + place}", STRING),), type_)
        for place, (name, type_) in enumerate(zip(names, types, strict=False))
    }
    binder.variables = {**outer, **own}
    try:
        body: Scalar = binder.bind(node.this)
        body = binder.condition(node.this, body) if tests else body
    finally:
        binder.variables = outer
    return Call(LAMBDA, (body, *own.values()), body.type)


def _number(variable: Call) -> int:
    """The number in a variable's name. Names that an inner lambda hides are free again."""
    name = variable.args[0]
    return int(name.text[1:]) if isinstance(name, Literal) and name.text else -1


def variable(binder: Binder, node: exp.Expr) -> Scalar:
    """A variable of a lambda around it."""
    found = binder.variables.get(node.name.lower())
    if found is None:
        raise binder.text.unknown(node, "variable", node.name, list(binder.variables))
    return found
