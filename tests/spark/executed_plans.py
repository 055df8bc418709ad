"""What Spark has executed: exchanges, scans and jobs, read from the plans it ended with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_NODE = re.compile(
    r"(?P<indent>[ :|]*)(?P<branch>[+:]- )?(?P<name>== .* ==|.*?)(?: \((?P<id>\d+)\).*)?"
)
_PLACE = re.compile(r"/(?:sources/(?P<source>\w+)/|artifacts/(?P<family>\w+)/)")
_FAMILY = re.compile(r"spark_catalog\.default\.(f_\w+)")


@dataclass
class Executed:
    """Work of a run. ``scans``: how often each table or family was read; rows that are held in
    memory are counted where they are computed. ``sides``: how many small sides of joins were
    counted before; the exchange that brings such a count together is none of ``exchanges``.
    ``writes``: how many outputs were written; ``sorts``: how many exchanges are by ranges."""

    exchanges: int = 0
    broadcasts: int = 0
    sides: int = 0
    writes: int = 0
    sorts: int = 0
    jobs: int = 0
    scans: Counter[str] = field(default_factory=Counter)


class Watched:
    """Adds up what a session's application executes from now on."""

    def __init__(self, session: Any) -> None:
        self._store = session._jsparkSession.sharedState().statusStore()
        self._bus = session.sparkContext._jsc.sc().listenerBus()
        self._seen = -1
        newest = next(self._newest(), None)
        self._seen = -1 if newest is None else newest.executionId()

    def _newest(self) -> Iterator[Any]:
        """Yield what was executed since, the newest first. The store forgets old executions, so
        they are told by their ids and not by their places."""
        self._bus.waitUntilEmpty()  # it hears of what was executed a little later
        kept = self._store.executionsList()
        for place in reversed(range(kept.size())):
            execution = kept.apply(place)
            if execution.executionId() <= self._seen:
                return
            yield execution

    def work(self) -> Executed:
        """What was executed since this was asked before, or since the start."""
        found, total = list(self._newest()), Executed()
        self._seen = max((one.executionId() for one in found), default=self._seen)
        for execution in found:
            if execution.jobs().isEmpty():
                continue
            total.jobs += execution.jobs().size()
            counted = execution.description().startswith("count at")
            _add(total, execution.physicalPlanDescription(), holds=counted)
            total.sides += counted
            total.exchanges -= counted
        return total


def _add(total: Executed, text: str, *, holds: bool) -> None:
    assert "== Subqueries ==" not in text, "what subqueries execute is not counted here"
    for name, number in _nodes(text, holds=holds):
        if name == "Exchange":
            total.exchanges += 1
            total.sorts += "rangepartitioning(" in _details(text, number)
        elif name == "WriteFiles":
            total.writes += 1
        elif name == "BroadcastExchange":
            total.broadcasts += 1
        elif name.startswith("Scan "):
            total.scans[_scanned(text, name, number)] += 1


def _nodes(text: str, *, holds: bool) -> Iterator[tuple[str, str]]:
    """Names and numbers of the nodes of the final plan. Below rows that are held in memory only if
    this is the execution that computes them, and then not below those that they are computed of."""
    skipped: int | None = None
    above = ""
    for line in text.split("\n\n", maxsplit=1)[0].splitlines()[1:]:
        match = _NODE.fullmatch(line)
        assert match is not None
        depth = len(match["indent"]) + 3 * bool(match["branch"])
        name = match["name"].removeprefix("* ")
        header = name.startswith("== ")
        above, before = name, above
        if skipped is not None:
            if depth - header > skipped:
                continue
            if header and before.startswith("AdaptiveSparkPlan"):
                # Spark prints a plan that is held below one that is held further left than it is.
                skipped = depth - header
                continue
        skipped = None
        held = name.startswith("InMemoryTableScan")
        if name == "== Initial Plan ==" or (held and not holds):
            skipped = depth - header
        elif not header:
            holds = holds and not held
            yield name.strip(), match["id"] or ""


def _scanned(text: str, name: str, number: str) -> str:
    if family := _FAMILY.search(name):
        return family[1]
    place = _PLACE.search(_details(text, number))
    assert place is not None, name
    return place["source"] or place["family"]


def _details(text: str, number: str) -> str:
    return text[text.index(f"\n({number}) ") :].split("\n\n", maxsplit=1)[0]
