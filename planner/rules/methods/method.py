"""The interface of incremental methods: a named set of memo rules, with a test that says which
queries the method applies to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forerun.planner.algebra.relational import Relation, sources
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import View
from forerun.planner.request import Method as Name
from forerun.planner.search.rule import MemoRule


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The reason why a method does not apply to a query: a reason code, and a sentence that names
    the operator."""

    reason: Reason
    sentence: str

    def __str__(self) -> str:
        return f"{self.sentence} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Method:
    """An incremental method. ``rules`` are all its memo rules. ``applies`` takes a normalized query
    and the names of the sources that grow; it returns None, or why the method does not apply.
    ``keeps`` are the views that may be kept, None for all. ``source`` cites where it is from."""

    name: Name
    title: str
    rules: tuple[MemoRule, ...]
    applies: Callable[[Relation, frozenset[str]], WhyNot | None]
    source: str
    keeps: frozenset[View] | None = None

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of the method's rules, in order."""
        return tuple(rule.name for rule in self.rules)

    def why_not(self, relation: Relation, growing: frozenset[str]) -> WhyNot | None:
        """Return why the method does not apply to a normalized query; None if it does."""
        if not changes(relation, growing):
            what = "no source that the query reads grows during the day"
            return WhyNot(Reason.NOTHING_GROWS, what)
        return self.applies(relation, growing)


def changes(relation: Relation, growing: frozenset[str]) -> bool:
    """Return whether a relation reads a source that grows."""
    return not sources(relation).isdisjoint(growing)


def always(relation: Relation, growing: frozenset[str]) -> WhyNot | None:  # noqa: ARG001
    """Return None: the ``applies`` of methods that apply to every query that changes."""
    return None
