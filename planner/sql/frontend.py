"""From SQL text to algebra: the entry point, WITH, and set operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from sqlglot import exp

from forerun.planner.algebra.nested import without_names
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Limit,
    Project,
    Relation,
    SetKind,
    SetOperation,
    UnionAll,
    walk,
)
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.spark_functions import ONLY_TEXT
from forerun.planner.algebra.types import UNKNOWN, Column, DataType
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.errors import TooDeepError
from forerun.planner.nesting import MOST_LEVELS, room_for_nesting
from forerun.planner.request import Source
from forerun.planner.sql.binding.binder import BindContext, Bound
from forerun.planner.sql.binding.coercion import cast, common_type
from forerun.planner.sql.binding.scope import (
    Binding,
    KnownTable,
    NamedRelation,
    Scope,
    output_fields,
)
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.from_clause import values_relation
from forerun.planner.sql.query_block.ordering import order_items, ordered_bound
from forerun.planner.sql.query_block.placing import check_placing
from forerun.planner.sql.query_block.recursion import bind_recursion, reads
from forerun.planner.sql.query_block.select import bind_select
from forerun.planner.sql.reading import printed
from forerun.planner.sql.spark_faults import faults_of
from forerun.planner.sql.subqueries.correlation import outer_of
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import (
    ENDING,
    QueryText,
    require_comparable,
    require_only,
)

_REMEMBERED = 32
"""So many queries are remembered as they were read: a day reads its text before each of its runs,
and to sample what it filters."""


@dataclass(frozen=True)
class Query:
    """A report's query as algebra. ``names`` are the output columns as the user spells them (the
    columns of ``relation``, by position); ``ordered``: it ends in ORDER BY; ``last_id``: the
    highest column id in use; ``parameters``: the named parameters that it has. ``hinted``: it tells
    Spark how to run it, by a hint that is no part of the algebra. ``named``: the sources that the
    text names, in order; where one is named whose rows do not matter, as in a CTE that nothing
    reads, Spark has to find it nevertheless. ``only_text``: why stages of our own might give
    another value than the text, which then is run as it is; empty if they give the same.
    ``reading``: what was read of the text, printed back (:mod:`forerun.planner.sql.reading`)."""

    relation: Relation
    names: tuple[str, ...]
    ordered: bool
    last_id: int
    parameters: tuple[Parameter, ...] = ()
    hinted: bool = False
    named: tuple[str, ...] = ()
    only_text: tuple[str, ...] = ()
    reading: str = ""


def read_query(
    sql: str,
    sources: Iterable[Source],
    *,
    allowed_functions: Iterable[str] = (),
    parameters: Iterable[Parameter] = (),
) -> Query:
    """Read a query over the sources. ``allowed_functions`` are those that the deployment allows
    although they are refused by default, or that Spark's registry does not have; ``parameters``
    are the named parameters that it may use.

    Raises :class:`SqlError` for text that is not a valid query over them and
    :class:`UnsupportedSqlError` for what is valid but not planned yet, both with a position.
    """
    given = tuple(sources)
    tables = tuple(
        KnownTable(source.name, tuple((c.name, _as_read(c.type)) for c in source.columns))
        for source in given
    )
    allowed = frozenset(name.lower() for name in allowed_functions)
    query = _read(sql, tables, allowed, tuple(parameters))
    growing = {source.name for source in given if source.changing}
    said = tuple(_recursive(query.relation, growing))
    return replace(query, only_text=(*query.only_text, *said)) if said else query


def _as_read(kind: DataType) -> DataType:
    """The type of a column in the query. Which collation texts have together is for Spark to say:
    whoever reads such a column is computed by the text."""
    return UNKNOWN if "COLLATE" in kind.name else kind


@lru_cache(maxsize=_REMEMBERED)
def _read(
    sql: str,
    tables: tuple[KnownTable, ...],
    allowed: frozenset[str],
    parameters: tuple[Parameter, ...],
) -> Query:
    text = QueryText(sql)
    given = {parameter.name: parameter for parameter in parameters}
    session = Binding(text, {table.name: table for table in tables}, allowed, given)
    with room_for_nesting():
        tree = parse(text)
        bound = bind_query(BindContext(session, bind_query), tree)
        reading = printed(text, tree)
    if outer_of(bound.relation):
        raise ValueError("a reference to an outer query is left after Apply removal")
    return Query(
        bound.relation,
        _distinct_names(bound.names),
        bound.ordered,
        session.columns.last_id,
        tuple(given[name] for name in given if name in session.used_parameters),
        tree.find(exp.Hint) is not None,
        tuple(sorted(session.named)),
        tuple(dict.fromkeys((*session.only_text, *_collated(tree), *_wrong(bound.relation)))),
        reading,
    )


def _recursive(relation: Relation, growing: Set[str]) -> Iterator[str]:
    """Yield why only the text of a recursive query means what it says."""
    for node in walk(relation):
        if isinstance(node, Recursion) and sources_of(node) & growing:
            yield f"{node.steps.name} is recursive over rows that come during the day"
        below = node
        while isinstance(below, Limit | Project):
            below = below.input
        if isinstance(node, Limit) and isinstance(below, Recursion):
            yield f"LIMIT ends the recursion of {below.steps.name}"


def _collated(tree: exp.Expr) -> Iterator[str]:
    """Yield why a text is not planned that writes types with a collation: stages cast to plain
    STRING."""
    if any("COLLATE" in written.sql().upper() for written in tree.find_all(exp.DataType)):
        yield ONLY_TEXT["collate"]


def _wrong(relation: Relation) -> tuple[str, ...]:
    """What Spark itself gives wrong rows for: plan and text then have to say the same."""
    steps = (node.steps for node in walk(relation) if isinstance(node, Recursion))
    parts = (relation, *(part for one in steps for part in (one.first, one.step)))
    found = (fault for part in parts for fault in faults_of(part))
    return tuple(f"Spark's own rows are wrong: {one.says}" for one in found)


def _distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as columns of a published table, where each is there once, whatever its case: the
    second ``a`` becomes ``a_2``."""
    taken = {name.lower() for name in names}
    seen: set[str] = set()
    shown = []
    for name in names:
        unique, count = name, 1
        while unique.lower() in seen or (count > 1 and unique.lower() in taken):
            count += 1
            unique = f"{name}_{count}"
        seen.add(unique.lower())
        shown.append(unique)
    return tuple(shown)


def bind_query(context: BindContext, node: exp.Expr) -> Bound:
    """A query block of any kind, with its WITH clause."""
    context = _with_ctes(context, node.args.get("with_"))
    if isinstance(node, exp.Select):
        return bind_select(context, node)
    if isinstance(node, exp.SetOperation):
        return _set_operation(context, node)
    if isinstance(node, exp.Subquery):
        return _parenthesized(context, node)
    if isinstance(node, exp.Values):
        require_only(context.text, node, "expressions")
        relation = values_relation(context, node)
        return Bound(relation, tuple(column.name for column in relation.columns))
    raise context.text.unsupported(node, f"{type(node).__name__.upper()} as a query")


def _with_ctes(context: BindContext, clause: exp.With | None) -> BindContext:
    if clause is None:
        return context
    require_only(context.text, clause, "expressions", "recursive")
    ctes, here = dict(context.ctes), set[str]()
    for cte in clause.expressions:
        require_only(context.text, cte, "this", "alias")
        require_only(context.text, cte.args["alias"], "this", "columns")
        if cte.alias.lower() in here:
            raise context.text.error(cte.args["alias"], f"WITH names {cte.alias} twice")
        here.add(cte.alias.lower())
        before = context.session.tables_read
        inside = replace(context, ctes=dict(ctes))
        if clause.args.get("recursive") and reads(cte.this, cte.alias):
            bound = bind_recursion(inside, cte)
        else:
            bound = bind_query(inside, cte.this)
        tables, context.session.tables_read = context.session.tables_read - before, before
        named = tuple(c.name for c in cte.args["alias"].args.get("columns") or ())
        names, repeats = (named, {}) if named else (bound.names, bound.repeats)
        if len(names) != len(bound.names):
            raise context.text.error(
                cte.args["alias"], f"{len(names)} column names for {len(bound.names)} columns"
            )
        ctes[cte.alias.lower()] = NamedRelation(bound.relation, names, tables, repeats)
    return replace(context, ctes=ctes)


def _parenthesized(context: BindContext, node: exp.Subquery) -> Bound:
    """``(query) ORDER BY ... LIMIT ...``. An alias is read by FROM."""
    require_only(context.text, node, "this", "alias", "with_", "joins", "pivots", *ENDING)
    bound = bind_query(context, node.this)
    if not any(node.args.get(clause) for clause in ENDING):
        return bound
    return _ordered_output(context, node, bound)


def _ordered_output(context: BindContext, node: exp.Expr, bound: Bound) -> Bound:
    """ORDER BY over the output of a finished query: it sees the output names only."""
    columns = bound.relation.columns
    fields = output_fields("", bound.names, columns, bound.repeats)
    binder = ExpressionBinder(context, Scope(fields, context.parent), bound.relation)
    items = [(n, Ref(c)) for n, c in zip(bound.names, columns, strict=True)]
    keys, hidden = order_items(binder, node.args.get("order"), items)
    check_placing(binder, node, items, ())
    computed = binder.as_columns([("sort_key", value) for value in hidden])
    sort = tuple(key([*columns, *computed]) for key in keys)
    result = ordered_bound(context, node, binder.relation, sort, columns, bound.names)
    return replace(result, ordered=bool(sort) or bound.ordered, repeats=bound.repeats)


def _set_operation(context: BindContext, node: exp.SetOperation) -> Bound:
    text = context.text
    require_only(text, node, "with_", "this", "expression", "distinct", *ENDING)
    # A chain of unions leans left: read it without recursion.
    spine: list[exp.SetOperation] = []
    first: exp.Expr = node
    while isinstance(first, exp.SetOperation) and (not spine or not _has_own_clauses(first)):
        spine.append(first)
        first = first.this
    unlike = sum(1 for one, two in pairwise(spine) if _kind(one) != _kind(two))
    rest = sum(1 for step in spine if not isinstance(step, exp.Union))
    if max(unlike, rest) > MOST_LEVELS:
        raise TooDeepError("a chain of set operations", max(unlike, rest), MOST_LEVELS)
    bound = bind_query(context, first)
    for step in reversed(spine):
        require_only(text, step, "with_", "this", "expression", "distinct", *ENDING)
        right = bind_query(context, step.args["expression"])
        bound = _combined(context, step, bound, right)
    if any(node.args.get(clause) for clause in ENDING):
        return _ordered_output(context, node, bound)
    return replace(bound, ordered=False)


def _kind(node: exp.SetOperation) -> tuple[str, bool]:
    return type(node).__name__, bool(node.args.get("distinct"))


def _has_own_clauses(node: exp.SetOperation) -> bool:
    return any(node.args.get(clause) for clause in ("with_", *ENDING))


def _combined(context: BindContext, node: exp.SetOperation, left: Bound, right: Bound) -> Bound:
    text = context.text
    mine, theirs = left.relation.columns, right.relation.columns
    if len(mine) != len(theirs):
        raise text.error(
            node.args["expression"],
            f"{type(node).__name__.upper()} of {len(mine)} and {len(theirs)} columns",
        )
    merged: list[Column] = []
    for name, a, b in zip(left.names, mine, theirs, strict=True):
        type_ = common_type(a.type, b.type)
        if isinstance(node, exp.Union) and without_names(a.type) == without_names(b.type):
            type_ = a.type  # fields are called as on the left
        if type_ is None:
            raise text.error(
                node.args["expression"], f"column {name}: {a.type} and {b.type} do not go together"
            )
        merged.append(context.session.columns.new(a.name, type_))
    sides = _as_types(context, left.relation, merged), _as_types(context, right.relation, merged)
    columns = tuple(merged)
    distinct = bool(node.args.get("distinct"))
    if distinct or not isinstance(node, exp.Union):
        require_comparable(text, node, merged)
    if isinstance(node, exp.Union):
        relation: Relation = UnionAll((*_branches(sides[0], distinct=distinct), sides[1]), columns)
        if distinct:
            relation = Aggregate(relation, columns, ())
    else:
        kind = SetKind.EXCEPT if isinstance(node, exp.Except) else SetKind.INTERSECT
        relation = SetOperation(kind, not distinct, *sides, columns)
    return Bound(relation, left.names)


def _branches(left: Relation, *, distinct: bool) -> tuple[Relation, ...]:
    """What a union goes on from: the branches of the union on its left, so that a chain of them is
    one operator. Duplicates that the left one removes are removed once more by a distinct one."""
    if distinct and isinstance(left, Aggregate) and not left.calls and left.keys == left.columns:
        left = left.input if isinstance(left.input, UnionAll) else left
    return left.branches if isinstance(left, UnionAll) else (left,)


def _as_types(context: BindContext, relation: Relation, merged: list[Column]) -> Relation:
    """The relation with its columns cast to the types of the set operation."""
    pairs = list(zip(relation.columns, merged, strict=True))
    if all(column.type == to.type or not to.type.is_known for column, to in pairs):
        return relation
    items = []
    for column, to in pairs:
        same = column.type == to.type or not to.type.is_known
        target = column if same else context.session.columns.new(column.name, to.type)
        items.append((target, cast(Ref(column), to.type)))
    return Project(relation, tuple(items))
