"""What names mean at a place in the query: columns in reach, of this block and of outer blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, walk
from forerun.planner.algebra.type_kinds import has_parts
from forerun.planner.algebra.types import BIGINT, Column, ColumnId, DataType
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.sql.binding.shown import OUTER_COLUMN
from forerun.planner.sql.syntax.text import QueryText

OUTER = "outer"
"""Name of the call that stands for a column of an enclosing query until Apply is removed."""


class ColumnSource:
    """Hands out column ids: 1, 2, 3, ... in the order of asking, so equal texts get equal ids."""

    def __init__(self) -> None:
        self.last_id = 0

    def new(self, name: str, type_: DataType) -> Column:
        self.last_id += 1
        return Column(ColumnId(self.last_id), name, type_)

    def copy(self, column: Column) -> Column:
        return self.new(column.name, column.type)


@dataclass(frozen=True, slots=True)
class Field:
    """A column that a name can mean. ``starred``: part of ``*`` and reachable without qualifier
    (the second copy of a USING column is not)."""

    qualifier: str
    name: str
    column: Column
    starred: bool = True


@dataclass(frozen=True)
class Scope:
    """The columns one query block sees, and the block around it."""

    fields: tuple[Field, ...]
    parent: Scope | None = None

    def matches(self, name: str, qualifier: str | None) -> list[Field]:
        found = [f for f in self.fields if f.name.lower() == name.lower()]
        if qualifier is None:
            return [f for f in found if f.starred]
        return [f for f in found if f.qualifier.lower() == qualifier.lower()]

    def meaning(self, parts: tuple[str, ...]) -> tuple[list[Field], tuple[str, ...]]:
        """The columns that a name of several parts can mean, and the parts that are left: a table
        before a column comes before a column with a field, as in Spark."""
        if len(parts) > 1 and (found := self.matches(parts[1], parts[0])):
            return found, parts[2:]
        found = self.matches(parts[0], None)
        if len(parts) > 1:
            found = [field for field in found if has_parts(field.column.type)]
        return found, parts[1:]

    @property
    def qualifiers(self) -> list[str]:
        return list(dict.fromkeys(f.qualifier for f in self.fields if f.qualifier))


def output_fields(
    qualifier: str, names: Sequence[str], columns: Sequence[Column], repeats: Mapping[int, int]
) -> tuple[Field, ...]:
    """Return what names mean above a query in FROM. A column that it passes on twice (``SELECT *,
    a``) is one, so that its name is not ambiguous: as in Spark, where both are one attribute."""
    return tuple(
        Field(qualifier, name, columns[repeats.get(place, place)])
        for place, name in enumerate(names)
    )


@dataclass(frozen=True)
class NamedRelation:
    """A named relation (CTE): bound once; each reference renames its columns. ``tables`` says how
    many tables it reads, with what it reads written out; ``repeats`` is that of its query."""

    relation: Relation
    names: tuple[str, ...]
    tables: int = 0
    repeats: Mapping[int, int] = field(default_factory=dict)


class KnownTable(NamedTuple):
    """All that reading a query needs to know of a source: the names and types of its columns."""

    name: str
    columns: tuple[tuple[str, DataType], ...]


@dataclass
class Binding:
    """What the whole reading of one query shares."""

    text: QueryText
    tables: Mapping[str, KnownTable]
    allowed_functions: frozenset[str] = frozenset()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    used_parameters: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    """The tables that the text names, wherever it does."""
    tables_read: int = 0
    """How many tables are read by now, with every named relation written out where it is read."""
    only_text: list[str] = field(default_factory=list)
    """Why only the text itself means what it says, see :class:`forerun.planner.sql.frontend.Query`.
    """
    columns: ColumnSource = field(default_factory=ColumnSource)


def outer_reference(column: Column) -> Call:
    """A placeholder for a column of an enclosing block. Not a Ref, so trees below stay valid."""
    return Call(OUTER, (Literal(str(column.id), BIGINT), Literal(column.name, BIGINT)), column.type)


def outer_columns(expression: Scalar) -> dict[ColumnId, Call]:
    """The placeholders an expression contains, by the id of the column they stand for."""
    return {
        outer_id(node): node
        for node in walk(expression)
        if isinstance(node, Call) and node.name == OUTER
    }


def outer_id(placeholder: Call) -> ColumnId:
    literal = placeholder.args[0]
    if not isinstance(literal, Literal) or literal.text is None:
        raise ValueError("not a placeholder of an outer column")
    return ColumnId(int(literal.text))


def bind_outer(expression: Scalar, by: Mapping[ColumnId, Scalar]) -> Scalar:
    """Replace placeholders of the columns in ``by``; others stay."""
    if not isinstance(expression, Call):
        return expression
    if expression.name == OUTER:
        return by.get(outer_id(expression), expression)
    args = tuple(bind_outer(arg, by) for arg in expression.args)
    return expression if args == expression.args else Call(expression.name, args, expression.type)


def resolve(
    text: QueryText, scope: Scope, node: exp.Expr, parts: tuple[str, ...]
) -> tuple[Scalar, tuple[str, ...]] | None:
    """The column that a name of several parts means, with the parts that are left for what is
    inside of it; inner block first. None if no block knows it."""
    current: Scope | None = scope
    while current is not None:
        found, fields = current.meaning(parts)
        if len(found) > 1 and len({f.column for f in found}) > 1:
            where = list(dict.fromkeys(f"{f.qualifier}.{f.name}" for f in found))
            one = f"write one of {', '.join(where)}"
            hint = one if len(where) > 1 else "give the columns different aliases in the subquery"
            raise text.error(node, f"column {found[0].name} is ambiguous", hint)
        if found:
            column = found[0].column
            if current is scope:
                return Ref(column), fields
            node.meta[OUTER_COLUMN] = True
            return outer_reference(column), fields
        current = current.parent
    return None


def names_in_reach(scope: Scope, qualifier: str | None) -> list[str]:
    """Names for a "did you mean"."""
    names: list[str] = []
    current: Scope | None = scope
    while current is not None:
        names += _names(current.fields, qualifier)
        current = current.parent
    return list(dict.fromkeys(names))


def _names(fields: Iterable[Field], qualifier: str | None) -> list[str]:
    if qualifier is None:
        return [f.name for f in fields]
    return [f.name for f in fields if f.qualifier.lower() == qualifier.lower()]


def parts_of(node: exp.Column) -> tuple[str, ...]:
    """The names between the dots of a column as it is written, from left to right."""
    return tuple(part.name for part in node.parts)


def written_path(parts: tuple[str, ...], like: exp.Expr) -> exp.Expr:
    """The tree of a name of several parts, at the place of another one."""
    *rest, last = (exp.to_identifier(part, quoted=True) for part in parts[:_MOST_PARTS])
    places = dict(zip(("table", "db", "catalog"), reversed(rest), strict=False))
    path: exp.Expr = exp.Column(this=last, **places)
    for part in parts[_MOST_PARTS:]:
        path = exp.Dot(this=path, expression=exp.to_identifier(part, quoted=True))
    for node in path.walk():
        node.meta.update(like.meta)
    return path


_MOST_PARTS = 4
"""So many parts are one node of the tree."""
