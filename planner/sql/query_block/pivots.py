"""PIVOT, which makes columns of the values of a column, and UNPIVOT, which makes rows of columns.

::

    R PIVOT (f(x) FOR p IN (v, w))    =  aggregate by all other columns of R
                                             [v := f(x) where p <=> v, w := f(x) where p <=> w]
    R UNPIVOT (x FOR n IN (a, b))     =  filter[x is not null](generate[n, x](R))
                                             with stack(2, 'a', a, 'b', b)

So both run early as a grouping and a generator do. Where all that is aggregated has a type of which
Spark keeps the values in an array (``PivotFirst``), a group in which a value does not occur has
NULL there, also of ``count``; of other types ``count`` gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import function, is_aggregate, value_when_empty
from forerun.planner.algebra.relational import Filter, Generate, Project, Relation
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import BOOLEAN, INT, NULL, STRING, UNKNOWN, Column
from forerun.planner.sql.binding.binder import BindContext
from forerun.planner.sql.binding.coercion import cast, common_type
from forerun.planner.sql.binding.identifiers import internal_name, output_name
from forerun.planner.sql.binding.scope import Field, Scope
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.grouping import aggregate_calls, call_name, group
from forerun.planner.sql.syntax.text import require_only

_KEPT_IN_ARRAYS = frozenset("ilfecb")
"""Kinds of types of which Spark's pivot keeps one value for each column: numbers and booleans."""


_NAMED_BY_TEXT = frozenset("ilcsb")
"""Kinds of constants whose text is the same for Spark and here."""


def pivoted(
    context: BindContext, relation: Relation, fields: tuple[Field, ...], node: exp.Pivot
) -> tuple[Relation, tuple[Field, ...]]:
    """Apply a PIVOT or an UNPIVOT that is written after a table; return the rows and their names.

    Raises :class:`forerun.planner.errors.SqlError` for columns that are not there, and for several
    columns pivoted at once without an alias for each combination of their values.
    """
    binder = ExpressionBinder(context, Scope(fields, context.parent), relation)
    if node.args.get("unpivot"):
        made = _unpivoted(binder, node)
        alias = node.args.get("alias")
        name = "" if alias is None else alias.name
        shown = tuple(Field(name, f.name, f.column, f.starred) for f in made) if name else made
        return binder.relation, shown
    return _pivoted(binder, node)


def _consumed(binder: ExpressionBinder, nodes: Sequence[exp.Expr]) -> set[Column]:
    """The columns that expressions read; of a nested one, wherever a part of it is read."""
    read: set[Column] = set()
    for node in nodes:
        for column in node.find_all(exp.Column):
            parts = tuple(part.name for part in column.parts)
            read |= {found.column for found in binder.scope.meaning(parts)[0]}
    return read


# -- PIVOT ------------------------------------------------------------------------------------


def _pivoted(binder: ExpressionBinder, node: exp.Pivot) -> tuple[Relation, tuple[Field, ...]]:
    text = binder.text
    require_only(
        text, node, "expressions", "fields", "columns", "unpivot", "identify_pivot_strings",
        "prefixed_pivot_columns", "pivot_column_naming", "default_on_null",
    )  # fmt: skip
    (clause,) = node.args["fields"]
    by = clause.this.expressions if isinstance(clause.this, exp.Tuple) else [clause.this]
    read = _consumed(binder, [*node.expressions, *by])
    keys = [f for f in binder.scope.fields if f.starred and f.column not in read]
    several = [
        _Made(
            value if len(node.expressions) == 1 else f"{value}_{output_name(one)}",
            _for_value(one.this if isinstance(one, exp.Alias) else one, where),
            _for_value(exp.Anonymous(this="count", expressions=[exp.Star()]), where),
        )
        for value, where in (_value(binder, by, one) for one in clause.expressions)
        for one in node.expressions
    ]
    calls = [call for one in several for call in aggregate_calls(one.what)]
    if not calls:
        raise text.error(node, "PIVOT without an aggregate function")
    present = [call for one in several for call in aggregate_calls(one.present)]
    above = group(binder, tuple((f.name, Ref(f.column)) for f in keys), [*calls, *present])
    values = [above.bind(one.what) for one in several]
    arrays = all(kind_of(value.type) in _KEPT_IN_ARRAYS for value in values)
    new = binder.context.session.columns.new
    items: list[tuple[Column, Scalar]] = [(f.column, Ref(f.column)) for f in keys]
    made = []
    for one, value in zip(several, values, strict=True):
        shown = value
        if arrays and not _is_null_over_nothing(one.what.unnest()):
            shown = _null_without_rows(value, above.bind(one.present))
        column = new(internal_name(one.name), shown.type)
        items.append((column, shown))
        made.append(Field("", one.name, column))
    return Project(above.relation, tuple(items)), (*keys, *made)


class _Made(NamedTuple):
    """A column that PIVOT makes: its name, what is aggregated over the rows that have its value,
    and the number of these rows."""

    name: str
    what: exp.Expr
    present: exp.Expr


def _value(
    binder: ExpressionBinder, by: Sequence[exp.Expr], node: exp.Expr
) -> tuple[str, exp.Expr]:
    """A value of the IN list: what its columns are called, and the condition that a row has it as a
    node that the binder knows."""
    alias, value = "", node
    if isinstance(node, exp.PivotAlias | exp.Alias):
        alias, value = node.args["alias"].name, node.this
    parts = value.expressions if isinstance(value, exp.Tuple) else [value]
    if len(parts) != len(by):
        raise binder.text.unsupported(node, f"{len(parts)} values for {len(by)} columns of PIVOT")
    if any(True for part in parts for _ in part.find_all(exp.Column)):
        raise binder.text.error(node, "the values of PIVOT are constants")
    if not alias:
        if len(parts) > 1:
            hint = "name it: (1, 'x') AS one_x"
            raise binder.text.unsupported(node, "a combination of values without a name", hint)
        alias = _name_of(binder, value)
    conditions = []
    for column, part in zip(by, parts, strict=True):
        mine, given = binder.bind(column), binder.bind(part)
        alike = given.type.is_numeric and mine.type.is_numeric
        if given.type not in (mine.type, NULL) and not alike:
            what = f"{given.type} as a value of {mine.type} in PIVOT"
            raise binder.text.unsupported(part, what, "write constants of the column's own type")
        conditions.append(Call("<=>", (mine, cast(given, mine.type)), BOOLEAN))
    known = exp.Boolean(this=True)
    binder.known[id(known)] = conjunction(tuple(conditions))
    return alias, known


def _name_of(binder: ExpressionBinder, value: exp.Expr) -> str:
    """Spark's name of the columns of a constant: the constant as text."""
    bound = binder.bind(value)
    if isinstance(bound, Literal) and bound.text is None:
        return "null"
    if not isinstance(bound, Literal) or kind_of(bound.type) not in _NAMED_BY_TEXT:
        raise binder.text.unsupported(value, "a value of PIVOT of this kind", "name it with AS")
    return bound.text or ""


def _for_value(node: exp.Expr, where: exp.Expr) -> exp.Expr:
    """The expression with its aggregates over those rows only that have the value."""
    whole = exp.Paren(this=node.copy())
    for call in aggregate_calls(whole):
        own = call.expression.this if isinstance(call, exp.Filter) else None
        inner = call.this if isinstance(call, exp.Filter) else call
        both = where if own is None else exp.And(this=own.copy(), expression=where)
        call.replace(exp.Filter(this=inner.copy(), expression=exp.Where(this=both)))
    return whole


def _is_null_over_nothing(what: exp.Expr) -> bool:
    """Return whether it is an aggregate that is NULL of no rows, as a count is not, nor what is
    computed of it."""
    name = call_name(what) or ""
    return is_aggregate(name) and value_when_empty(function(name).name) is None


def _null_without_rows(value: Scalar, count: Scalar) -> Scalar:
    some = Call(">", (count, Literal("0", count.type)), BOOLEAN)
    return Call("case", (some, value, Literal(None, value.type)), value.type)


# -- UNPIVOT ----------------------------------------------------------------------------------


def _unpivoted(binder: ExpressionBinder, node: exp.Pivot) -> tuple[Field, ...]:
    """Turn the binder's rows; return their names."""
    text = binder.text
    require_only(
        text, node, "expressions", "fields", "unpivot", "include_nulls", "alias",
        "default_on_null", "value_columns_first", "columns",
    )  # fmt: skip
    (values,), (clause,) = node.expressions, node.args["fields"]
    listed = values.expressions if isinstance(values, exp.Tuple) else [values.unnest()]
    names = [one.name for one in listed]
    sets = list(_sets(binder, clause.expressions, len(names)))
    read = {ref.column for _, refs in sets for ref in refs}
    kept = tuple(f for f in binder.scope.fields if f.starred and f.column not in read)
    new = binder.context.session.columns.new
    made = [new(internal_name(clause.this.name), STRING)]
    columns = []
    for place, name in enumerate(names):
        type_ = sets[0][1][place].type
        for _, refs in sets[1:]:
            common = common_type(type_, refs[place].type)
            if common is None or (type_ == STRING) is not (refs[place].type == STRING):
                raise text.error(
                    clause, f"{type_} and {refs[place].type} are not values of one column"
                )
            type_ = common
        columns.append(type_)
        made.append(new(internal_name(name), type_))
    args: list[Scalar] = [Literal(str(len(sets)), INT)]
    for label, refs in sets:
        args.append(Literal(label, STRING))
        args += [cast(ref, type_) for ref, type_ in zip(refs, columns, strict=True)]
    call = Call("stack", tuple(args), UNKNOWN)
    binder.relation = Generate(binder.relation, call, tuple(made), False)
    if not node.args.get("include_nulls"):
        some = tuple(Call("isnotnull", (Ref(column),), BOOLEAN) for column in made[1:])
        there = some[0] if len(some) == 1 else Call("or", some, BOOLEAN)
        binder.relation = Filter(binder.relation, there)
    shown = zip((clause.this.name, *names), made, strict=True)
    return (*kept, *(Field("", name, column) for name, column in shown))


def _sets(
    binder: ExpressionBinder, nodes: Sequence[exp.Expr], width: int
) -> Iterator[tuple[str, tuple[Ref, ...]]]:
    """Yield the columns that are one row, with what the row is called."""
    for node in nodes:
        alias, inner = "", node
        if isinstance(node, exp.PivotAlias | exp.Alias):
            alias, inner = node.args["alias"].name, node.this
        parts = inner.expressions if isinstance(inner, exp.Tuple) else [inner.unnest()]
        if len(parts) != width:
            raise binder.text.error(node, f"{len(parts)} columns for {width} of UNPIVOT")
        refs = tuple(_column(binder, part) for part in parts)
        yield alias or "_".join(_spelled(binder, ref) for ref in refs), refs


def _column(binder: ExpressionBinder, node: exp.Expr) -> Ref:
    value = binder.bind(node)
    if not isinstance(value, Ref):
        raise binder.text.unsupported(node, "a part of a column in UNPIVOT", "give it a name first")
    return value


def _spelled(binder: ExpressionBinder, ref: Ref) -> str:
    return next(f.name for f in binder.scope.fields if f.column == ref.column)
