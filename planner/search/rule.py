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
    """An expression that a rule is tried at."""

    memo: Memo
    expression: Expression
    ids: ColumnIds


@dataclass(frozen=True, slots=True)
class MemoRule:
    """``deltas``: every changing input has a delta. ``methods``: the named sets it belongs to; the
    empty set is every one. ``priority``: lower fires first. ``fire`` says whether it found
    something; it is called at most once per expression."""

    name: str
    operator: type[Relation]
    fire: Callable[[Match], bool]
    source: str
    deltas: bool = False
    methods: frozenset[str] = frozenset()
    priority: int = 0
