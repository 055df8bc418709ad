"""JSON lines: what is not as declared is refused by file and line; days are those of Parquet."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from forerun.include.reports.spec import ClockTime, MarkerFile, SourceSpec
from forerun.include.sources.delivery import SourceChangedError, delivery, verify_pin
from forerun.include.sources.pins import SchemaDriftError, arrived_rows, pin_source
from forerun.include.sources.samples import draw
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.records import Pin
from forerun.include.stores.opening import open_store
from tests.oracles.values import Row
from tests.spark.lake import DAY, ENGINES, NOW, pinned, read
from tests.spark.places import FIRST, Place, check_repaired, found_repair, published

TYPES = {
    "k": "INT NOT NULL", "t": "STRING", "d": "DATE", "b": "BOOLEAN", "n": "DECIMAL(10,2)",
    "f": "DOUBLE", "at": "TIMESTAMP", "l": "ARRAY<DATE>", "s": "STRUCT<x: BIGINT, y: STRING>",
}  # fmt: skip
GOOD = """\
{"k": 1, "t": "a,\\"x\\" \\u00fc} null", "d": "2026-01-02", "b": true, "n": 1.5, "f": 1.5}
{"k": -7, "at": "2026-01-02T03:04:05.5+02:00", "l": ["2026-01-03", null], "s": {"x": 3}}

  {"k": 3, "t": null, "d": "2026-01-03", "b": false, "n": "-2.25", "f": -3e5, "l": []}"""
VALUES: list[Row] = [
    (1, 'a,"x" ü} null', dt.date(2026, 1, 2), True, Decimal("1.50"), 1.5, None, None, None),
    (-7, None, None, None, None, None, dt.datetime(2026, 1, 2, 1, 4, 5, 500000),
     [dt.date(2026, 1, 3), None], (3, None)),
    (3, None, dt.date(2026, 1, 3), False, Decimal("-2.25"), -3e5, None, [], None),
]  # fmt: skip


def source(folder: Path, types: dict[str, str] | None = None, **more: Any) -> SourceSpec:
    return SourceSpec(
        name="t", path=str(folder / "in"), columns=types or TYPES, format="json",
        complete_when=ClockTime(), **more,
    )  # fmt: skip


def deliver(folder: Path, text: str | bytes, name: str = "1.jsonl") -> Path:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / "in" / name


def pin_of(folder: Path, text: str | bytes, **more: Any) -> Pin:
    deliver(folder, text)
    return pinned(folder, source(folder, **more))


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_read_the_values(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pin = pin_of(tmp_path, GOOD)
    verify_pin(pin)
    found = read(request.getfixturevalue(engine), source(tmp_path), pin)
    assert found == sorted(VALUES, key=repr)


def test_what_is_known_of_values_and_a_sample_come_from_the_copy(tmp_path: Path) -> None:
    (file,) = pin_of(tmp_path, GOOD).files
    assert (file.rows, file.origin) == (3, f"file://{tmp_path}/in/1.jsonl")
    known = {c.name: (c.minimum, c.maximum, c.nulls) for c in file.columns}
    assert (known["k"], known["n"]) == (("-7", "3", 0), ("-2.25", "1.50", 1))
    assert draw((file,), ["k"], 24, source_format="json").values
    assert arrived_rows(source(tmp_path), DAY) == 3


def test_files_are_copied_once_and_folders_may_name_columns(tmp_path: Path, sail: Any) -> None:
    spec = source(tmp_path, {"k": "BIGINT", "c": "STRING"}, partitioned_by=("c",))
    for at, name in enumerate(("c=a/1.jsonl", "c=b/2.json.gz")):
        text = f'{{"k": {at}}}\n'.encode()
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    first = pinned(tmp_path, spec)
    assert read(sail, spec, first) == [(0, "a"), (1, "b")]
    deliver(tmp_path, '{"k": 5}\n', "c=a/3.jsonl")
    second = pinned(tmp_path, spec)
    (new,) = delivery(second, first)
    assert (new.rows, new.constants) == (1, (("c", "a"),))
    assert len(list((tmp_path / "store" / "spools").rglob("*.parquet"))) == 3


def test_a_file_that_is_written_again_is_noticed_and_a_pin_stays_as_it_was(
    tmp_path: Path, sail: Any
) -> None:
    before, path = pin_of(tmp_path, GOOD), tmp_path / "in" / "1.jsonl"
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"-7", b"-8"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(SourceChangedError, match=r"in/1\.jsonl was written again since"):
        delivery(pinned(tmp_path, source(tmp_path)), before)
    verify_pin(before)
    assert read(sail, source(tmp_path), before) == sorted(VALUES, key=repr)
    path.unlink()
    deliver(tmp_path, "", "2.jsonl")
    with pytest.raises(SourceChangedError, match=r"in/1\.jsonl was there at the last committed"):
        delivery(pinned(tmp_path, source(tmp_path)), before)


def test_lines_in_a_bucket_are_copied_into_a_bucket(store_uri: str) -> None:
    lake, store = open_store(store_uri), open_store(f"{store_uri}/state")
    lake.put("in/1.jsonl", GOOD.encode())
    lake.put("in/_SUCCESS", b"done")
    spec = SourceSpec(
        name="t", path=f"{store_uri}/in", columns=TYPES, format="json", complete_when=MarkerFile()
    )
    before = pin_source(store, spec, DAY, NOW)[1]
    verify_pin(before)
    lake.put("in/2.jsonl", GOOD.encode())
    now = pin_source(store, spec, DAY, NOW)[1]
    verify_pin(now)
    assert [file.rows for file in delivery(now, before)] == [3]
    assert {file.origin for file in now.files} == {lake.uri("in/1.jsonl"), lake.uri("in/2.jsonl")}
    store.delete(store.list("spools")[0].key)
    store.delete(store.list("spools")[0].key)
    with pytest.raises(SourceChangedError, match=r"spools/.* vanished after it was pinned"):
        verify_pin(now)
    again = pin_source(store, spec, DAY, NOW)[1]
    verify_pin(again)
    assert again.rows == 6


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"k": "1"}', r"column k INT: Column\(/k\) changed from number to string"),
        ('{"k": 1.0}', "couldn't parse:1.0"),
        ('{"k": 2147483648}', "couldn't parse:2147483648"),
        ('{"k": 1, "d": "2026-02-30"}', "column d DATE: .*2026-02-30"),
        ('{"k": 1, "b": "true"}', r"Column\(/b\) changed from boolean to string"),
        ('{"k": 1, "n": 1.505}', r"column n DECIMAL\(10,2\): .*1.505 requires scale 3"),
        ('{"k": 1, "at": "2026-01-02 03:04:05"}', "column at TIMESTAMP: .*expected a zone offset"),
        ('{"k": 1, "s": {"z": 1}}', "unexpected field"),
        ('{"k": 1, "K": 1}', "the key 'K' is not declared"),
        ('{"k": 1, "k": 2}', "specified twice"),
        ('{"k": 1', "Missing a comma or '}'"),
        ('{"k": 1} {"k": 2}', "2 objects in 1 lines"),
        ('{"k": 1} null', "2 objects in 1 lines"),
        ("null", "a line that is no object"),
        ("[1]", "a line that is no object"),
        ('{"k":\n1}', "Missing|Invalid"),
        (b'{"k": 1, "t": "\xff"}', "can't decode byte 0xff"),
        ("\ufeff{}", "a line that is no object"),
    ],
)
def test_a_line_that_is_not_as_declared_is_refused_by_file_and_line(
    tmp_path: Path, line: str | bytes, why: str
) -> None:
    text = line.encode() if isinstance(line, str) else line
    with pytest.raises(SourceFileError, match=rf"in/1\.jsonl, line 5[:,] .*({why})") as caught:
        pin_of(tmp_path, GOOD.encode() + b"\n" + text + b'\n{"k": 9}\n')
    assert caught.value.hint


def test_lines_of_many_blocks_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forerun.include.sources.texts.json_format._BLOCK", 30)
    rows = [json.dumps({"k": number, "t": "x" * number}) for number in range(60)]
    assert pin_of(tmp_path, "\n".join(rows)).rows == 60
    with pytest.raises(SourceFileError, match=r"1\.jsonl, line 41: "):
        pin_of(tmp_path, "\n".join([*rows[:40], "nothing", *rows[40:]]))


def test_what_is_missing_or_not_declared(tmp_path: Path) -> None:
    assert pin_of(tmp_path, "").rows == 0
    with pytest.raises(SchemaDriftError, match="column k: expected INT without NULL, found 1 NULL"):
        pin_of(tmp_path, "{}\n")
    with pytest.raises(SourceFileError, match="line 1: the key 'new' is not declared"):
        pin_of(tmp_path, '{"k": 1, "new": 2}\n')
    assert pin_of(tmp_path, '{"k": 1, "new": 2}\n', extra_columns="ignore").rows == 1
    with pytest.raises(SourceFileError, match=r"column k: JSON lines have no values of type MAP"):
        pin_of(tmp_path, "{}\n", types={"k": "MAP<STRING, INT>"})
    whole = gzip.compress(GOOD.encode())
    for broken in (whole[:40], whole[:12] + b"\xff" * 20 + whole[32:], b"plain"):
        deliver(tmp_path, broken, "2.jsonl.gz")
        with pytest.raises(SourceFileError, match=r"2\.jsonl\.gz is no readable gzip"):
            pinned(tmp_path, source(tmp_path, extra_columns="ignore"))


class JsonPlace(Place):
    """Deliveries as files of JSON lines; all else is as it is."""

    def deliver(self, number: int, sales: list[Row], returns: list[Row]) -> None:
        for name, names, rows in (
            ("sales", ("o", "cat", "price"), sales), ("returns", ("o", "cost"), returns)
        ):  # fmt: skip
            lines = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
            open_store(self.delivery(name)).put(f"{number}.jsonl", "\n".join(lines).encode())
            self.delivered.setdefault(name, []).extend(rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_day_of_json_is_that_of_the_plain_query(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = JsonPlace(tmp_path, request.getfixturevalue(engine))
    place.changes = {f"sold.{name}": {"format": "json"} for name in ("sales", "returns")}
    at = place.open("sold", FIRST)
    for run, rows in enumerate(
        (
            ([(1, "a", 5), (2, "b", 7), (3, "a", -1), (None, None, 2)], [(1, 10), (2, 20)]),
            ([(7, "a", 3), (2, "d", 4)], [(7, 2), (1, 1), (None, 5)]),
        ),
        start=1,
    ):
        place.deliver(run, *rows)
        commit = place.run(at, FIRST, run, method="progressive")
    place.check(commit, FIRST)
    assert commit.metrics.state_rows_read


@pytest.mark.parametrize("lies_there", [True, False])
def test_a_corrected_file_of_a_published_day_is_repaired_from_its_copy(
    lies_there: bool, sail: Any, tmp_path: Path
) -> None:
    """What the file held before lies in the store, so that it can be taken back."""
    place = JsonPlace(tmp_path, sail)
    published(place, format="json")
    first = Path(place.delivery("sales")) / "1.jsonl"
    new: list[Row] = [(1, "a", 6), (2, "b", 7)] if lies_there else []
    if lies_there:
        rows = (dict(zip(("o", "cat", "price"), row, strict=True)) for row in new)
        first.write_text("\n".join(map(json.dumps, rows)))
    else:
        first.unlink()
    place.delivered["sales"] = [*new, (1, "a", 5), (2, "b", 7), (2, "c", 1)]
    repair = found_repair(place)
    assert {change.uri for change in repair.corrections or ()} == {f"file://{first}"}
    check_repaired(place, repair)
