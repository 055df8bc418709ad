"""Records to JSON and back: nothing is lost, nothing unknown is accepted."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from include.expectations import expect
from include.state import records
from include.state.records import decode, encode
from planner.errors import ContractError

KINDS = [
    records.Pin, records.GenerationRecord, records.Manifest, records.StageRecord,
    records.RunCommit, records.Pointer, records.LedgerEntry,
]  # fmt: skip

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
st.register_type_strategy(str, texts)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(
    records.Expectation,
    st.builds(
        lambda c, n: expect("expect_column_to_exist", column=c, column_index=n),
        texts,
        st.integers(),
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


def changed(**values) -> bytes:
    raw = {**json.loads(encode(COMMIT)), **values}
    return json.dumps({k: v for k, v in raw.items() if v is not ...}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(surprise=1), "unknown fields: surprise"),
        (changed(attempt=...), "lacks attempt"),
        (changed(run="2"), r"k\.run should be int"),
        (changed(run=True), r"k\.run should be int"),
        (changed(metrics={"wall": 1}), r"k\.metrics has unknown fields"),
        (changed(record_version=2), "should be a RunCommit of version 1"),
        (changed(record="Pin"), "should be a RunCommit of version 1"),
        (b"[]", "should be a RunCommit"),
        (encode(COMMIT)[:-9], "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
    ],
)
def test_what_is_half_understood_is_refused(data, message):
    with pytest.raises(ContractError, match=message) as caught:
        decode(records.RunCommit, data, "k")
    assert caught.value.message.startswith("k")


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
