"""The table of methods by name, and the names of all rules. Nothing registers itself.

A method is planned alone (``im1``, ``im2``, ...), or with all others in one memo (``auto``). A new
one is a file that makes a :class:`Method`, and a line in ``SINGLE``. Normal forms and the rewrites
in ``EXPLORE`` belong to no method: every method uses them.
"""

from __future__ import annotations

from collections.abc import Iterable

from forerun.planner.errors import RequestError
from forerun.planner.rules.explore.catalog import EXPLORE, LOCAL
from forerun.planner.rules.incremental import foreign_key
from forerun.planner.rules.incremental.memo_rules import TVR_GENERATING
from forerun.planner.rules.methods import (
    appended_windows,
    changed_partitions,
    contenders,
    continuous_view,
    higher_order,
    only_partner,
    outer_join_views,
    positive_negative,
    recent_rows,
    split_windows,
    upcoming_rows,
)
from forerun.planner.rules.methods.domain import DOMAIN
from forerun.planner.rules.methods.method import Method, always
from forerun.planner.rules.methods.unmatched import UNMATCHED
from forerun.planner.rules.normalize import driver
from forerun.planner.search.rule import MemoRule

IM1 = Method(
    "im1",
    "IM-1: deltas of every operator from versions of its inputs, merged into what is kept",
    (
        *TVR_GENERATING,
        *LOCAL,
        *DOMAIN,
        *UNMATCHED,
        only_partner.RULE,
        foreign_key.RULE,
        contenders.RULE,
        changed_partitions.RULE,
        appended_windows.RULE,
        recent_rows.RULE,
        upcoming_rows.RULE,
        split_windows.RULE,
    ),
    always,
    "Tempura 4.1; delta queries as in Griffin and Libkin, SIGMOD 1995",
)
SINGLE: tuple[Method, ...] = (
    IM1,
    positive_negative.METHOD,
    outer_join_views.METHOD,
    higher_order.METHOD,
    continuous_view.METHOD,
)
"""The methods that can be planned alone."""


def _together(methods: Iterable[Method]) -> tuple[MemoRule, ...]:
    """Return the rules of all methods, each once, without AggregateStates, which AggregateDelta
    includes."""
    rules = {rule.name: rule for method in methods for rule in method.rules}
    rules.pop(continuous_view.STATES.name, None)
    return tuple(rules.values())


AUTO = Method(
    "auto",
    "all methods together, chosen by cost per operator and run",
    _together(SINGLE),
    always,
    "Tempura 4.3",
)
BATCH = Method("batch", "the user's own text, in one run at the end", TVR_GENERATING, always, "")
METHODS: dict[str, Method] = {method.name: method for method in (*SINGLE, AUTO, BATCH)}


def method_of(name: str) -> Method:
    """Return the method of a name; ``progressive`` (forced early runs) uses the rules of ``auto``.
    Raises RequestError if there is no such method."""
    found = METHODS.get("auto" if name == "progressive" else name)
    if found is None:
        raise RequestError(
            f"there is no method {name}", hint=f"The methods are {', '.join(METHODS)}."
        )
    return found


def rule_names() -> tuple[str, ...]:
    """Return the names of all rules that can be switched off: normal forms, then rewrites, then
    rules of methods."""
    memo = {rule.name: None for method in METHODS.values() for rule in method.rules}
    return tuple(dict.fromkeys((*driver.RULE_NAMES, *(rule.name for rule in EXPLORE), *memo)))


def check_rules(names: Iterable[str]) -> None:
    """Raise RequestError if one of the names is not the name of a rule."""
    known = rule_names()
    for name in names:
        if name not in known:
            raise RequestError(
                f"there is no rule {name!r} to switch off",
                hint=f"The rules are {', '.join(known)}.",
            )
