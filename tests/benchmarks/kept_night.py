"""What has been measured of a night so far, in a file that outlives the measuring command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from forerun.include.state.layout import Generation
from forerun.simulation.accounts import RunAccount
from forerun.simulation.group_account import GroupAccount
from tests.benchmarks.results import Conditions

NIGHT, AT_THE_END = "night", "at_the_end"
"""The group with its early runs, and with one run at the end."""

_NESTED = ("stages", "early_result")


class KeptNight:
    """The parts of a night by these conditions and queries; measured under others, they are not
    there. ``folder`` is where results are until the last part is there; figures lie beside it."""

    def __init__(self, folder: Path, conditions: Conditions, queries: Sequence[str]) -> None:
        self.work = folder
        self._path = folder.with_name(f"{folder.name}.json")
        self._asked = {"conditions": asdict(conditions), "queries": list(queries)}
        found = json.loads(self._path.read_text("utf-8")) if self._path.exists() else {}
        same = all(found.get(name) == value for name, value in self._asked.items())
        self._parts: dict[str, Any] = found["parts"] if same else {}
        if not same:
            self.clear_work()

    @property
    def complete(self) -> bool:
        return self.has(NIGHT) and self.has(AT_THE_END)

    def forget(self) -> None:
        """Measure everything again."""
        self._parts = {}
        self.clear_work()

    def clear_work(self) -> None:
        """Remove the results: nothing is compared with them any more."""
        shutil.rmtree(self.work, ignore_errors=True)

    def fresh(self, name: str) -> Path:
        """An empty folder for the deliveries of one part."""
        shutil.rmtree(self.work / name, ignore_errors=True)
        return self.work / name

    # -- the plain queries ------------------------------------------------------------------------

    def has_plain(self, query: str) -> bool:
        return f"plain {query}" in self._parts

    def plain(self, query: str) -> tuple[Generation, RunAccount]:
        """Where the result of a plain query is, and what it took in an application of its own."""
        part = self._parts[f"plain {query}"]
        return Generation(**part["at"]), _account(part["account"])

    def put_plain(self, query: str, at: Generation, account: RunAccount) -> None:
        self._put(f"plain {query}", {"at": asdict(at), "account": account.as_json()})

    @property
    def together(self) -> RunAccount | None:
        """What all plain queries took in one application."""
        part = self._parts.get("together")
        return None if part is None else _account(part)

    def put_together(self, account: RunAccount) -> None:
        self._put("together", account.as_json())

    # -- the group --------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        return name in self._parts

    def group(self, name: str) -> dict[str, Any]:
        """The JSON of a simulated group, as ``forerun simulate A.sql B.sql --json`` has it."""
        found: dict[str, Any] = self._parts[name]
        return found

    def put_group(self, name: str, account: GroupAccount) -> None:
        self._put(name, account.as_json())

    def _put(self, name: str, part: object) -> None:
        self._parts[name] = part
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps({**self._asked, "parts": self._parts}, indent=1), "utf-8")
        fresh.replace(self._path)


def _account(part: dict[str, Any]) -> RunAccount:
    """A run's figures without those of its stages."""
    return RunAccount(**{name: value for name, value in part.items() if name not in _NESTED})
