"""Whatever lies in the store, reading it gives the document or a ContractError, nothing else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forerun.planner.contract.seal import seal, unseal
from forerun.planner.errors import ContractError
from tests.include.state.stored_kinds import goldens, read, written

DOCUMENTS = goldens()
PIECES = (
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"true", b"NaN", b"-Infinity", b"1e999",
    b"-1", b"\\ud800", b"\xff", b"\x00", b"9" * 30, b"9" * 400, b"9" * 5000, b"[" * 5000,
    b'{"a":' * 5000, b"\xef\xbb\xbf", b'"run": 1,',
)  # fmt: skip
STRANGE = st.one_of(
    st.sampled_from(
        [None, True, -1, -(2**63), 2**63, 10**400, 0.5, -0.5, 1e308, "", "x" * 5000, "\x00",
         "\u2028", [], {}, [[]], [None], {"": None}, {"kind_of": []}, {"kind_of": "Plan"}]
    ),
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5),
)  # fmt: skip


@st.composite
def torn(draw: Callable[..., Any]) -> tuple[str, bytes, bytes]:
    """A kind, a golden document of it, and its bytes with a few of them changed."""
    _, kind, data = draw(st.sampled_from(DOCUMENTS))
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(changed)))
        match draw(st.integers(0, 5)):
            case 0:
                changed[at:at] = draw(st.sampled_from(PIECES))
            case 1:
                del changed[at : at + draw(st.integers(1, 40))]
            case 2:
                changed[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case 3:
                changed[at:at] = changed[: draw(st.integers(0, 200))]
            case 4:
                del changed[at:]
            case _:
                changed[at : at + 1] = bytes(
                    b ^ 1 << draw(st.integers(0, 7)) for b in data[at : at + 1]
                )
    return kind, data, bytes(changed)


@st.composite
def reshaped(draw: Callable[..., Any]) -> tuple[str, bytes]:
    """A kind, and a document with other values or fields in it and a checksum that is right."""
    form, kind, data = draw(st.sampled_from(DOCUMENTS))
    body, _ = unseal(data, kind)
    luck = random.Random(draw(st.integers(0, 2**32)))  # a place is not worth shrinking
    for _ in range(draw(st.integers(1, 2))):
        _change(luck, body, copy.deepcopy(draw(STRANGE)))
    if form == "v1":
        return kind, json.dumps(body).encode()
    return kind, seal(body)


def _change(luck: random.Random, node: Any, strange: Any) -> None:
    """Change, drop or add something at a random depth."""
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        below = [key for key in keys if isinstance(node[key], dict | list) and node[key]]
        if below and luck.random() < 0.7:
            node = node[luck.choice(below)]
            continue
        if not keys:
            return
        key = luck.choice(list(keys))
        what = luck.random()
        if what < 0.6:
            node[key] = strange
        elif what < 0.8:
            del node[key]
        elif isinstance(node, dict):
            node[f"{key}_"] = strange
        else:
            node.insert(key, strange)
        return


def check_torn(case: tuple[str, bytes, bytes]) -> None:
    kind, data, changed = case
    try:
        document = read(kind, changed)
    except ContractError as error:
        _check_words(error)
        return
    # Only what has no checksum may have become another document, which must then be one.
    assert changed == data or b'"checksum"' not in data[:200] or _unsealed(changed)
    assert read(kind, written(document)) == document


def _check_words(error: ContractError) -> None:
    """An error is to be read by people, whatever was in the document."""
    assert 0 < len(error.message) < 1000
    assert error.hint


def _unsealed(data: bytes) -> bool:
    return not unseal(data, "it")[1]


def check_reshaped(case: tuple[str, bytes]) -> None:
    kind, data = case
    try:
        document = read(kind, data)
    except ContractError as error:
        _check_words(error)
        return
    assert read(kind, written(document)) == document


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@given(torn())
@settings(max_examples=1000, **QUIET)
def test_bytes_that_were_damaged(case):
    check_torn(case)


@given(reshaped())
@settings(max_examples=1000, **QUIET)
def test_documents_of_another_shape(case):
    check_reshaped(case)


@pytest.mark.slow
@given(torn())
@settings(max_examples=50_000, **QUIET)
def test_bytes_that_were_damaged_in_many_ways(case):
    check_torn(case)


@pytest.mark.slow
@given(reshaped())
@settings(max_examples=50_000, **QUIET)
def test_documents_of_many_other_shapes(case):
    check_reshaped(case)
