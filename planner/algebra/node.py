"""The base class of all relational operators, and the checks of construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache, cached_property
from typing import TypeVar

from forerun.planner.algebra.types import Column, ColumnId

_T = TypeVar("_T")


def require_columns(node: str, needed: frozenset[ColumnId], *inputs: Relation) -> None:
    """Raise ValueError if a node reads a column that none of its inputs has."""
    missing = needed.difference(*(given.column_ids for given in inputs))
    if missing:
        have = ", ".join(str(column) for given in inputs for column in given.columns)
        raise ValueError(f"{node} reads columns {sorted(missing)} that its input lacks ({have})")


def require_distinct(node: str, columns: tuple[Column, ...]) -> None:
    """Raise ValueError if a node has one column twice."""
    if len({column.id for column in columns}) != len(columns):
        raise ValueError(f"{node} has one column twice: {', '.join(map(str, columns))}")


class Relation:
    """Base of all operators. Equality is structural; what is asked for again and again, as the
    hash and the columns, is computed once."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Output columns, in order."""
        raise NotImplementedError

    @cached_property
    def column_ids(self) -> frozenset[ColumnId]:
        """The ids of the output columns."""
        return frozenset(column.id for column in self.columns)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        """The same operator over other inputs (which must offer the columns it reads)."""
        if inputs:
            raise ValueError(f"{type(self).__name__} has no inputs")
        return self

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("_hash")
        return _hashed(self) if known is None else known

    def __eq__(self, other: object) -> bool:
        """Structural equality, without recursion. Hashes come first: trees that differ are hardly
        ever walked."""
        if self is other:
            return True
        if type(self) is not type(other) or hash(self) != hash(other):
            return False
        stack: list[tuple[object, object]] = [(self, other)]
        while stack:
            one, two = stack.pop()
            if one is two:
                continue
            if not isinstance(one, Relation) or not isinstance(two, Relation):
                return False
            if type(one) is not type(two) or not one.equals_without_inputs(two):
                return False
            stack.extend(zip(one.inputs, two.inputs, strict=True))
        return True

    def equals_without_inputs(self, other: Relation) -> bool:
        """Are two operators of one kind the same but for their inputs, and have as many?"""
        mine, theirs = self.inputs, other.inputs
        if len(mine) != len(theirs):
            return False
        for name in _field_names(type(self)):  # type: ignore[arg-type] # a class has a hash
            one, two = getattr(self, name), getattr(other, name)
            if one is not two and not isinstance(one, Relation) and one is not mine and one != two:
                return False
        return True


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _hashed(relation: Relation) -> int:
    """The hash of a node. Every node keeps its own, and inputs get theirs first, so that none is
    computed by recursion."""
    stack = [relation]
    while stack:
        node = stack[-1]
        waiting = [i for i in node.inputs if i.inputs and "_hash" not in i.__dict__]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        names = _field_names(type(node))  # type: ignore[arg-type] # a class has a hash
        values = tuple(getattr(node, name) for name in names)
        node.__dict__["_hash"] = hash((type(node).__name__, values))
    found: int = relation.__dict__["_hash"]
    return found


class Unary(Relation):
    """An operator over one input, whose columns it hands on unless it says otherwise."""

    input: Relation

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        (only,) = inputs
        return self if only is self.input else replace(self, input=only)  # type: ignore[type-var]


def walk(relation: Relation) -> Iterator[Relation]:
    """Every node once per occurrence, parents before inputs, left to right."""
    stack = [relation]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.inputs))


def fold(
    relation: Relation,
    of_node: Callable[[Relation, tuple[_T, ...]], _T],
    known: dict[int, _T] | None = None,
) -> _T:
    """Return what ``of_node`` gives for the relation, computed bottom-up from what it gives for
    inputs. A node that is used twice is asked once. ``known``: what it gave before, by the identity
    of nodes that are still there; it is added to. Iterative: a left-deep join of hundreds is no
    deep recursion."""
    done = {} if known is None else known
    stack: list[tuple[Relation, bool]] = [(relation, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in node.inputs)
            continue
        done[id(node)] = of_node(node, tuple(done[id(child)] for child in node.inputs))
    return done[id(relation)]
