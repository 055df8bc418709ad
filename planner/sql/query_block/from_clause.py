"""FROM: tables, subqueries, VALUES, and the joins between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation, Scan, Values
from forerun.planner.algebra.scalar import TRUE, Call, Ref, Scalar, conjunction
from forerun.planner.algebra.types import NULL, STRING, Column
from forerun.planner.errors import SqlError, TooLargeError
from forerun.planner.sql.binding.binder import BindContext
from forerun.planner.sql.binding.coercion import cast, common_type, compare, unify
from forerun.planner.sql.binding.scope import (
    Field,
    KnownTable,
    NamedRelation,
    Scope,
    output_fields,
)
from forerun.planner.sql.query_block.conditions import SUBQUERIES, conjuncts, filter_by
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.generators import is_generator, is_range, lateral_view
from forerun.planner.sql.query_block.pivots import pivoted
from forerun.planner.sql.subqueries.apply import lateral
from forerun.planner.sql.syntax.text import require_only

_MOST_TABLES = 512
_FEW_TABLES = 16
"""A CTE of so many tables may be read however often: what is written flat is planned however long
it is."""


@dataclass(frozen=True)
class Tables:
    """What FROM has read so far: a relation and the names of its columns."""

    relation: Relation
    fields: tuple[Field, ...]


_KINDS = {
    ("", ""): JoinKind.INNER, ("", "INNER"): JoinKind.INNER, ("", "CROSS"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT, ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT, ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL, ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI, ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI, ("", "ANTI"): JoinKind.ANTI,
}  # fmt: skip


def bind_from(context: BindContext, node: exp.Select) -> Tables:
    """The FROM clause of a block with its lateral views; without one, one row without columns."""
    result = Tables(Values((), ((),)), ())
    if (clause := node.args.get("from_")) is not None:
        require_only(context.text, clause, "this")
        result = _joined(context, clause.this, [])
    # A comma is a cross join like any other, from left to right: unlike standard SQL, in Spark
    # "a, b JOIN c" is "(a, b) JOIN c".
    for join in node.args.get("joins") or ():
        result = _join(context, result, join)
    for view in node.args.get("laterals") or ():
        result = Tables(*lateral_view(context, result.relation, result.fields, view))
    return result


def _joined(context: BindContext, table: exp.Expr, joins: list[exp.Join]) -> Tables:
    result = bind_table(context, table)
    for join in [*(table.args.get("joins") or ()), *joins]:
        result = _join(context, result, join)
    return result


def bind_table(context: BindContext, node: exp.Expr) -> Tables:
    """One item of FROM with PIVOT and UNPIVOT, without the joins written after it."""
    result = _unturned(context, node)
    for turn in node.args.get("pivots") or ():
        if isinstance(node.parent, exp.Join):  # Spark turns what both sides make
            hint = "write the join in a subquery of FROM"
            raise context.text.unsupported(turn, "PIVOT behind a join", hint)
        result = Tables(*pivoted(context, result.relation, result.fields, turn))
    return result


def _unturned(context: BindContext, node: exp.Expr) -> Tables:
    if isinstance(node, exp.Table):
        return _table(context, node)
    if isinstance(node, exp.Subquery):
        return _subquery(context, node)
    if isinstance(node, exp.Values):
        return _values(context, node)
    if isinstance(node, exp.Paren):
        return bind_table(context, node.this)
    name = "LATERAL" if isinstance(node, exp.Lateral) else type(node).__name__.upper()
    raise context.text.unsupported(node, f"{name} in FROM")


def _table(context: BindContext, node: exp.Table) -> Tables:
    require_only(context.text, node, "this", "alias", "joins", "db", "catalog", "sample", "pivots")
    if node.args.get("sample") is not None:
        context.session.only_text.append("TABLESAMPLE takes other rows when files are others")
    if is_generator(node.this) or is_range(node.this):
        return _generated_table(context, node)
    if not isinstance(node.this, exp.Identifier):
        raise context.text.unsupported(node, f"the table function {node.this.name or node.name}")
    name = node.name
    qualified = node.args.get("db") is not None
    alias = node.args.get("alias")
    shared = None if qualified else context.ctes.get(name.lower())
    if shared is not None:
        if _names_columns(alias):
            shared = replace(shared, repeats={})
        tables = _reference(context, shared, alias.name if alias is not None else name)
        return _aliased(context, tables, alias)
    by_lower = {table.lower(): table for table in context.session.tables}
    if qualified or name.lower() not in by_lower:
        full = ".".join(part.name for part in node.parts)
        known = [*context.session.tables, *context.ctes]
        raise context.text.unknown(node, "table", full, known)
    table = context.session.tables[by_lower[name.lower()]]
    context.session.named.add(table.name)
    context.session.tables_read += 1
    return _aliased(context, _scan(context, table), alias)


def _generated_table(context: BindContext, node: exp.Table) -> Tables:
    """``FROM explode(array(1, 2)) AS t(a)`` and ``FROM range(10)``: what is made of no row of any
    table."""
    view = exp.Lateral(this=node.this, alias=node.args.get("alias"))
    return Tables(*lateral_view(context, Values((), ((),)), (), view))


def _scan(context: BindContext, table: KnownTable) -> Tables:
    columns = tuple(context.session.columns.new(name, type_) for name, type_ in table.columns)
    fields = tuple(Field(table.name, column.name, column) for column in columns)
    return Tables(Scan(table.name, columns), fields)


def _reference(context: BindContext, shared: NamedRelation, qualifier: str) -> Tables:
    """Return a use of a CTE, which is one value wherever it is used; each use has columns of its
    own. Raises :class:`TooLargeError` where CTEs that read one another stand for too much: what a
    plan costs grows with the query as it is written out."""
    session = context.session
    session.tables_read += shared.tables
    if shared.tables > _FEW_TABLES and session.tables_read > _MOST_TABLES:
        raise TooLargeError(qualifier, session.tables_read, _MOST_TABLES)
    fresh = tuple(context.session.columns.copy(c) for c in shared.relation.columns)
    items = tuple((n, Ref(o)) for n, o in zip(fresh, shared.relation.columns, strict=True))
    fields = output_fields(qualifier, shared.names, fresh, shared.repeats)
    return Tables(Project(shared.relation, items), fields)


def _aliased(context: BindContext, tables: Tables, alias: exp.TableAlias | None) -> Tables:
    """``AS t`` and ``AS t(a, b)``."""
    if alias is None:
        return tables
    require_only(context.text, alias, "this", "columns")
    fields = tables.fields
    if alias.name:
        fields = tuple(replace(f, qualifier=alias.name) for f in fields)
    columns = alias.args.get("columns") or []
    if columns:
        if len(columns) != len(fields):
            raise context.text.error(
                alias, f"{len(columns)} column names for {len(fields)} columns of {alias.name}"
            )
        fields = tuple(replace(f, name=c.name) for f, c in zip(fields, columns, strict=True))
    return replace(tables, fields=fields)


def _names_columns(alias: exp.TableAlias | None) -> bool:
    """Return whether an alias has names for columns: each is of a column of its own then."""
    return alias is not None and bool(alias.args.get("columns"))


def _subquery(context: BindContext, node: exp.Subquery) -> Tables:
    alias = node.args.get("alias")
    inner = node.this
    if isinstance(inner, exp.Table | exp.Paren | exp.Values) and not isinstance(inner, exp.Query):
        # Parentheses around a join.
        require_only(context.text, node, "this", "alias", "joins", "pivots")
        return _aliased(context, _joined(context, inner, []), alias)
    # A subquery in FROM does not see the tables beside it, only enclosing queries.
    bound = context.bind_query(context, node)
    repeats = {} if _names_columns(alias) else bound.repeats
    fields = output_fields("", bound.names, bound.relation.columns, repeats)
    return _aliased(context, Tables(bound.relation, fields), alias)


def _values(context: BindContext, node: exp.Values) -> Tables:
    require_only(context.text, node, "expressions", "alias", "joins")
    relation = values_relation(context, node)
    fields = tuple(
        Field("", f"col{i}", column) for i, column in enumerate(relation.columns, start=1)
    )
    return _aliased(context, Tables(relation, fields), node.args.get("alias"))


def values_relation(context: BindContext, node: exp.Values) -> Values:
    """``VALUES (...), (...)``: constant rows with one type per column."""
    alone = Values((), ((),))
    binder = ExpressionBinder(context, Scope((), context.parent), alone)
    rows: list[tuple[Scalar, ...]] = []
    for row in node.expressions:
        parts = row.expressions if isinstance(row, exp.Tuple) else [row.unnest()]
        rows.append(tuple(binder.bind(part) for part in parts))
        if binder.relation is not alone:
            hint = "join the subquery with the constant rows"
            raise context.text.unsupported(row, "a subquery in VALUES", hint)
        if len(rows[-1]) != len(rows[0]):
            raise context.text.error(
                row, f"a row of {len(rows[-1])} values after rows of {len(rows[0])}"
            )
    columns, lists = [], []
    for i, values in enumerate(zip(*rows, strict=True), start=1):
        pair = unify(values)
        if pair is None or len({one.type == STRING for one in values if one.type != NULL}) > 1:
            raise context.text.error(node, f"column {i} of VALUES has values without a common type")
        lists.append(pair[0])
        columns.append(context.session.columns.new(f"col{i}", pair[1]))
    return Values(tuple(columns), tuple(zip(*lists, strict=True)))


def _join(context: BindContext, left: Tables, node: exp.Join) -> Tables:
    text = context.text
    require_only(text, node, "this", "on", "using", "side", "kind", "method")
    nested = node.this
    if node.method not in ("", "NATURAL"):
        raise text.unsupported(node, f"{node.method} JOIN")
    kind = _KINDS.get((node.side, node.kind))
    if kind is None:
        raise text.unsupported(node, f"{node.side} {node.kind} JOIN".strip())
    if isinstance(nested, exp.Lateral):
        return _lateral(context, left, node, nested, kind)
    right = _joined(context, nested, [])
    if node.method == "NATURAL":
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            raise text.error(
                node, f"NATURAL {node.side} {node.kind} JOIN", "name the columns: USING"
            )
        theirs = {f.name for f in right.fields if f.starred}
        names = list(dict.fromkeys(f.name for f in left.fields if f.starred and f.name in theirs))
        return _using(context, node, kind, left, right, names)
    if node.args.get("using"):
        names = [part.name for part in node.args["using"]]
        return _using(context, node, kind, left, right, names)
    on = node.args.get("on")
    fields = left.fields + right.fields
    outer_only = left.fields if kind in (JoinKind.SEMI, JoinKind.ANTI) else fields
    if on is None:
        return Tables(Join(kind, left.relation, right.relation, TRUE), outer_only)
    pair = Join(JoinKind.INNER, left.relation, right.relation, TRUE)
    binder = ExpressionBinder(context, Scope(fields, context.parent), pair)
    if kind is JoinKind.INNER and any(True for _ in on.find_all(*SUBQUERIES)):
        filter_by(binder, on)  # as in WHERE: an inner join keeps what its condition lets through
        return Tables(binder.relation, fields)
    condition = binder.predicate(on)
    if binder.relation is not pair:
        return _with_subqueries(context, kind, left, right, on)
    return Tables(Join(kind, left.relation, right.relation, condition), outer_only)


def _with_subqueries(
    context: BindContext, kind: JoinKind, left: Tables, right: Tables, on: exp.Expr
) -> Tables:
    """A join that keeps its left side, by a condition with IN and EXISTS of the right side alone:
    that side is filtered by them before it is joined."""
    asked = [part for part in conjuncts(on) if any(True for _ in part.find_all(*SUBQUERIES))]
    alone = ExpressionBinder(context, Scope(right.fields), right.relation)
    try:
        for part in asked if kind in _KEEPS_LEFT else ():
            filter_by(alone, part)
    except SqlError:
        asked = []
    if not asked or kind not in _KEEPS_LEFT or any(map(_wants_value, asked)):
        hint = "filter the side that it asks of in a subquery of FROM"
        raise context.text.unsupported(on, "a subquery in ON", hint)
    fields = left.fields + right.fields
    pair = Join(JoinKind.INNER, left.relation, alone.relation, TRUE)
    binder = ExpressionBinder(context, Scope(fields, context.parent), pair)
    others = [binder.predicate(part) for part in conjuncts(on) if part not in asked]
    condition = conjunction(tuple(others)) if others else TRUE
    kept = fields if kind is JoinKind.LEFT else left.fields
    return Tables(Join(kind, left.relation, alone.relation, condition), kept)


def _wants_value(condition: exp.Expr) -> bool:
    """Return whether a subquery stands for a value, which Spark takes in ON of some joins only."""
    nodes = condition.walk(prune=lambda node: isinstance(node, exp.Query))
    return any(isinstance(n, exp.Subquery) and not isinstance(n.parent, exp.In) for n in nodes)


_KEEPS_LEFT = (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def _lateral(
    context: BindContext, left: Tables, node: exp.Join, view: exp.Lateral, kind: JoinKind
) -> Tables:
    """``JOIN LATERAL explode(x) AS t(a)``: rows that the generator makes of each row before it, or
    that a subquery has for it."""
    text, on = context.text, node.args.get("on")
    unconditional = on is None or (isinstance(on, exp.Boolean) and bool(on.this))
    outer = kind is JoinKind.LEFT
    if node.method or node.args.get("using") or kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise text.unsupported(node, f"{node.method or node.side or node.kind} JOIN LATERAL")
    if outer and not unconditional:
        hint = "write ON true, and the condition inside of LATERAL"
        raise text.unsupported(node, "LEFT JOIN LATERAL with a condition", hint)
    if isinstance(view.this, exp.Subquery):
        tables = _lateral_subquery(context, left, view, outer=outer)
    else:
        view.set("outer", outer)
        tables = Tables(*lateral_view(context, left.relation, left.fields, view))
    if on is None or unconditional:
        return tables
    scope = Scope(tables.fields, context.parent)
    binder = ExpressionBinder(context, scope, tables.relation)
    filter_by(binder, on)
    return Tables(binder.relation, tables.fields)


def _lateral_subquery(
    context: BindContext, left: Tables, view: exp.Lateral, *, outer: bool
) -> Tables:
    require_only(context.text, view, "this", "alias")
    binder = ExpressionBinder(context, Scope(left.fields, context.parent), left.relation)
    bound, values = lateral(binder, view.this, outer=outer)
    columns = binder.as_columns(list(zip(bound.names, values, strict=True)))
    pairs = zip(bound.names, columns, strict=True)
    made = Tables(binder.relation, tuple(Field("", name, column) for name, column in pairs))
    named = _aliased(context, made, view.args.get("alias"))
    return Tables(binder.relation, (*left.fields, *named.fields))


def _using(
    context: BindContext,
    node: exp.Join,
    kind: JoinKind,
    left: Tables,
    right: Tables,
    names: list[str],
) -> Tables:
    """USING and NATURAL: equal columns are one column of the result, which comes first. The others
    are hidden: only their table's name reaches them, and its ``*``, which begins with them."""
    equalities: list[Scalar] = []
    merged: list[Field] = []
    hidden: tuple[list[Field], list[Field]] = [], []
    computed: list[tuple[Column, Scalar]] = []
    for name in names:
        mine, theirs = (_first(context, node, side, name) for side in (left, right))
        equality = compare("=", Ref(mine.column), Ref(theirs.column))
        if equality is None:
            raise context.text.error(
                node, f"{name} has types that cannot be compared on the two sides"
            )
        equalities.append(equality)
        if kind is JoinKind.FULL:
            column, value = _either(context, mine.column, theirs.column)
            computed.append((column, value))
            merged.append(Field("", mine.name, column))
            hidden[0].append(mine)
        else:
            merged.append(theirs if kind is JoinKind.RIGHT else mine)
        hidden[1].append(mine if kind is JoinKind.RIGHT else theirs)
    relation: Relation = Join(kind, left.relation, right.relation, conjunction(tuple(equalities)))
    if computed:
        kept_columns = tuple((c, Ref(c)) for c in relation.columns)
        relation = Project(relation, kept_columns + tuple(computed))
    both, now_hidden = left.fields, tuple[Field, ...]()
    if kind not in (JoinKind.SEMI, JoinKind.ANTI):
        both = left.fields + right.fields
        now_hidden = tuple(replace(field, starred=False) for side in hidden for field in side)
    known = {*merged, *hidden[0], *hidden[1]}
    others = [field for field in both if field not in known]
    before = (field for field in others if not field.starred)
    after = (field for field in others if field.starred)
    return Tables(relation, (*now_hidden, *before, *merged, *after))


def _either(context: BindContext, left: Column, right: Column) -> tuple[Column, Scalar]:
    type_ = common_type(left.type, right.type) or left.type
    column = context.session.columns.new(left.name, type_)
    args = (cast(Ref(left), type_), cast(Ref(right), type_))
    return column, Call("coalesce", args, type_)


def _first(context: BindContext, node: exp.Join, side: Tables, name: str) -> Field:
    """Return the first column of the name on a side, of which Spark takes the first."""
    shown = [field for field in side.fields if field.starred]
    for field in shown:
        if field.name.lower() == name.lower():
            return field
    raise context.text.unknown(node, "column", name, [field.name for field in shown])
