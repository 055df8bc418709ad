"""Tables as sinks: a day is replaced whole, once, by whoever is newest."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Delta
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from forerun.include.days.not_published import NotPublishedError
from forerun.include.days.sinks.tables import (
    DayRows,
    DayVersion,
    ReportDay,
    SinkError,
    open_sink,
    publish_rows,
)
from forerun.include.reports.sinks import (
    DeltaTable,
    IcebergTable,
    PostgresqlTable,
)
from forerun.include.reports.values.fields import SpecError
from forerun.include.runs.prepare import publish_result, read_pointer
from forerun.include.sources.services.service_error import ServiceError
from forerun.include.state.records import ArtifactPartition
from forerun.planner.contract import ColumnSpec
from tests.include.days.day_cases import DAY, NOW, DayCase
from tests.postgresql_server import Database
from tests.s3_servers import use_bucket

DAYS = [dt.date(2026, 3, 1), dt.date(2026, 3, 2)]
_NAMES = itertools.count(1)
ROWS = pa.table({"k": [1, 2], "v": ["a", None]})


@dataclass
class Place:
    """A sink, and how a reader who knows nothing of Forerun reads its table."""

    sink: Any
    read: Any

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, self.read()), key=repr)


@pytest.fixture(
    params=[
        "delta",
        "iceberg",
        "postgresql",
        pytest.param("delta in a bucket", marks=pytest.mark.s3),
        pytest.param("iceberg in a bucket", marks=pytest.mark.s3),
    ]
)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    root = f"file://{tmp_path}/lake"
    if "bucket" in request.param:
        root = use_bucket(request.getfixturevalue("versitygw_server"), monkeypatch) + "/lake"
    if "delta" in request.param:
        return _delta(f"{root}/daily")
    if "iceberg" in request.param:
        return _iceberg(tmp_path, monkeypatch, root)
    return _postgresql(request.getfixturevalue("warehouse"))


def _postgresql(warehouse: Database) -> Place:
    name = f"daily_{next(_NAMES)}"

    def read() -> list[tuple[Any, ...]]:
        with closing(warehouse.session()) as session, session.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {name}")
            return cursor.fetchall()

    return Place(PostgresqlTable(path=f"postgresql://warehouse/public.{name}"), read)


def _delta(path: str) -> Place:
    def read() -> list[tuple[Any, ...]]:
        options = {"AWS_ALLOW_HTTP": "true"} if path.startswith("s3") else None
        table = Delta(path, storage_options=options).to_pyarrow_table()
        return [tuple(row.values()) for row in table.to_pylist()]

    return Place(DeltaTable(path=path), read)


def _iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warehouse: str) -> Place:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", warehouse)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())

    def read() -> list[tuple[Any, ...]]:
        io = {"py-io-impl": "forerun.include.sources.tables.iceberg_io.StoreIO"}
        found = load_catalog("lake", **io).load_table("shop.daily").scan().to_arrow()
        return [tuple(row.values()) for row in found.to_pylist()]

    return Place(IcebergTable(name="lake.shop.daily"), read)


def said(day: int = 0, generation: int = 1, run: int = 2, **more: Any) -> DayRows:
    of = ReportDay(report="daily", day=DAYS[day], store="file:///store")
    version = DayVersion(generation=generation, run=run)
    given = {"attempt": "a1", "incomplete": (), "pins": ("p/1.json",)}
    return DayRows(**{"of": of, "version": version, **given, **more})


def held(*rows: tuple[Any, ...], day: int = 0) -> list[tuple[Any, ...]]:
    return [(*row, DAYS[day]) for row in rows]


def test_a_day_is_replaced_and_the_others_stay(place: Place) -> None:
    publish_rows(place.sink, said(), ROWS)
    publish_rows(place.sink, said(1), ROWS.slice(0, 1))
    assert place.rows() == sorted(held((1, "a"), (2, None)) + held((1, "a"), day=1), key=repr)
    publish_rows(place.sink, said(generation=2), ROWS.slice(1))
    assert place.rows() == sorted(held((2, None)) + held((1, "a"), day=1), key=repr)


def test_to_publish_once_more_changes_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_rows(place.sink, said(), ROWS)
    kind = type(open_sink(place.sink))
    monkeypatch.setattr(kind, "replace", None)  # is not called
    publish_rows(place.sink, said(), ROWS)
    assert place.rows() == held((1, "a"), (2, None))


def test_a_day_without_rows_takes_those_that_were_there(place: Place) -> None:
    publish_rows(place.sink, said(1), ROWS.slice(0, 0))
    assert open_sink(place.sink).published(said(1).of) == DayVersion(generation=1, run=2)
    publish_rows(place.sink, said(), ROWS)
    publish_rows(place.sink, said(generation=2), ROWS.slice(0, 0))
    assert place.rows() == []
    assert open_sink(place.sink).published(said().of) == DayVersion(generation=2, run=2)
    with pytest.raises(NotPublishedError, match="generation 1 is older"):
        publish_rows(place.sink, said(), ROWS)


def test_an_older_generation_never_comes_after_a_newer_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older one has looked before the newer one was there."""
    publish_rows(place.sink, said(1), ROWS)
    kind, published = type(open_sink(place.sink)), []
    looked = kind.published

    def look(self: Any, of: ReportDay) -> DayVersion | None:
        there = looked(self, of)
        if not published:
            published.append(1)
            publish_rows(place.sink, said(generation=2), ROWS.slice(1))
        return there

    monkeypatch.setattr(kind, "published", look)
    with pytest.raises(NotPublishedError, match="has generation 2"):
        publish_rows(place.sink, said(), ROWS)
    assert place.rows() == sorted(held((2, None)) + held((1, "a"), (2, None), day=1), key=repr)


def test_many_at_once_leave_the_newest_once(place: Place) -> None:
    publish_rows(place.sink, said(1), ROWS)
    errors: list[BaseException] = []

    def publish(generation: int) -> None:
        try:
            rows = pa.table({"k": [generation] * 3, "v": ["x"] * 3})
            publish_rows(place.sink, said(generation=generation), rows)
        except NotPublishedError:
            pass
        except BaseException as error:  # noqa: BLE001 - said below
            errors.append(error)

    each = [threading.Thread(target=publish, args=(n,)) for n in (1, 2, 3, 3)]
    for one in each:
        one.start()
    for one in each:
        one.join()
    assert not errors, errors
    assert [row for row in place.rows() if row[2] == DAYS[0]] == held(*[(3, "x")] * 3)


def test_types_are_those_of_the_result(place: Place) -> None:
    rows = pa.table({
        "i": pa.array([1, None], pa.int32()),
        "d": pa.array([Decimal("1.50"), None], pa.decimal128(12, 2)),
        "f": [0.5, None], "b": [True, None], "day": pa.array([DAYS[0], None], pa.date32()),
        "t": pa.array([dt.datetime(2026, 3, 1, 2, tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
        "n": pa.array([dt.datetime(2026, 3, 1, 2), None], pa.timestamp("us")),
    })  # fmt: skip
    publish_rows(place.sink, said(), rows)
    first, second = place.rows()
    assert first[1:5] == (Decimal("1.50"), 0.5, True, DAYS[0])
    assert first[5].astimezone(dt.UTC) == dt.datetime(2026, 3, 1, 2, tzinfo=dt.UTC)
    assert second[:-1] == (None,) * 7


def test_a_table_with_other_columns_is_not_touched(place: Place) -> None:
    publish_rows(place.sink, said(), ROWS)
    for other in ({"k": [1], "w": ["a"]}, {"k": ["text"], "v": ["a"]}):
        with pytest.raises(Exception, match="daily") as caught:
            publish_rows(place.sink, said(generation=2), pa.table(other))
        assert caught.value.code in ("sink", "source-service")
        assert place.rows() == held((1, "a"), (2, None))


def test_a_column_of_the_day_in_the_result_is_refused(place: Place) -> None:
    with pytest.raises(NotPublishedError, match="has the column ds"):
        publish_rows(place.sink, said(), pa.table({"DS": [1]}))


def test_a_report_publishes_into_the_table_and_the_store(place: Place, tmp_path: Path) -> None:
    case = DayCase(tmp_path, str(tmp_path / "store"), sink={"sink": place.sink})
    generations = []
    for trigger in ("first", "cleared"):
        case.deliver("1", (1, 2))
        generations.append(case.open(trigger))
        case.commit(case.prepare(generations[-1], 1))
        case.commit(case.prepare(generations[-1], 2))
    first = publish_result(case.day(generations[0]), now=NOW)
    assert [row[:2] for row in place.rows()] == [(1, 2)]
    assert publish_result(case.day(generations[0]), now=NOW) == first
    second = publish_result(case.day(generations[1]), now=NOW)
    assert (first.generation, second.generation) == (1, 2)
    assert read_pointer(case.store, "totals", DAY) == second
    with pytest.raises(NotPublishedError):
        publish_result(case.day(generations[0]), now=NOW)


def test_what_spark_alone_reads_does_not_go_into_a_table(place: Place, tmp_path: Path) -> None:
    """It would be there as a number."""

    class Waited(DayCase):
        def _write(self, *given: Any) -> ArtifactPartition:
            made = super()._write(*given)
            kinds = (made.columns[0], ColumnSpec(name="v", type="interval day to second"))
            return replace(made, columns=kinds)

    case = Waited(tmp_path, str(tmp_path / "store"), sink={"sink": place.sink})
    case.deliver("1", (1, 2))
    generation = case.open("first")
    case.commit(case.prepare(generation, 1))
    case.commit(case.prepare(generation, 2))
    with pytest.raises(NotPublishedError, match="the column v of the result is INTERVAL DAY TO"):
        publish_result(case.day(generation), now=NOW)


def test_a_table_that_was_lost_is_filled_again(tmp_path: Path) -> None:
    place = _delta(str(tmp_path / "lake" / "daily"))
    case = DayCase(tmp_path, str(tmp_path / "store"), sink={"sink": place.sink})
    case.deliver("1", (1, 2))
    generation = case.open("first")
    case.commit(case.prepare(generation, 1))
    case.commit(case.prepare(generation, 2))
    publish_result(case.day(generation), now=NOW)
    Path(tmp_path / "lake").rename(tmp_path / "gone")
    publish_result(case.day(generation), now=NOW)
    assert [row[:2] for row in place.rows()] == [(1, 2)]


def test_a_name_that_postgresql_would_cut_is_refused(warehouse: Database) -> None:
    """Such as that of a window without an alias."""
    place = _postgresql(warehouse)
    with pytest.raises(SinkError, match="a name of 64 bytes") as caught:
        publish_rows(place.sink, said(), pa.table({"k": [1], "ä" * 32: [1]}))
    assert "AS" in caught.value.hint
    publish_rows(place.sink, said(), pa.table({"k": [1], "v" * 63: [1]}))
    publish_rows(place.sink, said(generation=2), pa.table({"k": [2], "v" * 63: [1]}))
    assert place.rows() == held((2, 1))


def test_two_reports_do_not_share_days_of_a_table(warehouse: Database) -> None:
    place = _postgresql(warehouse)
    publish_rows(place.sink, said(), ROWS)
    other = said(of=replace(said().of, report="other"))
    with pytest.raises(SinkError, match="rows of 2026-03-01 of another report"):
        publish_rows(place.sink, other, ROWS)


def test_what_a_table_is_told_stands_in_it(place: Place, request: pytest.FixtureRequest) -> None:
    publish_rows(place.sink, said(incomplete=(("orders", "no marker"),)), ROWS)
    if isinstance(place.sink, DeltaTable):
        options = {"AWS_ALLOW_HTTP": "true"} if place.sink.path.startswith("s3") else None
        (newest, *_) = Delta(place.sink.path, storage_options=options).history()
        told: dict[str, Any] = newest
    elif isinstance(place.sink, IcebergTable):
        io = {"py-io-impl": "forerun.include.sources.tables.iceberg_io.StoreIO"}
        table = load_catalog("lake", **io).load_table("shop.daily")
        told = table.current_snapshot().summary.additional_properties
    else:
        warehouse = request.getfixturevalue("warehouse")
        with closing(warehouse.session()) as session, session.cursor() as cursor:
            cursor.execute("SELECT said::json FROM forerun_published WHERE relation = %s",
                           [place.sink.path.rpartition(".")[2]])  # fmt: skip
            told = cursor.fetchone()[0]
    assert told["forerun.complete"] == "false"
    assert told["forerun.pins"] == '["p/1.json"]'


def test_a_day_that_was_rolled_back_is_published_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _iceberg(tmp_path, monkeypatch, f"file://{tmp_path}/lake")
    publish_rows(place.sink, said(1), ROWS)
    table = load_catalog("lake").load_table("shop.daily")
    before = table.current_snapshot().snapshot_id
    publish_rows(place.sink, said(), ROWS)
    table.refresh()
    table.manage_snapshots().rollback_to_snapshot(before).commit()
    assert open_sink(place.sink).published(said().of) is None
    publish_rows(place.sink, said(), ROWS)
    assert place.rows() == sorted(
        held((1, "a"), (2, None)) + held((1, "a"), (2, None), day=1), key=repr
    )


EARLY = "early_{ds_nodash}"


def _on(place: Place, day: int = 0) -> list[tuple[Any, ...]] | None:
    """The rows of the branch of a day, for a reader who names it; None without one."""
    table = load_catalog("lake").load_table("shop.daily")
    branch = f"early_{DAYS[day]:%Y%m%d}"
    if branch not in table.refs():
        return None
    rows = table.scan().use_ref(branch).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def early(day: int = 0, **given: Any) -> DayRows:
    told = said(day, **given)
    return replace(told, of=replace(told.of, early=True))


@pytest.mark.parametrize("has_days", [False, True])
def test_early_results_are_on_a_branch_that_the_whole_day_takes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_days: bool
) -> None:
    place = _iceberg(tmp_path, monkeypatch, f"file://{tmp_path}/lake")
    sink = replace(place.sink, early_branch=EARLY)
    before = held((7, "z"), day=1) if has_days else []
    if has_days:
        publish_rows(sink, said(1), pa.table({"k": [7], "v": ["z"]}))
    publish_rows(sink, early(run=1), ROWS.slice(0, 1))
    assert place.rows() == before, "who reads the table sees whole days alone"
    assert _on(place) == sorted(before + held((1, "a")), key=repr)
    assert open_sink(sink).published(early().of) == DayVersion(generation=1, run=1)
    assert open_sink(sink).published(said().of) is None
    publish_rows(sink, early(run=2), ROWS)
    publish_rows(sink, early(run=2), ROWS)
    assert _on(place) == sorted(before + held((1, "a"), (2, None)), key=repr)
    with pytest.raises(NotPublishedError, match="has generation 1"):
        publish_rows(sink, early(run=1), ROWS)
    publish_rows(sink, early(1 if not has_days else 0, generation=2, run=1), ROWS)
    publish_rows(sink, said(run=3), ROWS.slice(1))
    assert place.rows() == sorted(before + held((2, None)), key=repr)
    assert _on(place) is None
    assert has_days or _on(place, 1) is not None, "the branch of another day stays"
    publish_rows(sink, said(run=3), ROWS.slice(1))
    assert place.rows() == sorted(before + held((2, None)), key=repr)


def test_early_results_and_days_at_once_leave_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _iceberg(tmp_path, monkeypatch, f"file://{tmp_path}/lake")
    sink = replace(place.sink, early_branch=EARLY)
    publish_rows(sink, said(1), ROWS)
    wrong: list[Exception] = []

    def put(rows: DayRows, data: pa.Table) -> None:
        try:
            publish_rows(sink, rows, data)
        except NotPublishedError:
            pass
        except Exception as error:  # noqa: BLE001 - told below
            wrong.append(error)

    tasks = [(early(run=1), ROWS), (early(run=2), ROWS.slice(1)), (said(run=3), ROWS.slice(0, 1)),
             (said(1, generation=2), ROWS.slice(1))]  # fmt: skip
    threads = [threading.Thread(target=put, args=one) for one in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert place.rows() == sorted(held((1, "a")) + held((2, None), day=1), key=repr)
    assert _on(place) is None


def test_an_early_result_that_began_before_the_day_was_published_does_not_come_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _iceberg(tmp_path, monkeypatch, f"file://{tmp_path}/lake")
    sink = replace(place.sink, early_branch=EARLY)
    publish_rows(sink, said(1), ROWS)
    late = open_sink(sink)
    publish_rows(sink, said(run=3), ROWS)
    whole = ROWS.append_column("ds", pa.array([DAYS[0]] * 2))
    assert not late.replace(early(run=1), whole), "the catalog refuses it"
    assert _on(place) is None


def test_a_report_with_early_results_publishes_them_on_branches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _iceberg(tmp_path, monkeypatch, f"file://{tmp_path}/lake")
    sink = replace(place.sink, early_branch=EARLY)
    case = DayCase(tmp_path, str(tmp_path / "store"), sink={"sink": sink}, results_at=(1,))
    generation = case.open()
    case.deliver("1", (1, 2))
    case.commit(case.prepare(generation, 1))
    first = publish_result(case.day(generation), now=NOW, run=1)
    assert first.early
    assert place.rows() == []
    assert [row[:2] for row in _on(place) or []] == [(1, 1)]
    load_catalog("lake").load_table("shop.daily").manage_snapshots().remove_branch(
        f"early_{DAY:%Y%m%d}"
    ).commit()
    publish_result(case.day(generation), now=NOW, run=1)
    assert [row[:2] for row in _on(place) or []] == [(1, 1)], "a branch that was lost is made again"
    case.deliver("2", (1, 3))
    case.commit(case.prepare(generation, 2))
    publish_result(case.day(generation), now=NOW)
    assert [row[:2] for row in place.rows()] == [(1, 2)]
    assert _on(place) is None


def test_a_branch_has_a_name_for_each_day() -> None:
    sink = IcebergTable(name="lake.shop.daily", early_branch="so-far_{ds}")
    assert sink.branch_on(DAYS[0]) == "so-far_2026-03-01"
    for wrong in ("early", "early {ds}", "{ds}{ds}", "{day}", "a/{ds}"):
        with pytest.raises(SpecError, match="the branch"):
            IcebergTable(name="lake.shop.daily", early_branch=wrong)


def test_names_are_checked_when_they_are_written() -> None:
    for wrong in (
        lambda: IcebergTable(name="daily"), lambda: PostgresqlTable(path="/lake/daily"),
        lambda: DeltaTable(path="daily"), lambda: DeltaTable(path="/lake/daily", column="a b"),
    ):  # fmt: skip
        with pytest.raises(SpecError):
            wrong()


@pytest.mark.parametrize("kind", ["delta", "iceberg", "postgresql"])
def test_a_sink_that_is_not_there_is_found_by_the_first_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lake").write_text("no folder")
    monkeypatch.setattr("forerun.include.machine.connections._KNOWN", {})
    monkeypatch.setenv("AIRFLOW_CONN_AWAY", "postgres://127.0.0.1:1/db")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    sinks = {
        "delta": DeltaTable(path=f"{tmp_path}/lake"),
        "iceberg": IcebergTable(name="nowhere.shop.daily"),
        "postgresql": PostgresqlTable(path="postgresql://away/public.daily"),
    }
    case = DayCase(tmp_path, str(tmp_path / "store"), sink={"sink": sinks[kind]})
    case.deliver("1", (1, 2))
    generation = case.open("first")
    with pytest.raises((SinkError, ServiceError)):
        case.prepare(generation, 1)
    case.prepare(generation, 2)  # the final run computes all the same
