"""What the expectations of a day found, read from what its committed runs recorded."""

from __future__ import annotations

import json
from dataclasses import dataclass

from include.state.commits import read_chain
from include.state.layout import Generation
from include.state.store import StoreReader

_ROWS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An expectation that did not pass. ``text`` names the target, the run, the expectation, what
    was observed, and some of the rows, for a log or an alarm."""

    severity: str
    text: str


def read_failed(store: StoreReader, at: Generation) -> tuple[Failed, ...]:
    """All expectations that did not pass in the committed runs of a generation, oldest first."""
    return tuple(
        Failed(severity=raw["severity"], text=_text(check.target, commit.run, raw))
        for commit in read_chain(store, at)
        for check in commit.checks
        if check.critical or check.warnings
        for raw in json.loads(store.get(check.key))["findings"]
        if raw["outcome"] != "passed"
    )


def _text(target: str, run: int, raw: dict[str, object]) -> str:
    lines = [f"{target}, run {run}: {raw['sentence']}"]
    rows = raw["rows"]
    if isinstance(rows, list):
        lines += [f"    {json.dumps(row, ensure_ascii=False)}" for row in rows[:_ROWS_SHOWN]]
    return "\n".join(lines)
