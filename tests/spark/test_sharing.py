"""Two reports of one day: what one has kept, the other one borrows, over the same files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.runs import borrowed_views as sharing
from forerun.include.runs import prepare as days
from forerun.include.runs.borrowed_views import find_lost
from forerun.include.state.borrowed import BorrowedLostError
from forerun.include.state.commits import read_commit
from forerun.include.state.expire import Retention, expire
from forerun.include.state.layout import Generation
from forerun.include.state.opening import open_store
from forerun.include.state.records import Manifest, decode
from forerun.planner.contract import FamilyInput, SourceInput
from forerun.planner.explain.tree import render
from forerun.spark_jobs.engines.sail import SailEngine
from tests.include.days.day_cases import later
from tests.spark.places import FIRST, Place

SECOND = """
SELECT max(s.price) AS price, s.cat, min(r.cost) AS least, count(*) AS n
FROM sales s JOIN returns r ON s.o = r.o WHERE s.price > 0 GROUP BY s.cat
"""
ORPHANS = """
SELECT s.cat, count(*) AS n, sum(r.cost) AS cost
FROM sales s LEFT JOIN returns r ON s.o = r.o WHERE s.price > 0 GROUP BY s.cat
"""


@pytest.fixture
def place(tmp_path: Path, sail: SailEngine) -> Place:
    place = Place(tmp_path, sail)
    place.deliver(
        1,
        [(1, "a", 5), (2, "b", 7), (3, "a", -1), (None, "b", 2), (5, None, 8), (2, "b", 7)],
        [(1, 10), (2, 20), (None, 3), (9, 1), (2, 4), (5, None)],
    )
    return place


@pytest.fixture
def first(place: Place) -> Generation:
    """A report that has kept something in its early run."""
    at = place.open("first", FIRST)
    commit = place.run(at, FIRST, 1)
    assert {a.family for a in commit.artifacts}
    return at


def reads(prepared: days.PreparedRun) -> Iterator[tuple[str, str]]:
    for stage in prepared.result.plan.run.stages:
        for given in stage.inputs:
            if isinstance(given, SourceInput):
                yield "source", given.source
            elif isinstance(given, FamilyInput):
                yield "family", given.family


def shared(prepared: days.PreparedRun) -> set[str]:
    return {origin.report for origin in prepared.result.plan.shared}


def test_what_another_report_keeps_is_read_and_no_file_of_a_source(
    place: Place, first: Generation
) -> None:
    at = place.open("second", SECOND)
    prepared = place.plan(at, SECOND, 2)
    assert shared(prepared) == {"first"}
    names = {origin.family for origin in prepared.result.plan.shared}
    assert set(reads(prepared)) == {("family", name) for name in names}
    commit = place.do(prepared)
    place.check(commit, SECOND)
    assert commit.metrics.source_rows_read == 0
    assert commit.metrics.state_rows_read > 0
    assert commit.artifacts == ()
    text = render(prepared.result)
    assert "kept by other reports over the same files, and read:" in text
    assert "from report first, run 1" in text


def test_it_is_cheaper_than_without(place: Place, first: Generation) -> None:
    at = place.open("second", SECOND)
    alone = place.plan(at, SECOND, 2, share=False)
    prepared = place.plan(at, SECOND, 2)
    assert prepared.result.plan.estimated_cost < 0.9 * alone.result.plan.estimated_cost
    assert shared(alone) == set()
    assert {kind for kind, _ in reads(alone)} == {"source"}


def test_rows_that_came_since_are_not_the_same_data(place: Place, first: Generation) -> None:
    place.deliver(2, [(7, "c", 3)], [(7, 2), (1, 1)])
    at = place.open("second", SECOND)
    prepared = place.plan(at, SECOND, 2)
    assert shared(prepared) == set()
    place.check(place.do(prepared), SECOND)


def test_of_one_source_that_is_the_same_the_families_are_read(
    place: Place, first: Generation
) -> None:
    """Something came of one table: what is kept of the other one alone is still right."""
    folder = place.folder / "in" / "returns"
    table = pa.table({"o": pa.array([1], pa.int64()), "cost": pa.array([90], pa.int64())})
    pq.write_table(table, folder / "2.parquet")
    place.delivered["returns"].append((1, 90))
    at = place.open("second", SECOND)
    prepared = place.plan(at, SECOND, 2)
    found = {f.id: f.sources for f in prepared.result.plan.families}
    origins = {origin.family for origin in prepared.result.plan.shared}
    assert {found[name] for name in origins} == {("sales",)}
    assert {name for kind, name in reads(prepared) if kind == "source"} == {"returns"}
    place.check(place.do(prepared), SECOND)


@pytest.mark.parametrize(
    ("edit", "sources"),
    [
        (("s.price > 0", "s.price > 1"), {("returns",)}),
        (("s.o = r.o", "s.o = r.cost"), {("sales",)}),
        (("max(s.price)", "max(s.price + 1)"), {("sales",), ("returns",)}),
    ],
)
def test_only_equal_parts_of_a_query_are_taken(
    place: Place, first: Generation, edit: tuple[str, str], sources: set[tuple[str, ...]]
) -> None:
    sql = SECOND.replace(*edit)
    prepared = place.plan(place.open("second", sql), sql, 2)
    origins = {origin.family for origin in prepared.result.plan.shared}
    assert {f.sources for f in prepared.result.plan.families if f.id in origins} == sources
    commit = place.do(prepared)
    if "r.cost WHERE" not in sql:
        place.check(commit, sql)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"first": {"share": ""}}, id="not offered"),
        pytest.param({"second": {"share": ""}}, id="not wanted"),
        pytest.param({"second": {"share": "others"}}, id="of another group"),
        pytest.param(
            {f"second.{t}": {"key": ("o",)} for t in ("sales", "returns")}, id="another key"
        ),
        pytest.param(
            {f"second.{t}": {"format": "parquet", "key": ()} for t in ("sales", "returns")},
            id="the same",
        ),
    ],
)
def test_reports_have_to_agree(place: Place, changes: dict[str, dict[str, object]]) -> None:
    place.changes = changes
    place.run(place.open("first", FIRST), FIRST, 1)
    prepared = place.plan(place.open("second", SECOND), SECOND, 2)
    same = any("format" in change for change in changes.values())
    assert shared(prepared) == ({"first"} if same else set())


def test_the_base_of_a_run_may_be_what_was_the_same(place: Place, first: Generation) -> None:
    """Both reports read the same first delivery. Later one knows what the other kept of it, as it
    was then; and the result is right whatever of it is used."""
    at = place.open("second", SECOND)
    place.run(at, SECOND, 1, method="progressive", share=False)
    place.deliver(2, [(7, "c", 3), (8, "a", 4)], [(7, 2), (1, 1)])
    manifest_key = at.manifest(2)
    prepared = place.plan(at, SECOND, 2)
    manifest = decode(Manifest, open_store(place.uri).get(manifest_key), manifest_key)
    assert {one.run for one in sharing.find_borrowed_views(open_store(place.uri), manifest)} == {1}
    place.check(place.do(prepared), SECOND)


def test_an_older_generation_is_not_taken(place: Place, first: Generation) -> None:
    place.open("first", FIRST, "cleared")
    prepared = place.plan(place.open("second", SECOND), SECOND, 2)
    assert shared(prepared) == set()


def test_a_report_takes_nothing_of_itself(place: Place, first: Generation) -> None:
    again = place.open("first", FIRST, "cleared")
    assert shared(place.plan(again, FIRST, 2)) == set()


def test_a_batch_run_is_the_plain_query(place: Place, first: Generation) -> None:
    prepared = place.plan(place.open("second", SECOND), SECOND, 2, method="batch")
    assert prepared.result.plan.method == "batch"
    assert shared(prepared) == set()


def _delete(place: Place, first: Generation) -> None:
    shutil.rmtree(Path(place.uri) / first.artifacts)


def _flip(place: Place, first: Generation) -> None:
    for path in (Path(place.uri) / first.artifacts).rglob("*.parquet"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))


def _stray(place: Place, first: Generation) -> None:
    for path in list((Path(place.uri) / first.artifacts).rglob("*.parquet")):
        shutil.copy(path, path.with_name(f"copy-{path.name}"))


def _expired(place: Place, first: Generation) -> None:
    with pytest.MonkeyPatch.context() as patched:
        later(patched, days=9)
        assert expire(open_store(place.uri), "first", Retention(days=0)).files


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (_delete, "but is gone"),
        (_flip, "has other content"),
        (_stray, "the commit does not name it"),
        (_expired, "is missing or names another run"),
    ],
)
def test_what_is_gone_or_broken_by_then_is_noticed_and_the_run_planned_without(
    place: Place, first: Generation, damage, why: str
) -> None:
    at = place.open("second", SECOND)
    prepared = place.plan(at, SECOND, 2)
    uri = f"{open_store(place.uri).root}/{prepared.plan_key}"
    assert find_lost(uri) is None
    damage(place, first)
    with pytest.raises(BorrowedLostError, match=f"what report first keeps .*{why}") as caught:
        place.do(prepared)
    assert "Plan the run again without it" in str(caught.value)
    assert read_commit(open_store(place.uri), at, 2) is None
    found = find_lost(uri)
    assert found is not None
    assert found.message == caught.value.message
    again = place.plan(at, SECOND, 2, share=False)
    assert shared(again) == set()
    place.check(place.do(again, "a2"), SECOND)


def test_what_is_gone_already_is_not_planned_with(place: Place, first: Generation, caplog) -> None:
    _delete(place, first)
    prepared = place.plan(place.open("second", SECOND), SECOND, 2)
    assert shared(prepared) == set()
    assert "passed over: files of reports/first/" in caplog.text
    place.check(place.do(prepared), SECOND)


def test_clean_up_takes_the_notes_along(place: Place, first: Generation) -> None:
    store = open_store(place.uri)
    notes = [file.key for file in store.list("sources") if "/kept/" in file.key]
    assert notes
    _expired(place, first)
    assert not [file.key for file in store.list("sources") if "/kept/" in file.key]
    assert shared(place.plan(place.open("second", SECOND), SECOND, 2)) == set()


def test_a_look_reads_a_bounded_number_of_notes(
    place: Place, first: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place.open("second", SECOND)
    place.plan(at, SECOND, 2)
    store = open_store(place.uri)
    manifest = decode(Manifest, store.get(at.manifest(2)), at.manifest(2))
    keys = [file.key for file in store.list("sources")]
    (note,) = (key for key in keys if "/kept/" in key and "/sales-" in key)
    for number in range(40):
        text = store.get(note).decode().replace('"report": "first"', f'"report": "other{number}"')
        store.put(note.replace("first", f"other{number}"), text.encode())
    read = []
    real = type(store).get

    def counted(self: object, key: str) -> bytes:
        read.append(key)
        return real(self, key)

    monkeypatch.setattr(type(store), "get", counted)
    monkeypatch.setattr(sharing, "MOST_NOTES", 5)
    sharing.find_borrowed_views(store, manifest)
    assert len([key for key in read if "/kept/" in key]) <= 2 * 5


def test_a_note_of_another_version_is_passed_over(place: Place, first: Generation, caplog) -> None:
    store = open_store(place.uri)
    for file in store.list("sources"):
        if "/kept/" in file.key:
            store.put(file.key, b'{"record": "Offer", "record_version": 99}')
    prepared = place.plan(place.open("second", SECOND), SECOND, 2)
    assert shared(prepared) == set()
    assert "passed over" in caplog.text


def test_families_with_weights_are_read_too(place: Place) -> None:
    """A left join takes rows back, so what is kept of it has weights and is added up first."""
    place.deliver(2, [(4, "c", 3)], [(4, 2)])
    one = place.open("first", ORPHANS)
    place.run(one, ORPHANS, 1, method="progressive")
    place.deliver(3, [(9, "c", 3), (11, "a", 4)], [(3, 2), (1, 1), (11, 6)])
    commit = place.run(one, ORPHANS, 2, method="progressive")
    place.check(commit, ORPHANS)
    prepared = place.plan(place.open("second", ORPHANS), ORPHANS, 2)
    assert shared(prepared) == {"first"}
    place.check(place.do(prepared), ORPHANS)
