"""From algebra to Spark SQL text that a person can read.

Operators are merged into one SELECT as long as that means the same; a relation that is used more
than once becomes a CTE. Names of columns are :func:`planner.sql.printing.names.sql_name`, always
quoted and, where they come from a table, always qualified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.functions import RANGE
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
    walk,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Literal,
    Ref,
    conjuncts,
    references,
)
from forerun.planner.algebra.types import Column
from forerun.planner.contract.plan_v1 import RUN_COLUMN
from forerun.planner.sql.printing.block import (
    SelectBlock,
    can_group,
    can_project,
    hides_sort_key,
    reference,
    select_text,
)
from forerun.planner.sql.printing.names import quote, sql_name
from forerun.planner.sql.printing.scalar_sql import (
    SqlPiece,
    aggregate_sql,
    chained,
    literal_sql,
    scalar_sql,
    sort_sql,
    window_sql,
)
from forerun.planner.sql.printing.views import view_name
from forerun.planner.sql.subqueries.dependent import expand

_OUTER_WORDS = {
    JoinKind.LEFT: "LEFT JOIN", JoinKind.RIGHT: "RIGHT JOIN", JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "LEFT SEMI JOIN", JoinKind.ANTI: "LEFT ANTI JOIN",
}  # fmt: skip
_RUN_TEST = {Version.OLD: "<", Version.DELTA: "=", Version.NEW: "<="}


def to_sql(
    relation: Relation,
    *,
    run: int = 0,
    names: tuple[str, ...] | None = None,
    hints: Mapping[Relation, str] | None = None,
) -> str:
    """The relation as one Spark SQL statement.

    ``run`` is the run for which versions of families are read. ``names`` are the output names
    (default: ``sql_name`` of each column). ``hints`` gives a relation that is a side of a join
    Spark's hint for it, such as ``BROADCAST`` or ``SHUFFLE_HASH``.
    """
    relation = expand(relation)
    printer = Printer(relation, run, hints or {})
    body = select_text(printer.open(relation), relation.columns, names)
    ctes = [f"{quote(name)} AS (\n{indent(text, '  ')}\n)" for name, text in printer.ctes]
    return f"WITH {', '.join(ctes)}\n{body}" if ctes else body


class Printer:
    """State of one statement: names that are taken, and CTEs that are written."""

    def __init__(self, relation: Relation, run: int, hints: Mapping[Relation, str]) -> None:
        self.run = run
        self.hints = hints
        self.ctes: list[tuple[str, str]] = []
        self.made: dict[Relation, str] = {}
        self.taken: Counter[str] = Counter()
        self.shared = _shared(relation)
        for node in walk(relation):
            if isinstance(node, Scan | StateRead):
                self.taken[_table(node).lower()] = 0

    def alias(self, wanted: str) -> str:
        """A name that nothing else in the statement has, whatever its case."""
        self.taken[wanted.lower()] += 1
        count = self.taken[wanted.lower()]
        if count == 1:
            return wanted
        return self.alias(f"{wanted}_{count}")

    def open(self, node: Relation) -> SelectBlock:
        """A block that computes the node and may still be extended."""
        if node in self.shared:
            return self.read(self.cte(node), "q", node.columns)
        return block_of(node, self)

    def cte(self, node: Relation) -> str:
        """The name of the CTE that computes the node."""
        if node not in self.made:
            self.shared = self.shared - {node}
            text = select_text(self.open(node), node.columns, None)
            self.shared = self.shared | {node}
            name = self.alias(f"q{len(self.ctes) + 1}")
            self.ctes.append((name, text))
            self.made[node] = name
        return self.made[node]

    def read(self, table: str, alias: str, columns: tuple[Column, ...]) -> SelectBlock:
        """A block over a named table or CTE that has the columns under their SQL names."""
        name = self.alias(alias)
        shown = f"{quote(table)} AS {quote(name)}"
        values = {column.id: reference(name, sql_name(column)) for column in columns}
        return SelectBlock(shown, values, alias=name)

    def nest(self, block: SelectBlock, columns: tuple[Column, ...]) -> SelectBlock:
        """The block as a subquery in the FROM of a new one."""
        alias = self.alias("t")
        text = select_text(block, columns, None)
        values = {column.id: reference(alias, sql_name(column)) for column in columns}
        return SelectBlock(f"(\n{indent(text, '  ')}\n) AS {quote(alias)}", values, alias=alias)

    def rows(self, node: Relation) -> SelectBlock:
        """The node as a block of plain rows, nested if it is anything more."""
        block = self.open(node)
        return block if block.is_rows else self.nest(block, node.columns)

    def source(self, node: Relation) -> SelectBlock:
        """The node as one item of a FROM clause, with plain columns."""
        block = self.open(node)
        bare = block.is_rows and not block.where and "\n" not in block.tables and block.tables
        return block if bare and block.all_plain() else self.nest(block, node.columns)

    def leaf(self, node: Scan | StateRead) -> SelectBlock:
        table = _table(node)
        alias = self.alias(table)
        shown = quote(table) if alias == table else f"{quote(table)} AS {quote(alias)}"
        if isinstance(node, Scan):
            names = tuple(column.name for column in node.columns)
        else:
            names = node.stored
        pairs = zip(node.columns, names, strict=True)
        values = {column.id: reference(alias, name) for column, name in pairs}
        block = SelectBlock(shown, values, alias=alias)
        if isinstance(node, StateRead):
            test = f"{reference(alias, RUN_COLUMN).text} {_RUN_TEST[node.version]} {self.run}"
            block.where.append(test)
        return block

    def recursion(self, node: Recursion) -> SelectBlock:
        """Its steps as they are, over the tables by name: one item of FROM with a WITH of its
        own."""
        name, names = quote(node.steps.name), node.steps.columns
        parts = (to_sql(part, names=names) for part in (node.steps.first, node.steps.step))
        inner = indent("\nUNION ALL\n".join(parts), "  ")
        listed = ", ".join(map(quote, names))
        text = f"WITH RECURSIVE {name}({listed}) AS (\n{inner}\n)\nSELECT {listed} FROM {name}"
        alias = self.alias("steps")
        pairs = zip(node.columns, names, strict=True)
        values = {column.id: reference(alias, shown) for column, shown in pairs}
        return SelectBlock(f"(\n{indent(text, '  ')}\n) AS {quote(alias)}", values, alias=alias)

    def constant_rows(self, node: Values) -> SelectBlock:
        if not node.columns:
            if len(node.rows) != 1:
                raise ValueError("rows without columns can only be printed one at a time")
            return SelectBlock("", {})
        if not node.rows:
            nulls = {c.id: literal_sql(Literal(None, c.type)) for c in node.columns}
            return self.nest(SelectBlock("", nulls, where=["false"]), node.columns)
        alias = self.alias("v")
        rows = ",\n  ".join(
            f"({', '.join(scalar_sql(cell, {}).text for cell in row)})" for row in node.rows
        )
        columns = ", ".join(quote(sql_name(column)) for column in node.columns)
        values = {column.id: reference(alias, sql_name(column)) for column in node.columns}
        text = f"VALUES\n  {rows}\nAS {quote(alias)}({columns})"
        return SelectBlock(text, values, alias=alias)

    def filter(self, node: Filter) -> SelectBlock:
        block = self.open(node.input)
        block.order = block.order if block.limit else []
        scalar_aggregate = block.grouped and not block.group
        if block.windowed or block.limit or scalar_aggregate:
            block = self.nest(block, node.input.columns)
        parts = [scalar_sql(part, block.values) for part in conjuncts(node.predicate)]
        texts = [_conjunct(piece) for piece in parts]
        (block.having if block.grouped else block.where).extend(texts)
        return block

    def project(self, node: Project) -> SelectBlock:
        block = self.open(node.input)
        if not can_project(block, node):
            block = self.nest(block, node.input.columns)
        elif (block.grouped or block.windowed) and hides_sort_key(block, node):
            block = self._resorted(block, node.input)
        block.values = {c.id: scalar_sql(scalar, block.values) for c, scalar in node.items}
        kept = {c.id for c, scalar in node.items if references(scalar) & block.calls}
        block.calls = frozenset(kept)
        sorted_by = {scalar.column.id: c.id for c, scalar in node.items if isinstance(scalar, Ref)}
        block.order = [(sorted_by.get(i, i), text, way) for i, text, way in block.order]
        return block

    def _resorted(self, block: SelectBlock, node: Relation) -> SelectBlock:
        """The block nested, with its order and limit outside of the parentheses."""
        order, limit = block.order, block.limit
        block.order, block.limit = [], ""
        nested = self.nest(block, node.columns)
        nested.order = [(i, nested.values[i].text, direction) for i, _, direction in order]
        nested.limit = limit
        return nested

    def join(self, node: Join) -> SelectBlock:
        left = self.rows(node.left)
        nullable_left = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
        if not left.tables or (nullable_left and (left.where or not left.all_plain())):
            left = self.nest(left, node.left.columns)
        left.order = []
        if node.left in self.hints:
            left = self.nest(left, node.left.columns)
            left.hints.append(f"{self.hints[node.left]}({quote(left.alias)})")
        right = self.source(node.right)
        values = left.values | right.values
        condition = scalar_sql(node.condition, values).text
        if node.kind is JoinKind.INNER:
            word = "CROSS JOIN" if node.condition == TRUE else "JOIN"
        else:
            word = _OUTER_WORDS[node.kind]
        if node.right in self.hints:
            left.hints.append(f"{self.hints[node.right]}({quote(right.alias)})")
        on = "" if word == "CROSS JOIN" else f" ON {condition}"
        left.tables = f"{left.tables}\n{word} {right.tables}{on}"
        if node.kind not in (JoinKind.SEMI, JoinKind.ANTI):
            left.values = values
        return left

    def aggregate(self, node: Aggregate) -> SelectBlock:
        block = self.rows(node.input)
        if any(not can_group(block, key) for key in node.keys):
            block = self.nest(block, node.input.columns)
        block.order = []
        values = {key.id: block.values[key.id] for key in node.keys}
        block.group = [piece.text for piece in values.values()]
        block.grouped = True
        for column, call in node.calls:
            values[column.id] = SqlPiece(aggregate_sql(call, block.values), call.where is None)
        block.values = values
        block.calls = frozenset(column.id for column, _ in node.calls)
        return block

    def window(self, node: Window) -> SelectBlock:
        block = self.rows(node.input)
        block.order = []
        computed = {c.id: SqlPiece(window_sql(call, block.values)) for c, call in node.calls}
        block.values = block.values | computed
        block.windowed = True
        return block

    def ordered(self, node: Sort | Limit) -> SelectBlock:
        block = self.open(node.input)
        if block.limit:
            block = self.nest(block, node.input.columns)
        if isinstance(node, Sort):
            block.order = []
            for key in node.keys:
                text = block.values[key.column.id].text
                direction = sort_sql(key, "").strip()
                block.order.append((key.column.id, text, direction))
            return block
        parts = [] if node.count is None else [f"LIMIT {node.count}"]
        if node.offset:
            parts.append(f"OFFSET {node.offset}")
        block.limit = " ".join(parts) or "LIMIT ALL"
        return block

    def set_operation(self, node: UnionAll | SetOperation) -> SelectBlock:
        word = "UNION ALL"
        if isinstance(node, SetOperation):
            word = f"{node.kind.upper()}{' ALL' if node.all else ''}"
        texts = []
        for branch in node.inputs:
            block = self.open(branch)
            text = select_text(block, branch.columns, tuple(sql_name(c) for c in node.columns))
            texts.append(f"({text})" if block.order or block.limit else text)
        alias = self.alias("u")
        inner = indent(chained(texts, f"\n{word}\n"), "  ")
        values = {column.id: reference(alias, sql_name(column)) for column in node.columns}
        return SelectBlock(f"(\n{inner}\n) AS {quote(alias)}", values, alias=alias)

    def generate(self, node: Generate) -> SelectBlock:
        if node.call.name == RANGE:
            return self.counted(node)
        inner = self.source(node.input)
        alias, word = self.alias("g"), " OUTER" if node.outer else ""
        call = scalar_sql(node.call, inner.values).text
        columns = ", ".join(quote(sql_name(column)) for column in node.made)
        inner.tables += f"\nLATERAL VIEW{word} {call} {quote(alias)} AS {columns}"
        inner.values |= {column.id: reference(alias, sql_name(column)) for column in node.made}
        # Lateral views come after all joins of a FROM: what is joined with it stands outside.
        return self.nest(inner, node.columns)

    def counted(self, node: Generate) -> SelectBlock:
        alias, (column,) = self.alias("r"), node.made
        text = scalar_sql(node.call, {}).text
        values = {column.id: reference(alias, sql_name(column))}
        return SelectBlock(
            f"{text} AS {quote(alias)}({quote(sql_name(column))})", values, alias=alias
        )

    def repeat(self, node: Repeat) -> SelectBlock:
        inner = self.source(node.input)
        alias = self.alias("copy")
        # array_repeat of a count below 1 is empty, so the row goes away.
        count = f"CAST({inner.values[node.count.id].text} AS INT)"
        inner.tables += f"\nLATERAL VIEW explode(array_repeat(1, {count})) {quote(alias)} AS `copy`"
        return self.nest(inner, node.columns)


@operator_pass("SQL")
def block_of(node: Relation, printer: Printer) -> SelectBlock:
    """A block that computes the node and may still be extended, by the printer's methods."""
    raise NotImplementedError


def _by(method: Callable[[Printer, Any], SelectBlock]) -> Callable[[Any, Printer], SelectBlock]:
    return lambda node, printer: method(printer, node)


block_of.register(Scan, StateRead)(_by(Printer.leaf))
block_of.register(Values)(_by(Printer.constant_rows))
block_of.register(Filter)(_by(Printer.filter))
block_of.register(Project)(_by(Printer.project))
block_of.register(Join)(_by(Printer.join))
block_of.register(Aggregate)(_by(Printer.aggregate))
block_of.register(Window)(_by(Printer.window))
block_of.register(Sort, Limit)(_by(Printer.ordered))
block_of.register(UnionAll, SetOperation)(_by(Printer.set_operation))
block_of.register(Repeat)(_by(Printer.repeat))
block_of.register(Recursion)(_by(Printer.recursion))
block_of.register(Generate)(_by(Printer.generate))


def _table(node: Scan | StateRead) -> str:
    if isinstance(node, StateRead):
        return node.family
    return view_name(node)


def _conjunct(piece: SqlPiece) -> str:
    """AND binds stronger than OR only."""
    return f"({piece.text})" if " OR " in piece.text else piece.text


def _shared(relation: Relation) -> frozenset[Relation]:
    """Relations that occur more than once and are worth a name."""
    uses: Counter[Relation] = Counter()
    stack = [relation]
    while stack:
        node = stack.pop()
        uses[node] += 1
        if uses[node] == 1:
            stack.extend(node.inputs)
    leaves = (Scan, StateRead, Values)
    return frozenset(n for n, count in uses.items() if count > 1 and not isinstance(n, leaves))
