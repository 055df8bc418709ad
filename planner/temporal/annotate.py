"""A query with what the temporal choice needs to know of each operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.algebra.relational import Aggregate, Relation, Scan, UnionAll
from planner.errors import Reason
from planner.rules import catalog
from planner.rules.incremental.rule import Applies, Input, Rule, View


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """One occurrence of an operator in the query.

    ``changing``: it reads a source that grows. ``signed``: its delta may take rows back.
    ``reason``: why it has no delta rule, where it has none although it changes.
    """

    index: int
    relation: Relation
    inputs: tuple[Operator, ...]
    changing: bool
    signed: bool
    rule: Rule | None
    applies: Applies | None
    reason: Reason | None

    @property
    def view(self) -> View | None:
        if self.rule is not None and isinstance(self.rule.method, View):
            return self.rule.method
        return None

    def walk(self) -> Iterator[Operator]:
        """All operators, parents first."""
        stack = [self]
        while stack:
            operator = stack.pop()
            yield operator
            stack.extend(reversed(operator.inputs))


def annotate(relation: Relation, changing: frozenset[str]) -> Operator:
    """Look up rules bottom-up; indices are in postorder, so inputs come before their parents."""
    done: list[Operator] = []
    stack: list[tuple[Relation, bool]] = [(relation, False)]
    index = 0
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))
            continue
        count = len(node.inputs)
        inputs = tuple(done[len(done) - count :])
        del done[len(done) - count :]
        done.append(_operator(index, node, inputs, changing))
        index += 1
    return done[0]


def _operator(
    index: int, node: Relation, inputs: tuple[Operator, ...], changing: frozenset[str]
) -> Operator:
    if isinstance(node, Scan):
        return Operator(index, node, (), node.source in changing, False, None, None, None)
    moving = any(i.changing for i in inputs)
    if not moving:
        return Operator(index, node, inputs, False, False, None, None, None)
    given = tuple(Input(i.relation, i.changing, i.signed) for i in inputs)
    found = catalog.find(node, given)
    if isinstance(found, Reason):
        return Operator(index, node, inputs, True, True, None, None, found)
    rule, applies = found
    return Operator(index, node, inputs, True, applies.signed, rule, applies, None)


def label(node: Relation) -> str:
    """A few words for people: what the operator is, and over what."""
    name = type(node).__name__
    if isinstance(node, Scan):
        return f"Scan {node.source}"
    if isinstance(node, Aggregate):
        keys = ", ".join(key.name for key in node.keys)
        return f"Aggregate by {keys}" if keys else "Aggregate of all rows"
    if isinstance(node, UnionAll):
        return f"Union of {len(node.branches)}"
    kind = getattr(node, "kind", None)
    return f"{name} {kind.value}" if kind is not None else name
