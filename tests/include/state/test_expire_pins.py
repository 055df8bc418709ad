"""Pins of days without any state go, all others stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from forerun.cli.app import run
from forerun.include.state import expire_pins as module
from forerun.include.state.expire_pins import expire_pins
from forerun.include.state.layout import Generation, pin_key
from forerun.include.stores.file_store import FileStore

DAYS = [f"2026-01-{day:02}" for day in range(1, 32)]
OLDEST = DAYS[0]


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    made = FileStore(tmp_path)
    for day in DAYS:
        made.put(pin_key("orders-1", day, 1), b"whole")
        made.put(pin_key("orders-1", day, 2), b"short")
    age(tmp_path)
    return made


def age(folder: Path) -> None:
    for path in folder.rglob("*.json"):
        os.utime(path, (1e9, 1e9))


def pins(store: FileStore, day: str) -> int:
    return len(store.list(f"sources/orders-1/{day}/pins"))


def test_the_newest_days_stay(store: FileStore) -> None:
    (found,) = expire_pins(store, 28, dry_run=True)
    assert (found.source, found.days, found.gone.files, found.gone.bytes) == ("orders-1", 3, 6, 30)
    assert [pins(store, day) for day in DAYS] == [2] * 31
    assert expire_pins(store, 28) == [found]
    assert [pins(store, day) for day in DAYS] == [0] * 3 + [2] * 28
    assert expire_pins(store, 28) == []


def test_a_day_that_a_report_has_state_of_stays(store: FileStore) -> None:
    store.put(Generation("totals", OLDEST, "1").record, b"{}")
    (found,) = expire_pins(store, 29)
    assert found.days == 1
    assert [pins(store, day) for day in DAYS[:3]] == [2, 0, 2]


def test_a_day_that_was_pinned_today_stays(store: FileStore) -> None:
    store.put(pin_key("orders-1", OLDEST, 3), b"now")
    assert expire_pins(store, 30) == []
    assert pins(store, OLDEST) == 3


def test_pins_are_put_back_for_who_opens_their_day_meanwhile(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [set(), {OLDEST}]
    monkeypatch.setattr(module, "_days_of_reports", lambda _: found.pop(0))
    assert expire_pins(store, 30) == []
    assert store.get(pin_key("orders-1", OLDEST, 1)) == b"whole"
    assert store.get(pin_key("orders-1", OLDEST, 2)) == b"short"


def test_the_command_says_what_it_frees(
    store: FileStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["expire-pins", "--store", str(tmp_path), "--days", "30", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["sources"] == [{"source": "orders-1", "days": 1, "files": 2, "bytes": 10}]
    assert run(["expire-pins", "--store", str(tmp_path), "--days", "28"]) == 0
    assert "orders-1: deleted the pins of 2 days, 4 files, 20 bytes" in capsys.readouterr().out
    assert run(["expire-pins", "--store", str(tmp_path), "--days", "27"]) == 2
    assert pins(store, DAYS[3]) == 2
