"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, windows, the SELECT list, DISTINCT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from forerun.planner.algebra.relational import Aggregate, Project, Relation
from forerun.planner.algebra.scalar import Ref, Scalar
from forerun.planner.algebra.types import Column
from forerun.planner.sql.binding.binder import BindContext, Bound, add_alias
from forerun.planner.sql.binding.identifiers import internal_name, output_name
from forerun.planner.sql.binding.paths import note_path
from forerun.planner.sql.binding.scope import Field, Scope
from forerun.planner.sql.query_block.conditions import SUBQUERIES, filter_by
from forerun.planner.sql.query_block.expressions import ExpressionBinder
from forerun.planner.sql.query_block.from_clause import bind_from
from forerun.planner.sql.query_block.generators import (
    bound_generator,
    check_beside_groups,
    generated,
    is_generator,
)
from forerun.planner.sql.query_block.grouping import aggregate_calls, group, require_own
from forerun.planner.sql.query_block.grouping_sets import GroupingSets, Keys, read_sets
from forerun.planner.sql.query_block.ordering import order_items, ordered_bound
from forerun.planner.sql.query_block.placing import check_placing
from forerun.planner.sql.query_block.sets_above import check_having, check_order
from forerun.planner.sql.query_block.stars import is_star, meant, spread
from forerun.planner.sql.query_block.time_windows import add_time_window, time_windows
from forerun.planner.sql.query_block.windows import add_windows, window_calls
from forerun.planner.sql.syntax.text import ENDING, require_comparable, require_only


@dataclass
class Item:
    """A column of the SELECT list: its name in the user's spelling and what computes it."""

    name: str
    node: exp.Expr
    value: Scalar | None = None
    is_aliased: bool = False


@dataclass
class _Block:
    context: BindContext
    node: exp.Select
    binder: ExpressionBinder
    items: list[Item] = field(default_factory=list)
    keys: dict[int, tuple[exp.Expr, Scalar]] = field(default_factory=dict)
    """The expressions of GROUP BY with what each was bound to, by the node's identity."""
    starred: bool = False
    """Whether a ``*`` stands in the SELECT list, also among arguments."""

    def bind_key(self, node: exp.Expr) -> Scalar:
        """A group expression. One that is written once and meant twice is bound once."""
        if id(node) not in self.keys:
            self.keys[id(node)] = node, self.binder.bind(node)
        return self.keys[id(node)][1]


def bind_select(context: BindContext, node: exp.Select) -> Bound:
    """A SELECT with everything that belongs to it; WITH is already in ``context``.

    Optimizer hints change no row: batch runs the text with them, plans of ours have their own.
    """
    text = context.text
    require_only(
        text, node, "with_", "expressions", "distinct", "from_", "joins", "where", "group",
        "having", "windows", "hint", "laterals", *ENDING,
    )  # fmt: skip
    tables = bind_from(context, node)
    scope = Scope(tables.fields, context.parent)
    block = _Block(context, node, ExpressionBinder(context, scope, tables.relation))
    block.items = _expand_stars(block)
    if (where := node.args.get("where")) is not None:
        if found := aggregate_calls(where.this):
            raise text.error(found[0], "an aggregate function in WHERE", "use HAVING")
        spread(block.binder, where.this)
        filter_by(block.binder, where.this)
    grouped = _is_grouped(block)
    if grouped:
        check_beside_groups(text, node, [_called(item.node) for item in _generators(block)])
    else:
        _generate(block)
    _time_window(block)
    _group(block)
    if grouped:
        _generate(block)
    _windows(block)
    _bind_items(block, grouped=grouped)
    return _finish(block)


def _expand_stars(block: _Block) -> list[Item]:
    items: list[Item] = []
    scope = block.binder.scope
    for node in block.node.expressions:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(node, exp.Paren) and node.unnest().is_star:
            inner = node.unnest()
        if is_star(inner):
            block.starred = True
            found = meant(block.binder, inner)
            items += [Item(one.name, one.node, one.value) for one in found]
        else:
            block.starred |= spread(block.binder, node)
            if isinstance(node, exp.Alias) and isinstance(node.args["alias"], exp.Placeholder):
                raise block.context.text.unsupported(node, "a parameter as the name of a column")
            if isinstance(node, exp.Aliases) and not is_generator(node.this):
                raise block.context.text.unsupported(node, "several aliases for one expression")
            for column in inner.find_all(exp.Column):
                note_path(scope, column)
            is_aliased = isinstance(node, exp.Alias)
            items.append(Item(output_name(node), inner, is_aliased=is_aliased))
    if not items:
        raise block.context.text.error(block.node, "a SELECT without columns")
    return items


def _generate(block: _Block) -> None:
    """Generators in the SELECT list: their columns stand in their places, with their aliases. Of
    several, each is of the rows that those before it have made. Beside aggregates they are of
    groups, as in Spark: what they are called with is of group keys and aggregates."""
    found = _generators(block)
    if not found:
        return
    others = [one.node for one in block.items if one not in found] + _order_nodes(block)
    if any(window_calls(node) for node in others):
        hint = "write the generator in a subquery of FROM, or as LATERAL VIEW"
        what = "a generator beside windows"
        raise block.context.text.unsupported(found[0].node, what, hint)
    for item in found:
        place = block.items.index(item)
        block.items[place : place + 1] = _generated_items(block, item)


def _generators(block: _Block) -> list[Item]:
    return [item for item in block.items if is_generator(_called(item.node))]


def _is_grouped(block: _Block) -> bool:
    nodes = [*(item.node for item in block.items), *_order_nodes(block)]
    having = block.node.args.get("having") is not None
    return having or bool(block.node.args.get("group")) or any(map(aggregate_calls, nodes))


def _generated_items(block: _Block, item: Item) -> list[Item]:
    generator = bound_generator(block.binder, _called(item.node))
    names: list[str] = []
    if isinstance(item.node, exp.Aliases):
        names = [alias.name for alias in item.node.expressions]
    elif item.is_aliased:
        names = [item.name]
    fields = generated(block.binder, item.node, generator, names, outer=False)
    return [Item(field.name, exp.column(field.name), Ref(field.column)) for field in fields]


def _called(node: exp.Expr) -> exp.Expr:
    """The expression that several aliases are of, or itself."""
    return node.this if isinstance(node, exp.Aliases) else node


def _order_nodes(block: _Block) -> list[exp.Expr]:
    """What rows are ordered by: all of them, or within each task."""
    orders = (block.node.args.get(clause) for clause in ("order", "sort"))
    return [item.this for order in orders if order is not None for item in order.expressions]


def _time_window(block: _Block) -> None:
    """``window()`` or ``session_window()``, which is a column by that name from here on."""
    clause, having = block.node.args.get("group"), block.node.args.get("having")
    keys = [] if clause is None else list(clause.expressions)
    above = [*keys, *_order_nodes(block), *([] if having is None else [having.this])]
    nodes = time_windows([*(item.node for item in block.items), *above])
    if not nodes:
        return
    named = str(nodes[0].name).lower()
    known = block.binder.scope.matches(named, None)
    keys = [key for key in keys if known or key.unnest().name.lower() != named]
    meant = [_group_target(block, key)[1] for key in keys]
    others = [block.bind_key(key) for key in meant if not time_windows([key])]
    name, column = add_time_window(block.binder, nodes, others)
    scope = block.binder.scope
    block.binder.scope = replace(scope, fields=(*scope.fields, Field("", name, column)))


def _group(block: _Block) -> None:
    """GROUP BY and aggregates, if there are any; HAVING."""
    text, node = block.context.text, block.node
    clause, having = node.args.get("group"), node.args.get("having")
    calls = [c for item in block.items for c in aggregate_calls(item.node)]
    if having is not None:
        calls += aggregate_calls(having.this)
    calls += [c for part in _order_nodes(block) for c in aggregate_calls(part)]
    if clause is None and not calls:
        if having is not None:
            raise text.error(
                having, "HAVING without GROUP BY or an aggregate function", "use WHERE"
            )
        return
    keys, sets = ((), None) if clause is None else _group_keys(block, clause)
    block.binder = group(block.binder, keys, calls, sets, block.keys)
    for item in block.items:
        if item.value is not None:
            item.value = block.binder.bind(item.node)
    if sets is not None:
        listed = [(item.name, item.node) for item in block.items]
        check_order(text, _order_nodes(block), listed)
        if having is not None:
            check_having(text, having.this, listed)
    if having is not None:
        block.binder.aliases = _early_aliases(block)
        filter_by(block.binder, having.this)
        block.binder.aliases = {}


def _early_aliases(block: _Block) -> dict[str, Scalar | None]:
    """What aliases of the SELECT list mean in HAVING; those with subqueries or windows are out, and
    none means anything beside a generator."""
    aliases: dict[str, Scalar | None] = {}
    if _generators(block):
        return aliases
    for item in block.items:
        special = any(True for _ in item.node.find_all(*SUBQUERIES, exp.Window))
        if not special:
            block.binder.aliases = aliases
            add_alias(aliases, item.name, block.binder.bind(item.node))
    return aliases


def _group_keys(block: _Block, clause: exp.Group) -> tuple[Keys, GroupingSets | None]:
    text = block.context.text
    require_only(text, clause, "expressions", "all", "rollup", "cube", "grouping_sets")

    def bind_key(part: exp.Expr) -> tuple[str, Scalar]:
        if isinstance(part, exp.Tuple) and not part.expressions:
            raise text.error(part, "Spark does not read GROUP BY ()", "write GROUPING SETS (())")
        name, target = _group_target(block, part)
        if found := aggregate_calls(target):
            raise text.error(found[0], "an aggregate function in GROUP BY")
        key = block.bind_key(target)
        require_own(text, part, [key])
        return name, key

    if clause.args.get("all"):
        nodes = [(i.name, i.node) for i in block.items if not aggregate_calls(i.node)]
        return tuple((name, block.bind_key(part)) for name, part in nodes), None
    sets = read_sets(text, clause, bind_key)
    if sets is not None:
        return sets.keys, sets
    return tuple(bind_key(part) for part in clause.expressions), None


def _group_target(block: _Block, part: exp.Expr) -> tuple[str, exp.Expr]:
    """The expression a GROUP BY item means: an ordinal, a column, an alias or itself."""
    text, inner = block.context.text, part.unnest()
    if isinstance(inner, exp.Placeholder):
        raise text.unsupported(part, "a parameter as an item of GROUP BY")
    if isinstance(inner, exp.Literal) and not inner.is_string:
        position = int(inner.name) if inner.name.isdigit() else 0
        if not 1 <= position <= len(block.items):
            raise text.error(part, f"GROUP BY {inner.name}: there are {len(block.items)} columns")
        if block.starred:
            hint = "name what it groups by"
            raise text.error(part, f"GROUP BY {inner.name} beside * in the SELECT list", hint)
        item = block.items[position - 1]
        return item.name, item.node
    if isinstance(inner, exp.Column) and not inner.table:
        by_name = {item.name.lower(): item for item in reversed(block.items)}
        if not block.binder.scope.matches(inner.name, None) and inner.name.lower() in by_name:
            item = by_name[inner.name.lower()]
            return item.name, item.node
    return output_name(inner), inner


def _windows(block: _Block) -> None:
    named = {w.this.name.lower(): w for w in block.node.args.get("windows") or ()}
    nodes = [w for item in block.items for w in window_calls(item.node)]
    nodes += [w for part in _order_nodes(block) for w in window_calls(part)]
    add_windows(block.binder, nodes, named)


def _bind_items(block: _Block, *, grouped: bool) -> None:
    """The values of the SELECT list. An item may use the alias of an earlier one."""
    aliases: dict[str, Scalar | None] = {}
    block.binder.aliases = aliases
    for item in block.items:
        if item.value is None:
            item.value = block.binder.bind(item.node)
            if not item.is_aliased:  # by types, which Spark shows in the name, too
                item.name = output_name(item.node)
        if grouped:
            require_own(block.context.text, item.node, [item.value])
        add_alias(aliases, item.name, item.value)


def _finish(block: _Block) -> Bound:
    node, binder = block.node, block.binder
    distinct = node.args.get("distinct")
    if distinct is not None:
        require_only(block.context.text, distinct, "expressions")
        if distinct.expressions:
            raise block.context.text.unsupported(distinct, "DISTINCT ON")
    items = [(item.name, item.value) for item in block.items if item.value is not None]
    visible = tuple(_output_columns(block, items))
    listed = visible if distinct is not None else ()
    keys, hidden = order_items(binder, node.args.get("order"), items, listed)
    check_placing(binder, node, items, listed)
    own = [(column, value) for column, (_, value) in zip(visible, items, strict=True)]
    new = block.context.session.columns.new
    beside = [(new("sort_key", value.type), value) for value in hidden]
    if distinct is not None:
        require_comparable(block.context.text, distinct, visible)
        relation: Relation = Aggregate(_project(binder.relation, own), visible, ())
        relation = _project(relation, [*((column, Ref(column)) for column in visible), *beside])
    else:
        relation = _project(binder.relation, own + beside)
    columns = [*visible, *(column for column, _ in beside)]
    sort = tuple(key(columns) for key in keys)
    names = tuple(name for name, _ in items)
    bound = ordered_bound(block.context, node, relation, sort, visible, names)
    return replace(bound, repeats=_repeats(block.items))


def _repeats(items: Sequence[Item]) -> dict[int, int]:
    """The places of items that pass on a column again, by that of the first. What has an alias,
    also that of the column itself, is a column of its own, and so is what is computed."""
    first: dict[Column, int] = {}
    passed = [
        (place, item.value.column)
        for place, item in enumerate(items)
        if isinstance(item.value, Ref)
        and not item.is_aliased
        and isinstance(item.node.unnest(), exp.Column)
    ]
    return {p: first[c] for p, c in passed if first.setdefault(c, p) != p}


def _output_columns(block: _Block, items: list[tuple[str, Scalar]]) -> list[Column]:
    """A column that is only passed on keeps its identity, once."""
    new = block.context.session.columns.new
    columns: list[Column] = []
    for name, value in items:
        keeps = isinstance(value, Ref) and value.column.name == name
        if keeps and isinstance(value, Ref) and value.column not in columns:
            columns.append(value.column)
        else:
            columns.append(new(internal_name(name), value.type))
    return columns


def _project(relation: Relation, items: list[tuple[Column, Scalar]]) -> Relation:
    """The items over the relation; nothing to do if they are its columns as they are."""
    if items == [(column, Ref(column)) for column in relation.columns]:
        return relation
    return Project(relation, tuple(items))
