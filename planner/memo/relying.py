"""The operator that says of its rows that they are right if a foreign key holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forerun.planner.algebra.describe import Words, phrase
from forerun.planner.algebra.fingerprint import node_text
from forerun.planner.algebra.node import Unary
from forerun.planner.algebra.relational import Relation
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.cost import operators
from forerun.planner.props import repeatable
from forerun.planner.props.emptiness import is_empty
from forerun.planner.props.keys import keys_of_node
from forerun.planner.props.nullability import not_null_of
from forerun.planner.props.source_rows import SourceRows, source_rows_of


@dataclass(frozen=True, eq=False)
class Relying(Unary):
    """The rows of the input, which are those of the group if the foreign keys ``on`` hold.

    It exists only in a memo. A run that is planned with it verifies these foreign keys before it
    computes anything, which is what the operator costs; nothing is left of it in a stage."""

    input: Relation
    on: tuple[ReliedForeignKey, ...]


@phrase.register(Relying)
def _phrase(node: Relying, words: Words) -> str:
    return words.of(node.input)


@node_text.register(Relying)
def _node_text(node: Relying) -> str:
    return f"relying on {node.on}"


@source_rows_of.register(Relying)
def _source_rows(node: Relying, inputs: tuple[SourceRows, ...]) -> SourceRows:
    return tuple(replace(row, relied=row.relied.union(node.on)) for row in inputs[0])


keys_of_node.register(Relying)(lambda _, inputs, *__: inputs[0])
not_null_of.register(Relying)(lambda _, inputs, __: inputs[0])
repeatable.of_node.register(Relying)(lambda _, below, __: below[0])
is_empty.register(Relying)(lambda _, inputs, __: inputs[0])
operators.plain.register(Relying)(lambda *_: 0.0)
