"""The interface of memo rules.

A memo rule looks at one expression and at the versions of its inputs, and adds what it finds to the
memo. Its pattern is declared: the type of the operator, perhaps that of an operator below, and
whether the changing inputs must have deltas. The engine reads the pattern and tries a rule only
when a new expression or a new edge may have completed it (Tempura 5.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.algebra.relational import Relation
from planner.memo.memo import Expression, Memo
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Match:
    """The expression that a rule is tried at. For rules whose pattern is two operators deep,
    ``below`` is an expression of the group of its first input. ``ids`` gives new column ids."""

    memo: Memo
    expression: Expression
    ids: ColumnIds
    below: Expression | None = None


@dataclass(frozen=True, slots=True)
class MemoRule:
    """A rule with its pattern: it matches expressions of type ``operator``.

    With ``below``, the group of the first input must also have an expression of that type. With
    ``deltas``, every changing input must have a delta. Lower ``priority`` fires first. ``fire``
    writes into the memo and returns whether it found something; it is called at most once per
    expression (and expression below). ``source`` says where the rule is from."""

    name: str
    operator: type[Relation]
    fire: Callable[[Match], bool]
    source: str
    deltas: bool = False
    below: type[Relation] | None = None
    priority: int = 0
