"""Event logs of applications that are not ours; ``event_log.jsonl`` is one that Spark wrote."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pytest

from forerun.include.machine.event_files import EventFiles, EventLogError, find_event_files
from forerun.include.machine.past_queries import PastApplication, read_past
from tests.include.machine.scrubbed_log import LOG, STARTED
from tests.spark.past_application import TEXT


def read(path: Path) -> PastApplication:
    (log,) = find_event_files(path)
    return read_past(log)


@pytest.fixture(scope="module")
def whole() -> PastApplication:
    return read(LOG)


def test_a_statement_has_what_it_read_took_and_is_called(whole: PastApplication):
    assert (whole.name, whole.damaged, whole.cut_off, whole.ended) == ("nightly", 0, "", True)
    described, created, unnamed = whole.queries
    assert described.sql == created.sql == TEXT
    assert created.called == f"CREATE TABLE t AS {TEXT}"
    assert described.shape == created.shape
    assert unnamed.sql == ""
    assert unnamed.called.startswith("collect at ")
    for query in whole.queries:
        ((place, size),) = query.tables
        assert place == "file:/lake/orders"
        assert size > 1000
        assert query.cpu_s >= query.reading_s > 0
        assert STARTED < query.started < query.ended


def test_a_nested_execution_belongs_to_the_statement(whole: PastApplication):
    """CREATE TABLE executes its query within its own execution, which reads nothing."""
    assert len(whole.queries) == 3


def test_the_fixture_says_nothing_of_the_machine_that_made_it():
    text = LOG.read_text()
    assert len(text) < 60_000
    assert not re.search(r"/(?:tmp|home|usr|var)/|[\"/]root[\"/]|\d+\.\d+\.\d+\.\d+|\"Host\"", text)


def lz4_blocks(data: bytes) -> bytes:
    """Data as Spark's lz4 streams have it: in blocks, the second one stored as it is, the last one
    empty."""
    half = len(data) // 2
    packed = pa.Codec("lz4_raw").compress(data[:half], asbytes=True)
    blocks = [(0x25, half, packed), (0x15, len(data) - half, data[half:]), (0x15, 0, b"")]
    return b"".join(
        b"LZ4Block" + bytes([token]) + len(part).to_bytes(4, "little")
        + size.to_bytes(4, "little") + bytes(4) + part
        for token, size, part in blocks
    )  # fmt: skip


PACKED = {
    "app.zstd": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    "app.gz": gzip.compress,
    "app.lz4.inprogress": lz4_blocks,
    "app_1.2": lambda data: data,
}


@pytest.mark.parametrize("name", sorted(PACKED))
def test_a_log_reads_the_same_however_it_is_packed(
    whole: PastApplication, tmp_path: Path, name: str
):
    (tmp_path / name).write_bytes(PACKED[name](LOG.read_bytes()))
    assert read(tmp_path) == whole


@pytest.mark.parametrize("name", sorted(PACKED))
def test_what_comes_before_a_cut_is_read(tmp_path: Path, name: str):
    data = PACKED[name](LOG.read_bytes())
    (tmp_path / name).write_bytes(data[: -len(data) // 20])
    found = read(tmp_path)
    assert not found.ended
    assert found.damaged + bool(found.cut_off) > 0
    if name in ("app.lz4.inprogress", "app_1.2"):  # the others are one block, which is cut
        assert found.queries[0].sql == TEXT


def test_a_rolling_log_is_read_in_order_from_what_was_compacted(
    whole: PastApplication, tmp_path: Path
):
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    lines = LOG.read_text().splitlines(keepends=True)
    (folder / "events_1_app").write_text("this was compacted\n")
    (folder / "events_2_app.compact").write_text("".join(lines[:5]))
    (folder / "events_2_app").write_text("so was this\n")
    (folder / "events_3_app").write_text("".join(lines[5:9]))
    (folder / "events_10_app").write_text("".join(lines[9:]))
    (folder / "appstatus_app").write_text("")
    for place in (tmp_path, folder):
        (log,) = find_event_files(place)
        assert read_past(log) == whole


def test_damaged_lines_are_counted_and_the_rest_counts(whole: PastApplication, tmp_path: Path):
    lines = LOG.read_text().splitlines()
    damage = ["rubbish", lines[3][:-9], '{"Event":"SparkListenerTaskEnd"}', '{"Event":"x"']
    damage += ['{"Event":"SparkListenerJobStart","Stage IDs":7}', "[" * 5000]
    (tmp_path / "app").write_text("\n".join([*lines[:2], *damage, "", *lines[2:]]))
    found = read(tmp_path)
    assert found.damaged == len(damage) - 1  # a task without figures is none
    assert found.queries == whole.queries


def test_a_place_without_a_log_is_an_error_that_says_where_they_are(tmp_path: Path):
    with pytest.raises(EventLogError, match=r"spark\.eventLog\.dir"):
        find_event_files(tmp_path)
    with pytest.raises(EventLogError, match="there is no"):
        find_event_files(tmp_path / "none")


def test_what_cannot_be_unpacked_is_named(tmp_path: Path):
    (tmp_path / "app.snappy").write_bytes(b"\x82SNAPPY\x00")
    (tmp_path / "app.lz4").write_bytes(b"LZ4Block" + b"\xff" * 20)
    for log in find_event_files(tmp_path):
        assert isinstance(log, EventFiles)
        assert read_past(log).cut_off.startswith(str(tmp_path / "app."))
