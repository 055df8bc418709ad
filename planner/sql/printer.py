"""Algebra to Spark SQL text.

Every operator becomes (part of) one SELECT. Scans, filters, projections and one grouping are
merged into a SELECT as far as SQL's order of evaluation allows; whatever stands on top of that
reads it as a derived table. A relation that occurs twice becomes one named common table
expression. Columns are called by :func:`planner.sql.names.sql_name`, which is unique, so nothing
needs a qualifier.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.algebra.relational import (
    Aggregate,
    Filter,
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
from planner.algebra.scalar import TRUE, Ref, conjuncts
from planner.algebra.types import Column, ColumnId
from planner.contract.plan_v1 import RUN_COLUMN
from planner.sql import scalar_text
from planner.sql.dependent import expand
from planner.sql.names import quote, sql_name

_JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "LEFT SEMI JOIN",
    JoinKind.ANTI: "LEFT ANTI JOIN",
}
_COMPARED = {Version.OLD: "<", Version.DELTA: "=", Version.NEW: "<="}


def to_sql(relation: Relation, *, run: int = 0, names: tuple[str, ...] | None = None) -> str:
    """One SELECT. ``run`` is the current run, for the versions of families; ``names`` are the
    names of the output columns (their :func:`sql_name` if not given)."""
    return _Printer(expand(relation), run).text(names)


@dataclass
class _Select:
    """A SELECT that can still grow. ``columns`` maps each output column to its text in here."""

    source: str
    columns: dict[ColumnId, str]
    order: tuple[Column, ...]
    where: list[str] = field(default_factory=list)
    group: list[str] | None = None
    tail: str = ""
    after_from: str = ""
    plain: bool = True

    @property
    def is_open(self) -> bool:
        """Whether a filter or projection can still be merged in."""
        return self.group is None and not self.tail and not self.after_from and self.plain


class _Printer:
    def __init__(self, relation: Relation, run: int) -> None:
        self._root = relation
        self._run = run
        self._shared = _shared(relation)
        self._named: dict[Relation, str] = {}
        self._with: list[str] = []
        self._tables = 0

    def text(self, names: tuple[str, ...] | None) -> str:
        body = self._body(self._root, names)
        if not self._with:
            return body
        return "WITH " + ",\n".join(self._with) + "\n" + body

    # -- statements ---------------------------------------------------------------------------

    def _body(self, relation: Relation, names: tuple[str, ...] | None = None) -> str:
        """A whole query for a relation, its columns in order."""
        if isinstance(relation, UnionAll | SetOperation) and relation not in self._named:
            return self._set_text(relation, names)
        return self._select_text(self._select(relation), names)

    def _set_text(self, node: UnionAll | SetOperation, names: tuple[str, ...] | None) -> str:
        word = "UNION ALL"
        if isinstance(node, SetOperation):
            word = node.kind.value.upper() + (" ALL" if node.all else "")
        labels = names or tuple(sql_name(column) for column in node.columns)
        parts = [f"({self._body(branch, labels)})" for branch in node.inputs]
        return f"\n{word}\n".join(parts)

    def _select_text(self, select: _Select, names: tuple[str, ...] | None) -> str:
        labels = names or tuple(sql_name(column) for column in select.order)
        items = []
        for column, name in zip(select.order, labels, strict=True):
            text = select.columns[column.id]
            items.append(text if text == quote(name) else f"{text} AS {quote(name)}")
        parts = [f"SELECT {', '.join(items) or '1 AS `__one`'}"]
        if select.source:
            parts.append(f"FROM {select.source}{select.after_from}")
        if select.where:
            parts.append("WHERE " + " AND ".join(select.where))
        if select.group:
            parts.append("GROUP BY " + ", ".join(select.group))
        if select.tail:
            parts.append(select.tail)
        return "\n".join(parts)

    # -- relations to selects -----------------------------------------------------------------

    def _select(self, node: Relation) -> _Select:
        if node in self._shared and node is not self._root:
            return self._from_shared(node)
        return self._own(node)

    def _from_shared(self, node: Relation) -> _Select:
        if node not in self._named:
            body = self._own_body(node)
            name = f"`s{len(self._named) + 1}`"
            self._named[node] = name
            self._with.append(f"{name} AS (\n{body}\n)")
        return self._over(self._named[node], node.columns)

    def _own_body(self, node: Relation) -> str:
        if isinstance(node, UnionAll | SetOperation):
            return self._set_text(node, None)
        return self._select_text(self._own(node), None)

    def _own(self, node: Relation) -> _Select:
        match node:
            case Scan():
                return self._scan(node)
            case StateRead():
                return self._state(node)
            case Values():
                return self._values(node)
            case Filter():
                return self._filter(node)
            case Project():
                return self._project(node)
            case Join():
                return self._join(node)
            case Aggregate():
                return self._aggregate(node)
            case Sort() | Limit():
                return self._ordered(node)
            case Window():
                return self._window(node)
            case Repeat():
                return self._repeat(node)
            case UnionAll() | SetOperation():
                return self._wrapped(self._set_text(node, None), node.columns)
        raise TypeError(f"no SQL text for {type(node).__name__}")

    def _over(self, table: str, columns: tuple[Column, ...]) -> _Select:
        """Read a named table whose columns have their own names."""
        return _Select(table, {c.id: quote(sql_name(c)) for c in columns}, columns)

    def _wrapped(self, body: str, columns: tuple[Column, ...]) -> _Select:
        """A whole query as a derived table."""
        self._tables += 1
        indented = body.replace("\n", "\n  ")
        return self._over(f"(\n  {indented}\n) AS t{self._tables}", columns)

    def _open(self, node: Relation) -> _Select:
        """The relation as a SELECT that takes another clause."""
        select = self._select(node)
        if select.is_open:
            return select
        return self._wrapped(self._select_text(select, None), node.columns)

    def _scan(self, node: Scan) -> _Select:
        suffix = {Version.NEW: "", Version.DELTA: "__delta", Version.OLD: "__old"}[node.version]
        columns = {column.id: quote(column.name) for column in node.scanned}
        return _Select(quote(node.source + suffix), columns, node.scanned)

    def _state(self, node: StateRead) -> _Select:
        columns = {c.id: quote(name) for c, name in zip(node.read, node.stored, strict=True)}
        versions = f"{quote(RUN_COLUMN)} {_COMPARED[node.version]} {self._run}"
        return _Select(quote(node.family), columns, node.read, where=[versions])

    def _values(self, node: Values) -> _Select:
        if not node.listed:
            rows = ", ".join("(1)" for _ in node.rows)
            return _Select(f"VALUES {rows} AS v(`__one`)" if node.rows else "", {}, ())
        rows = ", ".join(
            "(" + ", ".join(scalar_text.scalar(value, {}) for value in row) + ")"
            for row in node.rows
        )
        labels = ", ".join(quote(sql_name(column)) for column in node.listed)
        if node.rows:
            return self._over(f"VALUES {rows} AS v({labels})", node.listed)
        empty = _Select("VALUES (1) AS v(`__one`)", {}, node.listed, where=["FALSE"])
        empty.columns = {c.id: f"CAST(NULL AS {c.type.sql})" for c in node.listed}
        empty.plain = False
        return empty

    def _filter(self, node: Filter) -> _Select:
        select = self._open(node.input)
        parts = [scalar_text.scalar(part, select.columns) for part in conjuncts(node.predicate)]
        select.where.extend(parts)
        return select

    def _project(self, node: Project) -> _Select:
        select = self._open(node.input)
        columns = {c.id: scalar_text.scalar(value, select.columns) for c, value in node.items}
        plain = all(isinstance(value, Ref) for _, value in node.items)
        return _Select(
            select.source, columns, node.columns, select.where, select.group, plain=plain
        )

    def _join(self, node: Join) -> _Select:
        left, right = self._table(node.left), self._table(node.right)
        if isinstance(node.right, Join) and "JOIN" in right and not right.startswith("("):
            right = f"({right})"
        columns = {c.id: quote(sql_name(c)) for c in (*node.left.columns, *node.right.columns)}
        if node.kind not in _JOINS:
            raise TypeError(f"{node.kind} joins are expanded before printing")
        word = _JOINS[node.kind]
        if node.condition == TRUE and node.kind is JoinKind.INNER:
            source = f"{left}\nCROSS JOIN {right}"
        else:
            source = f"{left}\n{word} {right}\n  ON {scalar_text.scalar(node.condition, columns)}"
        visible = {c.id: columns[c.id] for c in node.columns}
        return _Select(source, visible, node.columns)

    def _table(self, node: Relation) -> str:
        """The relation as one side of a join: a name, a derived table, or joins to go on from."""
        select = self._select(node)
        own_names = all(select.columns[c.id] == quote(sql_name(c)) for c in node.columns)
        if select.is_open and own_names and not select.where:
            return select.source
        return self._wrapped(self._select_text(select, None), node.columns).source

    def _aggregate(self, node: Aggregate) -> _Select:
        select = self._open(node.input)
        keys = [select.columns[key.id] for key in node.keys]
        columns = dict(zip((key.id for key in node.keys), keys, strict=True))
        for column, call in node.calls:
            columns[column.id] = scalar_text.aggregate(call, select.columns)
        return _Select(select.source, columns, node.columns, select.where, keys)

    def _ordered(self, node: Sort | Limit) -> _Select:
        """ORDER BY and LIMIT close a SELECT; a LIMIT right above a Sort is one with it."""
        sort = node.input if isinstance(node, Limit) else node
        if isinstance(sort, Sort) and sort not in self._shared:
            select = self._fresh(sort.input)
            keys = ", ".join(scalar_text.sort_key(key, select.columns) for key in sort.keys)
            tail = [f"ORDER BY {keys}"]
        else:
            select, tail = self._fresh(node.inputs[0]), []
        if isinstance(node, Limit):
            if node.count is not None:
                tail.append(f"LIMIT {node.count}")
            if node.offset:
                tail.append(f"OFFSET {node.offset}")
        select.tail = " ".join(tail)
        return select

    def _fresh(self, node: Relation) -> _Select:
        """A SELECT with nothing in it yet: ORDER BY names output columns, never source columns."""
        select = self._select(node)
        return self._wrapped(self._select_text(select, None), node.columns)

    def _window(self, node: Window) -> _Select:
        select = self._open(node.input)
        columns = dict(select.columns)
        for column, call in node.calls:
            columns[column.id] = scalar_text.window(call, select.columns)
        return _Select(select.source, columns, node.columns, select.where, plain=False)

    def _repeat(self, node: Repeat) -> _Select:
        select = self._fresh(node.input)
        count = select.columns[node.count.id]
        view = f"LATERAL VIEW explode(sequence(1, CAST({count} AS INT))) r AS `__copy`"
        select.after_from = f"\n{view}"
        select.order = node.columns
        return self._wrapped(self._select_text(select, None), node.columns)


def _shared(relation: Relation) -> set[Relation]:
    """Relations that occur more than once and are worth a name."""
    counts: Counter[Relation] = Counter()
    for node in walk(relation):
        counts[node] += 1
    return {
        node
        for node, count in counts.items()
        if count > 1 and not isinstance(node, Scan | StateRead | Values) and node.columns
    }
