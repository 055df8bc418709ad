"""A generated case: tables with their deliveries, and a query in clauses that can be dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Method, Source, SourceColumn
from tests.oracles.values import Row, Value


@dataclass(frozen=True)
class TableCase:
    """``deliveries[i]`` arrive before run i + 1. A table that does not change has one.
    ``withdrawn[i]``: rows that the delivery takes back, before it adds its own; those that are not
    there are passed over. Without it, nothing is ever taken back.
    ``key``: columns that are declared to be unique. ``said``: how many rows planning is told.
    ``ordered_by``: the column in whose order rows are declared to come."""

    columns: tuple[tuple[str, str], ...]
    changing: bool
    deliveries: tuple[tuple[Row, ...], ...]
    withdrawn: tuple[tuple[Row, ...], ...] = ()
    key: tuple[str, ...] = ()
    said: int = 1_000_000
    ordered_by: str = ""

    def rows(self, run: int) -> list[Row]:
        """What is there at run ``run``; a static table is whole from the start."""
        if not self.changing:
            return [row for part in self.deliveries for row in part]
        return self._play(run)[0]

    def delta(self, base: int, run: int) -> list[Row]:
        """What came and went between two runs; with a weight at the end of each row, if any row is
        ever taken back. A row that came and went is there both ways."""
        changes = self._play(run)[1][base:]
        if not self.withdrawn:
            return [row for change in changes for row, _ in change]
        return [(*row, weight) for change in changes for row, weight in change]

    def _play(self, run: int) -> tuple[list[Row], list[list[tuple[Row, int]]]]:
        """The rows that are there, and the changes of each delivery."""
        there: list[Row] = []
        changes: list[list[tuple[Row, int]]] = []
        for index, added in enumerate(self.deliveries[:run]):
            change: list[tuple[Row, int]] = []
            for row in self.withdrawn[index] if self.withdrawn else ():
                place = next((i for i, r in enumerate(there) if repr(r) == repr(row)), None)
                if place is not None:
                    change.append((there.pop(place), -1))
            there += added
            changes.append(change + [(row, 1) for row in added])
        return there, changes

    def source(self, name: str) -> Source:
        return Source(
            name=name,
            columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in self.columns),
            changing=self.changing,
            change="changelog" if self.withdrawn else "append_only",
            retracted=0.1 if self.withdrawn else 0.0,
            rows=self.said,
            bytes=100 * self.said,
            keys=(self.key,) if self.key else (),
            ordered_by=self.ordered_by,
        )


@dataclass(frozen=True)
class JoinClause:
    kind: str
    table: str
    on: tuple[str, ...]


@dataclass(frozen=True)
class Select:
    """One SELECT as lists of clauses, each of which can be dropped while shrinking."""

    items: tuple[str, ...]
    table: str
    joins: tuple[JoinClause, ...] = ()
    where: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    distinct: bool = False

    @property
    def sql(self) -> str:
        text = "SELECT " + ("DISTINCT " if self.distinct else "")
        text += ", ".join(f"{e} AS c{i}" for i, e in enumerate(self.items))
        text += f" FROM {self.table}"
        for join in self.joins:
            text += f" {join.kind} {join.table} ON " + " AND ".join(join.on or ("true",))
        if self.where:
            text += " WHERE " + " AND ".join(self.where)
        if self.group:
            text += " GROUP BY " + ", ".join(self.group)
        if self.having:
            text += " HAVING " + " AND ".join(self.having)
        return text


@dataclass(frozen=True)
class QueryCase:
    """Selects combined by a set operator, under an optional outer template (``{0}``, ``{1}``)."""

    selects: tuple[Select, ...]
    combine: str = "UNION ALL"
    outer: str = "{0}"
    order: str = ""
    limit: int | None = None
    sort_keys: tuple[int, ...] = ()

    @property
    def unlimited(self) -> str:
        inner = f" {self.combine} ".join(s.sql for s in self.selects)
        return self.outer.replace("{0}", inner)

    @property
    def ordered(self) -> str:
        return self.unlimited + (f" ORDER BY {self.order}" if self.order else "")

    @property
    def sql(self) -> str:
        return self.ordered + (f" LIMIT {self.limit}" if self.limit is not None else "")


@dataclass(frozen=True)
class Case:
    """``early``: force every delta rule to be used early, else choose by cost. ``method`` alone,
    without the rules that are ``off``. ``state_budget``: the most bytes that may be kept.
    ``effort``: budgets of the search by their names in the settings, where not the usual ones.
    ``complete``: the tables of which it is forecast, rightly or not, that they are complete from a
    run on, with this run. ``time_zone``: that of the session."""

    name: str
    tables: dict[str, TableCase]
    query: QueryCase
    runs: int
    early: bool
    method: Method = "auto"
    off: tuple[str, ...] = ()
    state_budget: int | None = None
    effort: tuple[tuple[str, int], ...] = ()
    complete: tuple[tuple[str, int], ...] = ()
    time_zone: str = "UTC"

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(table.source(name) for name, table in self.tables.items())


# JSON, for regressions


def _encode(value: Value) -> Any:
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime):
        return {"moment": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return {"double": repr(value)} if isinstance(value, float) else value


def _decode(value: Any) -> Value:
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _DECODED[kind](text)


_DECODED: dict[str, Callable[[str], Value]] = {
    "decimal": Decimal,
    "double": float,
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
    "bytes": bytes.fromhex,
}


def to_json(case: Case) -> str:
    tables = {
        name: {
            "columns": table.columns,
            "changing": table.changing,
            "deliveries": [
                [[_encode(v) for v in row] for row in part] for part in table.deliveries
            ],
            "withdrawn": [[[_encode(v) for v in row] for row in part] for part in table.withdrawn],
            "key": table.key,
            "said": table.said,
        }
        for name, table in case.tables.items()
    }
    record = {
        "name": case.name,
        "sql": case.query.sql,
        "runs": case.runs,
        "early": case.early,
        "method": case.method,
        "off": case.off,
        "state_budget": case.state_budget,
        "effort": case.effort,
        "complete": case.complete,
        "time_zone": case.time_zone,
        "tables": tables,
        "query": asdict(case.query),
    }
    return json.dumps(record, indent=1) + "\n"


def _parts(raw: list[Any]) -> tuple[tuple[Row, ...], ...]:
    return tuple(tuple(tuple(_decode(v) for v in row) for row in part) for part in raw)


def from_json(text: str) -> Case:
    raw = json.loads(text)
    tables = {
        name: TableCase(
            tuple((n, t) for n, t in table["columns"]),
            table["changing"],
            _parts(table["deliveries"]),
            _parts(table.get("withdrawn", [])),
            tuple(table.get("key", ())),
            table.get("said", 1_000_000),
        )
        for name, table in raw["tables"].items()
    }
    query = raw["query"]
    selects = tuple(_select(s) for s in query["selects"])
    rest = {k: v for k, v in query.items() if k not in ("selects", "sort_keys")}
    keys = tuple(query["sort_keys"])
    return Case(
        raw["name"],
        tables,
        QueryCase(selects, sort_keys=keys, **rest),
        raw["runs"],
        raw["early"],
        raw.get("method", "auto"),
        tuple(raw.get("off", ())),
        raw.get("state_budget"),
        tuple((name, most) for name, most in raw.get("effort", ())),
        tuple((name, run) for name, run in raw.get("complete", ())),
        raw.get("time_zone", "UTC"),
    )


def _select(raw: dict[str, Any]) -> Select:
    joins = tuple(JoinClause(j["kind"], j["table"], tuple(j["on"])) for j in raw["joins"])
    return Select(
        tuple(raw["items"]),
        raw["table"],
        joins,
        tuple(raw["where"]),
        tuple(raw["group"]),
        tuple(raw["having"]),
        raw["distinct"],
    )
