"""What a rule of the memo is.

A rule looks at one expression and the versions that its inputs have. Its pattern is the type of the
operator, the kind of group the expression is in, and the edges that the TVRs of its inputs must
have; the search knows these, so a rule is tried only when a new expression or a new edge may have
made it match (Tempura 5.3). What it finds it writes into the memo.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.algebra.relational import Relation
from planner.memo.memo import Expression, Memo
from planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Match:
    """An expression that a rule is tried at; ``below``: one of the group that it reads first, for
    rules whose pattern is two operators deep."""

    memo: Memo
    expression: Expression
    ids: ColumnIds
    below: Expression | None = None


@dataclass(frozen=True, slots=True)
class MemoRule:
    """``deltas``: every changing input has a delta. ``below``: the operator of the first input's
    group that the pattern wants. ``priority``: lower fires first. ``fire`` says whether it found
    something; it is called at most once per expression (and expression below)."""

    name: str
    operator: type[Relation]
    fire: Callable[[Match], bool]
    source: str
    deltas: bool = False
    below: type[Relation] | None = None
    priority: int = 0
