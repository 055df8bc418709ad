"""Records to JSON and back: nothing is lost, nothing unknown is accepted."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forerun.include.reports.expectations import expect
from forerun.include.state import ledger_entry, pointers, records
from forerun.include.state.records import decode, encode
from forerun.planner.contract.codec import to_json
from forerun.planner.contract.seal import seal, unseal
from forerun.planner.errors import ContractError

KINDS = [
    records.Pin, records.GenerationRecord, records.Manifest, records.StageRecord,
    records.RunCommit, pointers.Pointer, pointers.Unpublished, ledger_entry.LedgerEntry,
]  # fmt: skip

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
st.register_type_strategy(str, texts)
st.register_type_strategy(int, st.integers(0, 2**63 - 1))
st.register_type_strategy(float, st.floats(0, allow_nan=False, allow_infinity=False))
st.register_type_strategy(
    records.Expectation,
    st.builds(
        lambda c, n: expect("expect_column_to_exist", column=c, column_index=n),
        texts,
        st.integers(-(2**63), 2**63 - 1),
    ),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_record_comes_back_as_it_was(kind, data):
    record = data.draw(st.from_type(kind))
    encoded = encode(record)
    assert decode(kind, encoded, "key") == record
    assert encode(decode(kind, encoded, "key")) == encoded


COMMIT = records.RunCommit(run=2, base=1, attempt="a", plan="p", committed_at="t")
METRICS = to_json(COMMIT.metrics)
V1 = json.dumps({"record": "RunCommit", "record_version": 1, **to_json(COMMIT)}).encode()
"""The commit as it was written before records had a checksum."""
WITHOUT_CHECKSUM = re.sub(rb' "checksum": .*\n', b"", encode(COMMIT))


def changed(**values) -> bytes:
    raw, _ = unseal(encode(COMMIT), "k")
    return seal({k: v for k, v in {**raw, **values}.items() if v is not ...})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(surprise=1), "unknown fields: surprise"),
        (changed(attempt=...), "lacks attempt"),
        (changed(run="2"), r"k\.run should be int"),
        (changed(run=True), r"k\.run should be int"),
        (changed(metrics={"wall": 1}), r"k\.metrics has unknown fields"),
        (changed(record_version=3), "should be a RunCommit of version 2"),
        (changed(record_version=1), "should be a RunCommit of version 2"),
        (changed(record_version=True), "should be a RunCommit of version 2"),
        (changed(record="Pin"), "should be a RunCommit of version 2"),
        (changed(checks=...), "lacks checks"),
        (changed(run=-1), r"k\.run should be a number from 0"),
        (changed(run=2**63), r"k\.run should be a number from 0"),
        (changed(metrics={**METRICS, "wall_s": -0.5}), r"wall_s should be a finite number"),
        (encode(COMMIT).replace(b'"run": 2', b'"run": 3'), "does not match its checksum"),
        (encode(COMMIT).replace(b'"run": 2', b'"run":  2'), "does not match its checksum"),
        (WITHOUT_CHECKSUM, "has a checksum or the version of its writer, but not both"),
        (V1.replace(b'"run"', b'"run": 1, "run"'), "has the field 'run' twice"),
        (V1.replace(b'"wall_s": 0.0', b'"wall_s": NaN'), "has NaN, which is not a number"),
        (V1.replace(b'"wall_s": 0.0', b'"wall_s": 1e999'), r"wall_s should be a finite number"),
        (V1.replace(b'"wall_s": 0.0', b'"wall_s": ' + b"9" * 400), r"wall_s should be a number"),
        (V1.replace(b'"wall_s": 0.0', b'"wall_s": ' + b"9" * 9999), "is not JSON"),
        (V1.replace(b'"attempt": "a"', b'"attempt": "\\ud800"'), "should be text in Unicode"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"run":' * 100_000, "nested too deeply"),
        (b"[]", "should be a JSON object"),
        (encode(COMMIT)[:-9], "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
    ],
)
def test_what_is_half_understood_is_refused(data, message):
    with pytest.raises(ContractError, match=message) as caught:
        decode(records.RunCommit, data, "k")
    assert caught.value.message.startswith("k")


def test_version_1_is_read_with_and_only_with_all_its_fields():
    assert decode(records.RunCommit, V1, "k") == COMMIT
    for name in to_json(COMMIT):
        raw = json.loads(V1)
        del raw[name]
        with pytest.raises(ContractError, match=f"lacks {name}"):
            decode(records.RunCommit, json.dumps(raw).encode(), "k")


def test_not_a_number_is_not_written():
    with pytest.raises(ValueError, match="JSON"):
        encode(records.StageMetrics(stage="s", wall_s=math.nan))


def test_metrics_hold_what_a_run_is_judged_by():
    names = {f.name for f in fields(records.StageMetrics)} | {
        f.name for f in fields(records.RunMetrics)
    }
    assert names >= {
        "rows", "bytes", "executor_cpu_s", "wall_s", "source_rows_read", "state_rows_read",
        "bytes_read", "process_cpu_s",
    }  # fmt: skip
