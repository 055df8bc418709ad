"""Binding of expressions: a sqlglot tree and a scope to a typed scalar.

A binder owns the relation its expressions are computed over. A subquery inside an expression adds
columns to that relation (by Apply removal) and the expression reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from forerun.planner.algebra.relational import Project, Relation
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.type_kinds import has_parts
from forerun.planner.algebra.types import BOOLEAN, NULL, Column
from forerun.planner.errors import SqlError
from forerun.planner.sql.binding.extraction import field_of
from forerun.planner.sql.binding.identifiers import internal_name
from forerun.planner.sql.binding.scope import (
    Binding,
    NamedRelation,
    Scope,
    names_in_reach,
    resolve,
    written_path,
)
from forerun.planner.sql.syntax.text import QueryText


@dataclass(frozen=True)
class Bound:
    """A query that has been read: ``relation.columns`` are its output, ``names`` their spelling.
    ``repeats`` are the places of outputs that pass on what an earlier one has passed on, by the
    place of that one."""

    relation: Relation
    names: tuple[str, ...]
    ordered: bool = False
    repeats: Mapping[int, int] = field(default_factory=dict)


class BindQuery(Protocol):
    def __call__(self, context: BindContext, node: exp.Expr) -> Bound: ...


@dataclass(frozen=True)
class BindContext:
    """Where a query block stands: the reading it is part of, the CTEs in reach, the outer block."""

    session: Binding
    bind_query: BindQuery
    ctes: Mapping[str, NamedRelation] = field(default_factory=dict)
    parent: Scope | None = None

    @property
    def text(self) -> QueryText:
        return self.session.text


class Grouping(Protocol):
    """Recognizes expressions that are group keys; see ``grouping.py``."""

    def match(self, node: exp.Expr) -> Scalar | None: ...

    def refuse(self, node: exp.Expr) -> None: ...


@dataclass
class Binder:
    """``known`` maps sqlglot nodes (by identity) that are already computed to their value: the
    aggregates and window functions of the block. ``aliases`` are earlier items of the SELECT list,
    None where two have the name.
    """

    context: BindContext
    scope: Scope
    relation: Relation
    known: dict[int, Scalar] = field(default_factory=dict)
    grouping: Grouping | None = None
    aliases: Mapping[str, Scalar | None] = field(default_factory=dict)
    prefer_aliases: bool = False
    variables: Mapping[str, Call] = field(default_factory=dict)
    """The variables of the lambdas around what is bound, by their names in lower case."""

    @property
    def text(self) -> QueryText:
        return self.context.text

    def bind(self, node: exp.Expr) -> Scalar:
        """The value of an expression over ``self.relation``; see ``expressions.py``."""
        raise NotImplementedError

    def predicate(self, node: exp.Expr) -> Scalar:
        """An expression that must be a condition by itself."""
        value = self.bind(node)
        if value.type == NULL:
            raise self.text.error(node, "a condition is needed here, not NULL", "CAST it")
        return self.condition(node, value)

    def condition(self, node: exp.Expr, value: Scalar) -> Scalar:
        """The value of an expression that is a condition, or NULL beside one."""
        if value.type == NULL:
            return Literal(None, BOOLEAN)
        if value.type.is_known and value.type != BOOLEAN:
            raise self.text.error(
                node, f"a condition is needed here, not a value of type {value.type}"
            )
        return value

    def group_key(self, node: exp.Expr) -> Scalar | None:
        """The key column if ``node`` is a group expression; in ORDER BY it is not one if it names
        a column of the output."""
        if self.grouping is None or self._reads_variable(node):
            return None
        if self.prefer_aliases and any(
            not column.table and self.aliases.get(column.name.lower()) is not None
            for column in node.find_all(exp.Column)
        ):
            return None
        return self.grouping.match(node)

    def _reads_variable(self, node: exp.Expr) -> bool:
        """Return whether a name of an expression may be that of a lambda's variable."""
        names = self.variables and (one.name.lower() for one in node.find_all(exp.Identifier))
        return bool(names) and any(name in self.variables for name in names)

    def column(self, node: exp.Expr, parts: tuple[str, ...]) -> Scalar:
        """The meaning of a name of several parts, of which the last ones may be fields; or an error
        that suggests a near one."""
        if (variable := self.variables.get(parts[0].lower())) is not None:
            return self._fields(node, variable, parts[1:])
        alias = self.aliases.get(parts[0].lower())
        if alias is not None and len(parts) > 1 and not has_parts(alias.type):
            alias = None
        if alias is not None and self.prefer_aliases:
            return self._fields(node, alias, parts[1:])
        found = resolve(self.text, self.scope, node, parts)
        if found is None:
            if alias is None and parts[0].lower() in self.aliases:
                what = f"{parts[0]} is the name of two columns of the output"
                raise self.text.error(node, what, "give one of them another alias")
            if alias is None:
                raise self._unknown(node, parts)
            return self._fields(node, alias, parts[1:])
        value, fields = found
        if self.grouping is not None and isinstance(value, Ref):
            if fields:
                # The column may be a group key, or is refused by its own name.
                value = self.bind(written_path(parts[: -len(fields)], node))
            elif alias is not None:
                # In HAVING an alias hides a column that is not in GROUP BY.
                return alias
            else:
                self.grouping.refuse(node)
        return self._fields(node, value, fields)

    def _fields(self, node: exp.Expr, value: Scalar, fields: tuple[str, ...]) -> Scalar:
        for name in fields:
            value = field_of(self.text, node, value, name)
        return value

    def _unknown(self, node: exp.Expr, parts: tuple[str, ...]) -> SqlError:
        first, *rest = parts
        of_first = self.scope.matches(first, None) if rest else []
        if not rest or names_in_reach(self.scope, first):
            known = names_in_reach(self.scope, first if rest else None)
            return self.text.unknown(node, "column", (rest or parts)[0], known)
        if of_first:
            type_, hint = of_first[0].column.type, "only structs have fields, and maps have keys"
            return self.text.error(node, f"{rest[0]} of {first}, which is of type {type_}", hint)
        return self.text.unknown(node, "table or alias", first, self.scope.qualifiers)

    def as_columns(self, values: list[tuple[str, Scalar]]) -> list[Column]:
        """The values as columns of the relation; what is not one yet is computed by a Project."""
        columns: list[Column] = []
        items: list[tuple[Column, Scalar]] = []
        for name, value in values:
            if isinstance(value, Ref):
                columns.append(value.column)
                continue
            column = self.context.session.columns.new(internal_name(name), value.type)
            columns.append(column)
            items.append((column, value))
        if items:
            kept = tuple((column, Ref(column)) for column in self.relation.columns)
            self.relation = Project(self.relation, kept + tuple(items))
        return columns


def add_alias(aliases: dict[str, Scalar | None], name: str, value: Scalar) -> None:
    """Note what an output column's name means: nothing where two columns have it, and be they
    equal; but a column that is passed on twice is one."""
    name = name.lower()
    if name not in aliases:
        aliases[name] = value
    elif aliases[name] != value or not (
        isinstance(value, Ref) and value.column.name.lower() == name
    ):
        aliases[name] = None


def construct_name(node: exp.Expr) -> str:
    """How an unsupported construct is called in an error."""
    names: dict[type[exp.Expr], str] = {
        exp.Lambda: "a lambda function",
        exp.Placeholder: "a query parameter",
        exp.Parameter: "a query parameter",
        exp.WithinGroup: "WITHIN GROUP",
        exp.All: "a comparison with ALL",
        exp.Any: "a comparison with ANY",
        exp.Star: "* in this place",
        exp.Window: "a window function in this place",
        exp.Filter: "FILTER after what is not an aggregate function",
    }
    return names.get(type(node), f"the expression {type(node).__name__.upper()}")
