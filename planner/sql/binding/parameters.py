"""Named parameters of a query, ``:report_date``: bound to typed constants when it is read.

What is planned has the value in its place, so two days share a fingerprint, and with it state,
only where the parameter does not matter. The user's own text keeps ``:name``: Spark binds it.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from forerun.planner.algebra.scalar import Literal
from forerun.planner.algebra.types import DataType, decimal, parse_type
from forerun.planner.contract.parameters import value_of
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.sql.binding.binder import Binder


def bind_parameter(binder: Binder, node: exp.Expr) -> Literal:
    """The constant that a ``:name`` stands for. Raises :class:`forerun.planner.errors.SqlError` for
    a name that the report does not have, and for ``?``."""
    session, name = binder.context.session, node.name
    if not name:
        raise binder.text.error(node, "a parameter without a name", "write :name instead of ?")
    parameter = session.parameters.get(name)
    if parameter is None:
        known = ", ".join(f":{one}" for one in session.parameters) or "none"
        raise binder.text.error(
            node,
            f"unknown parameter :{name}",
            f"The parameters here are: {known}. A report has :report_date, :report_start and "
            ":report_end, and those that it declares; on the command line they come with "
            "--date 2026-01-31 and --param name=value.",
        )
    session.used_parameters.add(name)
    return constant(parameter)


def constant(parameter: Parameter) -> Literal:
    """The typed literal of a parameter."""
    value = value_of(parameter)
    if isinstance(value, Decimal):
        scale = max(0, -int(value.as_tuple().exponent))
        precision = max(len(value.as_tuple().digits), scale, 1)
        return Literal(f"{value:f}", decimal(precision, scale))
    type_: DataType = parse_type(parameter.type)
    if isinstance(value, float):
        return Literal(repr(value), type_)
    if type_.name == "TIMESTAMP":
        return Literal(f"{parameter.value}Z", type_)  # an instant, whatever the session's time zone
    return Literal(str(value) if type_.name in ("INT", "BIGINT") else parameter.value, type_)
