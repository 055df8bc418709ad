"""The interface of memo rules.

A memo rule looks at one expression and at the versions of its inputs, and adds what it finds to the
memo. Its pattern is declared, a graph of operators and TVRs (Tempura 5.2)::

    expression  ---- edges ---->  versions of its TVR, and TVRs with a role in it
        |  input  -- deltas --->  the delta of each input that changes
        |  first input
      below     ---- parts ---->  the TVRs that it reads, each by its role in the TVR of the input

The engine reads the pattern and tries a rule only when a new expression or a new edge may have
completed it (Tempura 5.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forerun.planner.algebra.relational import Relation, Version
from forerun.planner.memo.groups import Edge, Expression, Role, View
from forerun.planner.memo.memo import Memo
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Match:
    """The expression that a rule is tried at. For rules whose pattern is two operators deep,
    ``below`` is an expression of the group of its first input, and ``roles`` are those of the
    inputs of ``below``, if the pattern asks for them. ``ids`` gives new column ids."""

    memo: Memo
    expression: Expression
    ids: ColumnIds
    below: Expression | None = None
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoRule:
    """A rule with its pattern: it matches expressions of type ``operator``.

    ``edges`` must lead from the TVR of the expression. With ``deltas``, every changing input must
    have a delta. With ``below``, the group of the first input must also have an expression of that
    type; with ``parts``, each input of it must have one of these roles in the TVR of that group.
    Lower ``priority`` fires first. ``fire`` writes into the memo and returns whether it found
    something; it is called at most once per expression (and expression below). ``source`` says
    where the rule is from."""

    name: str
    operator: type[Relation]
    fire: Callable[[Match], bool]
    source: str
    edges: frozenset[Edge] = frozenset()
    deltas: bool = False
    below: type[Relation] | None = None
    parts: frozenset[Role] = frozenset()
    priority: int = 0

    @property
    def edges_of_inputs(self) -> frozenset[Edge]:
        """The edges of the TVRs of inputs that the pattern contains."""
        deltas: frozenset[Edge] = frozenset({(Version.DELTA, View.ROWS)} if self.deltas else ())
        return deltas | self.parts
