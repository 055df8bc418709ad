"""Bytes that older versions have stored are read for ever.

The files in ``tests/goldens/v1`` were written by the last version without checksums, those in
``v2`` by the first one with them. They are never written again: a change that cannot read one of
them breaks the stores that people have.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forerun.include.reports.spec import decode_report, encode_report
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.stores.file_store import FileStore
from forerun.planner.contract import decode_plan
from forerun.planner.contract import seal as seal_module
from forerun.planner.contract.seal import unseal
from forerun.planner.errors import ContractError
from forerun.planner.version import VERSION
from tests.airflow.reports import sales_report
from tests.include.state.stored_kinds import GOLDENS, KINDS, goldens, read, written

SEALED = [(kind, data) for form, kind, data in goldens() if form == "v2"]
OLD = [(kind, data) for form, kind, data in goldens() if form == "v1"]


def test_every_kind_has_its_golden_file():
    assert sorted(kind for kind, _ in SEALED) == sorted(KINDS)
    assert len(OLD) == 8


@pytest.mark.parametrize(("kind", "data"), OLD, ids=[kind for kind, _ in OLD])
def test_what_was_written_without_a_checksum_is_read(kind: str, data: bytes):
    document = read(kind, data)
    again = written(document)
    assert read(kind, again) == document
    # All that was said is said still: nothing is dropped on the way in.
    now, sealed = unseal(again, kind)
    assert sealed
    assert _without_new(now, json.loads(data)) == json.loads(data) | _header(kind)
    assert document == read(kind, (GOLDENS / "v2" / f"{kind}.json").read_bytes())


@pytest.mark.parametrize(("kind", "data"), SEALED, ids=[kind for kind, _ in SEALED])
def test_what_was_written_with_a_checksum_is_read(kind: str, data: bytes):
    document = read(kind, data)
    assert read(kind, written(document)) == document
    first = "0.2.0" if kind in ("CheckFigures", "Inherited") else "0.1.0"
    assert json.loads(data)["forerun"] == first, "that of the first version which wrote it"
    assert json.loads(written(document))["forerun"] == VERSION


@pytest.mark.parametrize(("kind", "data"), SEALED, ids=[kind for kind, _ in SEALED])
def test_what_a_newer_version_has_written_is_refused_by_its_name(
    kind: str, data: bytes, monkeypatch: pytest.MonkeyPatch
):
    """As it comes from a machine that runs another version of the package."""
    body, _ = unseal(data, kind)
    monkeypatch.setattr(seal_module, "VERSION", "99.1.0")
    newer = seal_module.seal({**body, "of_tomorrow": 1})
    monkeypatch.undo()
    with pytest.raises(ContractError, match=rf"of_tomorrow.*99\.1\.0 .*and this is {VERSION}"):
        read(kind, newer)


def _header(kind: str) -> dict[str, object]:
    return {} if kind == "Plan" else {"record_version": 2}


def _without_new(now: object, then: object) -> object:
    """``now`` without the fields, at any depth, that ``then`` did not have."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {
            name: _without_new(value, then[name]) for name, value in now.items() if name in then
        }
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [_without_new(mine, old) for mine, old in zip(now, then, strict=True)]
    return now


def test_a_plan_that_reads_what_another_report_kept_is_shown_and_not_executed(tmp_path: Path):
    """Former versions made such plans; the golden one is. In Airflow the run is planned again."""
    key = "reports/revenue/2026-03-01/1/plans/run-1-0a1b2c.json"
    store = FileStore(tmp_path)
    store.put(key, (GOLDENS / "v2" / "Plan.json").read_bytes())
    assert decode_plan(store.get(key)).shared
    with pytest.raises(ContractError, match=r"reads what report \w+ kept") as caught:
        StoredPlan.read(store.uri(key))
    assert "Plan the run again" in str(caught.value)


def test_a_report_of_a_former_version_that_named_a_group_to_borrow_in_is_read():
    spec = sales_report()
    record = json.loads(encode_report(spec)) | {"share": "sales"}
    record.pop("sha256", None)
    assert decode_report(json.dumps(record)) == spec
