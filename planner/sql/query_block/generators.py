"""Generators: functions that make several rows of one, in SELECT, as LATERAL VIEW and in FROM.

Wherever it is written, a generator becomes a :class:`~forerun.planner.algebra.relational.Generate`
over the rows that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from forerun.planner.algebra.functions import GENERATORS, RANGE
from forerun.planner.algebra.nested import element_type, map_types, struct_fields
from forerun.planner.algebra.relational import Generate, Relation
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import BIGINT, INT, NULL, STRING, UNKNOWN, DataType
from forerun.planner.sql.binding.binder import BindContext, Binder
from forerun.planner.sql.binding.calls import require_fit
from forerun.planner.sql.binding.coercion import common_type
from forerun.planner.sql.binding.identifiers import internal_name
from forerun.planner.sql.binding.scope import Field, Scope
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.grouping import aggregate_calls
from forerun.planner.sql.syntax.text import QueryText, require_only

_OUTER = "_outer"


class Generator(NamedTuple):
    """A generator as it is bound: its call without ``_outer``, whether it had that, and the names
    and types of the columns that it makes."""

    call: Call
    outer: bool
    columns: tuple[tuple[str, DataType], ...]


def is_generator(node: exp.Expr) -> bool:
    """Return whether an expression is a call of a generator."""
    return isinstance(node, exp.Anonymous) and str(node.name).lower() in GENERATORS


def is_range(node: exp.Expr) -> bool:
    """Return whether an item of FROM is the table function ``range``."""
    return isinstance(node, exp.Anonymous) and str(node.name).lower() == RANGE


def check_beside_groups(text: QueryText, node: exp.Select, found: Sequence[exp.Expr]) -> None:
    """Refuse generators in the SELECT list of a grouping that Spark refuses: it takes the two
    apart, and then knows no aggregate of what stands around them."""
    clause, having, order = (node.args.get(part) for part in ("group", "having", "order"))
    if not found:
        return
    if clause is not None and clause.args.get("all"):
        raise text.unsupported(found[0], "a generator beside GROUP BY ALL", _ABOVE)
    sets = clause is not None and clause.find(exp.Rollup, exp.Cube, exp.GroupingSets)
    if len(found) > 1 or sets or any(part and aggregate_calls(part) for part in (having, order)):
        what = (
            "Spark takes one generator beside GROUP BY, no grouping sets, and no aggregates in "
            "HAVING and ORDER BY"
        )
        raise text.error(found[-1], what, _ABOVE)


_ABOVE = "group in a subquery of FROM, and write the generator above"


def bound_range(binder: Binder, node: exp.Expr) -> Generator:
    """Bind ``range(end)`` or ``range(start, end[, step[, partitions]])`` of constants."""
    args = tuple(binder.bind(argument) for argument in node.expressions)
    numbers = all(isinstance(arg, Literal) and arg.type.is_integer and arg.text for arg in args)
    if not numbers or not 1 <= len(args) <= _MOST_OF_RANGE:
        raise binder.text.error(
            node, "range takes constants", "write range(end) or range(start, end, step)"
        )
    return Generator(Call(RANGE, args, UNKNOWN), outer=False, columns=(("id", BIGINT),))


_MOST_OF_RANGE = 4


def bound_generator(binder: Binder, node: exp.Expr) -> Generator:
    """Bind the call of a generator over the binder's rows."""
    require_only(binder.text, node, "this", "expressions")
    written = str(node.name).lower()
    name = written.removesuffix(_OUTER)
    args = tuple(binder.bind(argument) for argument in node.expressions)
    require_fit(binder, node, written, args)
    columns = _made(name, args)
    if not columns and not all(arg.type.is_known for arg in args):
        hint = "write its type around it: CAST(... AS ARRAY<...>)"
        raise binder.text.unsupported(node, f"{written} of a value of unknown type", hint)
    if not columns:
        given = ", ".join(str(arg.type) for arg in args) or "nothing"
        raise binder.text.error(node, f"{written} does not take {given}", _TAKES[name])
    return Generator(Call(name, args, UNKNOWN), name != written, columns)


_TAKES = {
    "explode": "it takes an array or a map whose type is known",
    "posexplode": "it takes an array or a map whose type is known",
    "inline": "it takes an array of structs whose type is known",
    "stack": "it takes a constant number of rows, and their values one row after the other",
    "json_tuple": "it takes a text, and the constant names of its fields",
}


def _made(name: str, args: tuple[Scalar, ...]) -> tuple[tuple[str, DataType], ...]:
    """The columns that a generator makes; none where it does not take the arguments."""
    if name == "stack":
        return _stacked(args)
    if name == "json_tuple":
        texts = len(args) > 1 and all(arg.type == STRING for arg in args)
        return tuple((f"c{place}", STRING) for place in range(len(args) - 1)) if texts else ()
    if len(args) != 1:
        return ()
    type_ = args[0].type
    if name == "inline":
        return struct_fields(element_type(type_)) if kind_of(type_) == "a" else ()
    pairs: tuple[tuple[str, DataType], ...] = ()
    if kind_of(type_) == "a":
        pairs = (("col", element_type(type_)),)
    elif kind_of(type_) == "p":
        pairs = tuple(zip(("key", "value"), map_types(type_), strict=True))
    return (("pos", INT), *pairs) if pairs and name == "posexplode" else pairs


def _stacked(args: tuple[Scalar, ...]) -> tuple[tuple[str, DataType], ...]:
    """The columns of ``stack``, whose values of one column must be of one type."""
    rows, *values = args or (Literal(None, NULL),)
    if not isinstance(rows, Literal) or not rows.type.is_integer or not values:
        return ()
    number = int(rows.text or "0")
    width = -(-len(values) // number) if number > 0 else 0
    columns = []
    for place in range(width):
        type_ = NULL
        for value in values[place::width]:
            if value.type != type_ and NULL not in (type_, value.type):
                return ()
            type_ = common_type(type_, value.type) or UNKNOWN
        columns.append((f"col{place}", type_))
    return tuple(columns)


def generated(
    binder: Binder, node: exp.Expr, generator: Generator, names: Sequence[str], *, outer: bool
) -> list[Field]:
    """Apply a generator to the binder's rows; return the columns that it makes, by the names that
    they are given. Without names they have those of the generator."""
    columns = generator.columns
    names = names or [name for name, _ in columns]
    if len(names) != len(columns):
        many = f"{len(names)} names for the {len(columns)} columns of a generator"
        raise binder.text.error(node, many)
    new = binder.context.session.columns.new
    pairs = zip(names, columns, strict=True)
    fields = [Field("", name, new(internal_name(name), type_)) for name, (_, type_) in pairs]
    made = tuple(field.column for field in fields)
    outer = outer or generator.outer
    binder.relation = Generate(binder.relation, generator.call, made, outer)
    return fields


def lateral_view(
    context: BindContext, relation: Relation, fields: tuple[Field, ...], node: exp.Lateral
) -> tuple[Relation, tuple[Field, ...]]:
    """``LATERAL VIEW [OUTER] explode(x) t AS a``, and ``LATERAL explode(x) AS t(a)`` in FROM: the
    rows with what the generator makes of each, and the names after that."""
    require_only(context.text, node, "this", "view", "outer", "alias", "ordinality")
    ranged = is_range(node.this) and not fields and not node.args.get("view")
    if not ranged and not is_generator(node.this):
        what = "LATERAL of this"
        hint = "LATERAL and LATERAL VIEW take a generator such as explode"
        raise context.text.unsupported(node, what, hint)
    binder = ExpressionBinder(context, Scope(fields, context.parent), relation)
    bind = bound_range if ranged else bound_generator
    generator, alias = bind(binder, node.this), node.args.get("alias")
    names = [] if alias is None else [one.name for one in alias.args.get("columns") or ()]
    made = generated(binder, node, generator, names, outer=bool(node.args.get("outer")))
    if alias is not None:
        require_only(context.text, alias, "this", "columns")
        made = [replace(field, qualifier=alias.name) for field in made]
    return binder.relation, (*fields, *made)
