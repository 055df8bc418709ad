"""WITH RECURSIVE: a query that begins with rows, and goes on from the rows that it has made.

Over tables that do not change it is a :class:`~forerun.planner.algebra.recursion.Recursion`, an
operator of its own. What Spark takes of it, and only what the printed text has the same rows of, is
read; the rest is refused or left to the text.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from forerun.planner.algebra.expressions import scalars_of
from forerun.planner.algebra.recursion import Recursion, RecursiveSteps
from forerun.planner.algebra.relational import (
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Values,
    walk,
)
from forerun.planner.algebra.scalar import is_deterministic, references
from forerun.planner.algebra.types import Column
from forerun.planner.sql.binding.binder import BindContext, Bound
from forerun.planner.sql.binding.scope import NamedRelation
from forerun.planner.sql.query_block.grouping import aggregate_calls
from forerun.planner.sql.subqueries.correlation import is_correlated
from forerun.planner.sql.syntax.table_names import tables_in
from forerun.planner.sql.syntax.text import ENDING


def reads(query: exp.Expr, name: str) -> bool:
    """Return whether a query names a table that is called so, and that is none of its own WITH."""
    tables = (table for table in tables_in(query) if not table.args.get("db"))
    named = (table for table in tables if table.name.lower() == name.lower())
    return any(not _is_of_inner_with(table, query) for table in named)


def _is_of_inner_with(table: exp.Expr, query: exp.Expr) -> bool:
    """Return whether a WITH inside of a query names what is read as a table."""
    above, node = [table], table
    while node is not query and node.parent is not None:
        node = node.parent
        above.append(node)
    clauses = (node.args.get("with_") for node in above)
    return any(
        each.alias.lower() == table.name.lower()
        for clause in clauses
        if clause is not None and clause not in above
        for each in clause.expressions
    )


def _goes_on(step: exp.Expr) -> bool:
    """Return whether the step of a recursion is a SELECT of rows, as far as Spark takes one."""
    clauses = ("group", "having", "distinct", "with_", "windows", *ENDING)
    if not isinstance(step, exp.Select) or any(step.args.get(clause) for clause in clauses):
        return False
    if any(join.side or join.kind in ("SEMI", "ANTI") for join in step.args.get("joins") or ()):
        return False
    return not any(
        aggregate_calls(item) or any(True for _ in item.find_all(exp.Window, exp.Subquery))
        for item in step.expressions
    )


def bind_recursion(context: BindContext, cte: exp.CTE) -> Bound:
    """The rows of a recursive query. Within its step its name means the rows of the step before."""
    query, text = cte.this, context.text
    clauses = ("with_", *ENDING)
    chained = isinstance(query, exp.Union) and not query.args.get("distinct")
    if not chained or any(map(query.args.get, clauses)) or reads(query.this, cte.alias):
        hint = "begin it with a query that does not read it: ... UNION ALL ..."
        raise text.error(cte, f"{cte.alias} reads itself", hint)
    if not _goes_on(query.expression):
        hint = "read it with WHERE and inner joins, and group what it gives outside"
        raise text.unsupported(query.expression, "a recursion with more than that", hint)
    first = context.bind_query(context, query.this)
    names = tuple(c.name for c in cte.args["alias"].args.get("columns") or ()) or first.names
    if len(names) != len(first.names):
        raise text.error(cte, f"{len(names)} column names for {len(first.names)} columns")
    columns = context.session.columns
    types = [column.type for column in first.relation.columns]
    itself = tuple(columns.new(f"c{place}", type_) for place, type_ in enumerate(types, 1))
    named = {cte.alias.lower(): NamedRelation(Scan(cte.alias, itself), names)}
    within = replace(context, ctes={**context.ctes, **named})
    step = within.bind_query(within, query.expression)
    if [column.type for column in step.relation.columns] != types:
        hint = "cast the columns of both sides to the same types"
        raise text.unsupported(cte, "a recursion that changes its types", hint)
    steps = RecursiveSteps(cte.alias, tuple(c.name for c in itself), first.relation, step.relation)
    made = tuple(columns.new(name, type_) for name, type_ in zip(names, types, strict=True))
    found = Recursion(_tables(context, steps), made, steps)
    if not _is_plain(found):
        context.session.only_text.append("a recursive query of more than rows, joins and filters")
    return Bound(found, names)


def _tables(context: BindContext, steps: RecursiveSteps) -> tuple[Relation, ...]:
    """A scan of each table that the steps read, of the columns that they read of it."""
    nodes = (*walk(steps.first), *walk(steps.step))
    read = {id_ for node in nodes for scalar in scalars_of(node) for id_ in references(scalar)}
    names: dict[str, dict[str, Column]] = {}
    for node in nodes:
        if isinstance(node, Scan) and node.source != steps.name:
            columns = [c for c in node.scanned if c.id in read] or node.scanned[:1]
            names.setdefault(node.source, {}).update((c.name, c) for c in columns)
    new = context.session.columns.new
    return tuple(
        Scan(table, tuple(new(name, column.type) for name, column in scanned.items()))
        for table, scanned in names.items()
    )


def _is_plain(node: Recursion) -> bool:
    """Return whether its steps are of operators that Spark takes of a recursion in whatever text,
    and give the same rows whenever they are computed."""
    parts = (node.steps.first, node.steps.step)
    if any(map(is_correlated, parts)) or not all(map(is_deterministic, node.inside())):
        return False
    return all(
        isinstance(one, Scan | Filter | Project | Values | Generate)
        or (isinstance(one, UnionAll) and part is node.steps.first)
        or (isinstance(one, Join) and one.kind is JoinKind.INNER)
        for part in parts
        for one in walk(part)
    )
