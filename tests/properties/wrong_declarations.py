"""Days of which something that the report declares is not so, or what a footer says.

Each ends with the result of the plain query, or with an error that has a name: never with another
result. The whole path of a run is real: files, pins, manifests, plans, executor, commits, on Sail.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs import day_request
from forerun.include.runs import prepare as days
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.sources.statistics import to_source
from forerun.include.state.records import Pin
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.plan_v1 import ForeignKey
from forerun.planner.errors import ForerunError, MethodError
from forerun.planner.request import ColumnStats, Method, Settings, Source, TimePoint
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.executor import execute
from tests.oracles.bags import DifferenceError, compare_bags
from tests.oracles.values import NotInterpretedError, Row
from tests.properties.cases import Case, JoinClause, QueryCase, Select, TableCase
from tests.properties.data import COLUMNS, random_tables, without_nan
from tests.properties.engines import InterpreterEngine, PlainSailEngine, arrow_type
from tests.properties.execute import RefusedError, check_rows
from tests.properties.generate import changelog_case, random_case
from tests.properties.lying_footers import lie
from tests.spark.days import rows_of
from tests.spark.stored_days import BYTES, DAY, NOW, ROWS

FOOTERS = ("true", "without", "no-nulls", "no-rows", "ones", "small")
TAMPERING = ("remove", "rewrite", "same-size", "late")
METHODS: tuple[Method, ...] = ("progressive", "auto", "im1", "im2", "ojv", "hov", "batch")
ALWAYS: tuple[Method, ...] = ("progressive", "progressive", "auto")
"""Methods that apply to every query: they are tried more often than the others."""
KINDS = ("not_null", "not_null", "key", "static", "type", "tamper", "phantom")
EQUAL, REFUSED = "equal", "refused"


@dataclass(frozen=True)
class Lies:
    """What is wrong. ``keys`` and ``not_null`` are declared of a table, and need not hold;
    ``footers``: how they are wrong, one of :data:`FOOTERS`; ``static``: tables that are declared
    so, and may grow; ``types``: (table, column, type) declared; ``tampered``: (table, run, how),
    just before a run; ``phantom``: (table, run), of which the delivery takes a row back too often.
    """

    not_null: dict[str, tuple[str, ...]] = field(default_factory=dict)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    footers: str = "true"
    static: tuple[str, ...] = ()
    types: tuple[tuple[str, str, str], ...] = ()
    tampered: tuple[tuple[str, int, str], ...] = ()
    phantom: tuple[tuple[str, int], ...] = ()
    foreign_keys: tuple[tuple[str, str], ...] = ()
    """(Child, parent): ``k`` of the one names ``k`` of the other."""


OTHER_WAYS = (
    "InnerJoinDelta", "HigherOrderDelta", "UnmatchedRowsOfInnerJoin", "OuterJoinDeltaByKey",
    "OuterJoinDeltaTouchedRows", "OuterJoinViewDelta", "SemiJoinDeltaByKey",
    "SemiJoinDeltaTouchedRows", "PartnersOfDomain", "UnmatchedRowsOfAntiJoin",
    "UnmatchedRowsOfSemiJoin",
)  # fmt: skip
"""Rules for the deltas of joins that rest on no foreign key."""


_PARENT = JoinClause("JOIN", "t0 b", ("a.k = b.k",))
_LEFT_PARENT = JoinClause("LEFT JOIN", "t0 b", ("a.k = b.k", "b.n > 0"))
_BETWEEN = JoinClause("JOIN", "t1 c", ("a.k = c.k",))
_ALIAS = JoinClause("JOIN", "t1 c", ("a.n = c.n",))
_CHILD = JoinClause("JOIN", "t1 b", ("a.k = b.k", "a.n <> b.n"))
FOREIGN_QUERIES = (
    Select(("a.k", "a.n", "b.g"), "t1 a", (_PARENT,)),
    Select(("a.k", "a.n", "b.g"), "t0 a", (_CHILD,)),
    Select(("a.g", "count(*)", "sum(b.n)"), "t1 a", (_PARENT,), group=("a.g",)),
    Select(("a.g", "count(*)", "sum(b.n)"), "t1 a", (_LEFT_PARENT,), group=("a.g",)),
    Select(("a.k", "a.g"), "t1 a", where=("NOT EXISTS (SELECT 1 FROM t0 b WHERE b.k = a.k)",)),
    Select(("a.k", "a.g"), "t1 a", where=("EXISTS (SELECT 1 FROM t0 b WHERE b.k = a.k)",)),
    Select(("a.k", "b.n", "c.n"), "t2 a", (_BETWEEN, _PARENT)),
    Select(("a.k", "b.n", "c.k"), "t1 a", (_ALIAS, _PARENT)),
)
"""Joins of children with their parents: those of ``t2`` are ``t1`` and ``t0``, that of ``t1`` is
``t0``."""


def foreign_case(seed: int, *, holds: bool) -> tuple[Case, Lies, Method]:
    """A day whose joins are along foreign keys, with no other way to their deltas. If it ``holds``,
    keys ascend from delivery to delivery; rows of ``t2`` may name older ones."""
    rng = random.Random(f"foreign-{seed}")
    tables = {}
    for name, table in random_tables(rng, 3, 3).items():
        rows = [row for delivery in without_nan(table).deliveries for row in delivery]
        deliveries = []
        for run in range(3):
            ages = [run if name < "t2" else rng.randint(0, run) for _ in rows[run::3]]
            pairs = zip(ages if holds else [0] * len(ages), rows[run::3], strict=True)
            deliveries.append(tuple(_of_age(row, age) for age, row in pairs))
        tables[name] = TableCase(COLUMNS, True, tuple(deliveries))
    query = QueryCase((rng.choice(FOREIGN_QUERIES),))
    case = Case(f"foreign-{seed}", tables, query, 3, early=True, off=OTHER_WAYS)
    keys = (("t1", "t0"), ("t2", "t0"), ("t2", "t1"))
    return case, Lies(foreign_keys=keys), rng.choice(("progressive", "im1"))


def _of_age(row: Row, age: int) -> Row:
    """The row with a key that only rows of this age have; NULL is no key."""
    return row if row[0] is None else (int(str(row[0])) + 10 * age, *row[1:])


def wrong_case(seed: int) -> tuple[Case, Lies, Method]:
    """The case with this seed, what is wrong with it, and the method it is planned by."""
    rng = random.Random(f"wrong-{seed}")
    changelog = rng.random() < 0.25
    kind = rng.choice(("", "", "subquery", "subquery", "values", "grouped", "outer", "null"))
    case = (
        changelog_case(seed, for_sail=True)
        if changelog
        else random_case(seed, "" if kind == "null" else kind, for_sail=True)
    )
    if kind == "null":
        case = _with_null_tests(rng, case)
    tables = {name: without_nan(table) for name, table in case.tables.items()}
    return replace(case, tables=tables), _lies(rng, case), rng.choice(METHODS + ALWAYS)


def _with_null_tests(rng: random.Random, case: Case) -> Case:
    """Where NOT NULL would matter most: in tests for NULL, and NOT IN."""
    select = case.query.selects[0]
    other = rng.choice(sorted(case.tables))
    column = rng.choice(("k", "g", "n", "m", "d"))
    test = rng.choice(
        (
            f"a.{column} IS NULL",
            f"a.{column} NOT IN (SELECT z.{column} FROM {other} z)",
            f"NOT (a.{column} IS NOT NULL)",
        )
    )
    selects = (replace(select, where=(*select.where, test)), *case.query.selects[1:])
    return replace(case, query=replace(case.query, selects=selects))


def _lies(rng: random.Random, case: Case) -> Lies:
    names = sorted(case.tables)
    found = Lies(footers=rng.choice(("true", "without", "without", *FOOTERS)))
    for lie_ in rng.sample(KINDS, 2):
        name = rng.choice(names)
        table = case.tables[name]
        columns = [c for c, _ in table.columns]
        if lie_ == "not_null":
            some = {n: tuple(rng.sample(columns, rng.randint(1, len(columns)))) for n in names}
            found = replace(found, not_null=some)
        elif lie_ == "key":
            keys = {n: tuple(rng.sample(("k", "n", "g"), rng.choice((1, 1, 2)))) for n in names}
            found = replace(found, keys=keys)
        elif lie_ == "static":
            found = replace(found, static=(name,))
        elif lie_ == "type" and rng.random() < 0.3:
            found = replace(
                found, types=((name, "n", rng.choice(("BIGINT", "STRING", "SMALLINT"))),)
            )
        elif lie_ == "tamper":
            run = rng.randint(2, case.runs)
            found = replace(found, tampered=((name, run, rng.choice(TAMPERING)),))
        elif lie_ == "phantom" and table.withdrawn:
            found = replace(found, phantom=((name, rng.randint(1, case.runs)),))
    return found


@dataclass
class WrongDay:
    """One day. ``contents``: the rows of each file as it is now; of changelogs, with weights."""

    case: Case
    lies: Lies
    method: Method
    folder: Path
    engine: Engine
    plain: PlainSailEngine
    contents: dict[str, dict[str, tuple[Row, ...]]] = field(default_factory=dict)
    relied: int = 0
    """How many foreign keys the runs that were started relied on."""

    def check(self) -> str:
        """Run the day; ``equal``, or the code of the error that it ends with. Raises an
        AssertionError if it ends with another result than the plain query's."""
        uri = str(self.folder / "store")
        try:
            days.open_generation(uri, self._spec(), DAY, trigger="first", now=NOW)
            for run in range(1, self.case.runs + 1):
                self._deliver(run)
                self._tamper(run)
                rows = self._do(uri, run)
        except MethodError:  # it does not apply: another one does
            shutil.rmtree(self.folder)
            self.contents.clear()
            return replace(self, method="progressive").check()
        except ForerunError as error:
            return error.code
        check_rows(self.case, self._expected(), rows)
        return EQUAL

    def _do(self, uri: str, run: int) -> list[Row]:
        runs = self.case.runs
        points = tuple(
            TimePoint(weight=0.2 + i / runs, arrived=(i + 1) / runs) for i in range(runs)
        )
        settings = Settings(
            temporal="early" if self.case.early else "cost",
            buckets=2,
            tries=2,
            compare=0,
            rules_off=self.case.off,
        )
        with mock.patch.object(day_request, "to_source", _pretended):
            prepared = days.prepare_run(
                Day.of(uri, self._spec(), DAY, "1"), run,
                now=NOW, method=self.method, points=points, settings=settings,
            )  # fmt: skip
        if prepared.skip_reason or prepared.result is None:
            return []
        self.relied += len(prepared.result.plan.run.relies_on)
        stored = StoredPlan.read(prepared.plan_uri)
        commit = execute(self.engine, stored, f"a{run}")
        return rows_of(stored.store, commit.result) if commit.result else []

    def _expected(self) -> list[Row]:
        """The rows of the plain query. There is nothing to compare with where the engine refuses
        it, or is wrong about it by itself (a NOT IN below an OR, on Sail)."""
        interpreter = InterpreterEngine()
        for name, table in self.case.tables.items():
            for engine in (self.plain, interpreter):
                engine.bind(name, table.columns, self._rows(name, table))
        try:
            rows = self.plain.query(self.case.query.ordered)
        except Exception as error:
            raise RefusedError(str(error)) from error
        try:
            compare_bags(interpreter.query(self.case.query.ordered), rows, magnitude=1e4)
        except NotInterpretedError:
            pass
        except DifferenceError as error:
            raise RefusedError(f"the plain query on this engine: {error}") from error
        return rows

    def _rows(self, name: str, table: TableCase) -> list[Row]:
        rows = [row for part in self.contents.get(name, {}).values() for row in part]
        if not table.withdrawn:
            return rows
        times: Counter[str] = Counter()
        first: dict[str, Row] = {}
        for row in rows:
            shown = repr(
                tuple(
                    0.0 if value == 0 and isinstance(value, float) else value for value in row[:-1]
                )
            )
            times[shown] += int(str(row[-1]))
            first.setdefault(shown, row[:-1])
        if any(count < 0 for count in times.values()):
            raise RefusedError(f"{name} has a row less than no times")
        return [first[shown] for shown, count in times.items() for _ in range(count)]

    # -- the report ------------------------------------------------------------------------------

    def _spec(self) -> ReportSpec:
        runs = range(1, self.case.runs + 1)
        return ReportSpec(
            name="generated",
            sources=tuple(self._source(name, table) for name, table in self.case.tables.items()),
            policy=RunPolicy(runs=tuple(RunTime(at=f"{i:02d}:00", weight=1.0) for i in runs)),
            sql=self.case.query.sql,
        )

    def _source(self, name: str, table: TableCase) -> SourceSpec:
        growing = table.changing and name not in self.lies.static
        declared = {(t, c): type_ for t, c, type_ in self.lies.types}
        return SourceSpec(
            name=name,
            path=str(self.folder / "in" / name),
            columns=tuple(
                ColumnSpec(
                    name=n,
                    type=declared.get((name, n), parse_type(type_).sql),
                    nullable=n not in self.lies.not_null.get(name, ()),
                )
                for n, type_ in table.columns
            ),
            key=self.lies.keys.get(name, ()),
            foreign_keys=tuple(
                ForeignKey(columns=("k",), parent=parent, parent_columns=("k",))
                for child, parent in self.lies.foreign_keys
                if child == name
            ),
            change="changelog" if table.withdrawn else "append_only",
            arrival="growing" if growing else "static",
            complete_when=ClockTime() if growing else None,
            allow_empty=True,
        )

    # -- the files -------------------------------------------------------------------------------

    def _deliver(self, run: int) -> None:
        for name, table in self.case.tables.items():
            if run > len(table.deliveries):
                continue
            rows = (
                tuple(table.delta(run - 1, run)) if table.withdrawn else table.deliveries[run - 1]
            )
            if (name, run) in self.lies.phantom:
                known = [r for part in self.contents.get(name, {}).values() for r in part]
                rows += tuple((*r[:-1], -3) for r in (known or list(rows))[:1])
            if rows:
                self._put(name, f"{run}.parquet", rows)

    def _tamper(self, run: int) -> None:
        for name, when, how in self.lies.tampered:
            files = self.contents.get(name, {})
            if when != run or not files:
                continue
            first = min(files)
            path, rows = self.folder / "in" / name / first, files[first]
            if how == "remove":
                path.unlink()
                del files[first]
            elif how == "late":
                self._put(name, f"{run}-late.parquet", rows)
            else:
                before = path.stat()
                changed = tuple((*row[:2], _other(row[2]), *row[3:]) for row in rows)
                self._put(name, first, changed)
                if how == "same-size" and path.stat().st_size == before.st_size:
                    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _put(self, name: str, file: str, rows: tuple[Row, ...]) -> None:
        table, footers = self.case.tables[name], self.lies.footers
        columns = (*table.columns, ("__w", "BIGINT")) if table.withdrawn else table.columns
        schema = pa.schema([(n, arrow_type(type_)) for n, type_ in columns])
        arrays = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)]
        # Without bounds of doubles: Arrow leaves -0.0 and NaN out of them.
        counted = [f.name for f in schema if not pa.types.is_floating(f.type)]
        if footers == "without":
            counted = ["__w"]
        path = self.folder / "in" / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, write_statistics=counted)
        lie(
            path,
            nulls=footers == "no-nulls",
            rows=footers == "no-rows",
            ones="__w" if footers == "ones" else "",
            small="m" if footers == "small" else "",
        )
        self.contents.setdefault(name, {})[file] = rows


def ends(
    engine: Engine, plain: PlainSailEngine, folder: Path, case: Case, lies: Lies, method: Method
) -> str:
    """How the day ends in an empty ``folder``, or ``refused``: there is nothing to compare with."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        return WrongDay(case, lies, method, folder, engine, plain).check()
    except RefusedError:
        return REFUSED


def _other(value: object) -> int:
    return 4 if value is None or value != 4 else 5


def _pretended(source: SourceSpec, pin: Pin, arrived: float) -> Source:
    """A large source that turns out larger from pin to pin, of which bounds alone are known."""
    much = pin.number**2
    found = to_source(source, pin, arrived)
    bounds = tuple(
        (name, ColumnStats(minimum=one.minimum, maximum=one.maximum)) for name, one in found.stats
    )
    return replace(found, rows=ROWS * much, bytes=BYTES * much, stats=bounds)


def lies_to_json(lies: Lies, method: Method) -> str:
    """For regressions, beside the case's own JSON."""
    return json.dumps({"method": method, **asdict(lies)}, indent=1) + "\n"


def lies_from_json(text: str) -> tuple[Lies, Method]:
    raw = json.loads(text)
    method = raw.pop("method")
    dicts = {k: {n: tuple(c) for n, c in raw.pop(k).items()} for k in ("not_null", "keys")}
    lists = {
        k: tuple(map(tuple, raw.pop(k, ())))
        for k in ("types", "tampered", "phantom", "foreign_keys")
    }
    return Lies(**dicts, **lists, footers=raw["footers"], static=tuple(raw["static"])), method
