"""Stored JSON with a checksum: how plans and records become bytes, and how bytes are let in again.

A sealed document is canonical JSON (sorted keys, one space of indentation) with two more fields at
its top: ``forerun``, the version of the program that wrote it, and ``checksum``, the SHA-256 of the
document's own bytes with zeros in place of the checksum. So a flipped digit is noticed before
anybody believes it.

Documents that were written before there was a checksum have neither field. They are read, too; what
they cannot have is one of the two alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from forerun.planner.errors import ContractError
from forerun.planner.version import VERSION

_WRITER, _CHECKSUM = "forerun", "checksum"
_MARK = b'\n "checksum": "'
_BLANK = b"0" * 64
MOST_BYTES = 256 << 20
"""A larger document is refused unread: no plan and no record comes near it."""


def seal(body: Mapping[str, Any]) -> bytes:
    """The bytes of a document. The same body, by the same version, gives the same bytes."""
    whole = {**body, _WRITER: VERSION, _CHECKSUM: _BLANK.decode()}
    text = json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    data = (text + "\n").encode()
    start = data.index(_MARK) + len(_MARK)
    return data[:start] + _digest(data) + data[start + len(_BLANK) :]


def unseal(data: bytes, what: str) -> tuple[dict[str, Any], bool]:
    """The fields of a document without those of the seal, and whether it was sealed.

    ``what`` names the document in errors. Raises :class:`ContractError` for bytes that are not one
    JSON object in UTF-8, that repeat a field, hold NaN or an infinity, are nested deeper than
    Python can follow, are larger than :data:`MOST_BYTES`, or do not match their checksum.
    """
    if len(data) > MOST_BYTES:
        raise _refused(f"{what} has {len(data):,} bytes, {MOST_BYTES:,} are allowed")
    raw = _parsed(data, what)
    if not isinstance(raw, dict):
        raise _refused(f"{what} should be a JSON object, not {shown(raw)}")
    if (_WRITER in raw) != (_CHECKSUM in raw):
        raise _refused(f"{what} has a checksum or the version of its writer, but not both")
    sealed = _CHECKSUM in raw
    if sealed:
        _check_digest(data, what)
        writer = raw.pop(_WRITER)
        if not isinstance(writer, str):
            raise _refused(f"{what}.{_WRITER} should be str, not {shown(writer)}")
        del raw[_CHECKSUM]
    return raw, sealed


@contextmanager
def naming_writer(data: bytes) -> Iterator[None]:
    """Let a :class:`ContractError` about a document say which version of Forerun has written it,
    where that is another one than this: then the two are most likely why it cannot be read."""
    try:
        yield
    except ContractError as error:
        writer = _writer(data)
        if writer in ("", VERSION):
            raise
        said = f"{error.message} (Forerun {writer} has written it, and this is {VERSION})"
        raise ContractError(said, hint=error.hint) from None


def _writer(data: bytes) -> str:
    """Return the version that a document names as its writer, or nothing."""
    try:
        writer = json.loads(data[:MOST_BYTES]).get(_WRITER, "")
    except (ValueError, RecursionError, AttributeError):
        return ""
    return writer[:40] if isinstance(writer, str) else ""


def shown(raw: object) -> str:
    """A JSON value as an error message shows it: short, whatever it is."""
    if isinstance(raw, list):
        return f"a list of {len(raw)}"
    if isinstance(raw, dict):
        return f"an object of {len(raw)} fields"
    return ascii(raw)[:60] if isinstance(raw, str) else json.dumps(raw)[:60]


def _check_digest(data: bytes, what: str) -> None:
    start = data.find(_MARK) + len(_MARK)
    blank = data[:start] + _BLANK + data[start + len(_BLANK) :]
    if start < len(_MARK) or data[start : start + len(_BLANK)] != _digest(blank):
        raise ContractError(
            f"{what} does not match its checksum",
            hint="It was changed after it was written, or damaged on its way. Restore it, or clear "
            "the day: a new generation starts.",
        )


def _digest(data: bytes) -> bytes:
    """Return the SHA-256, in hexadecimal, of a document that has zeros where the checksum goes."""
    return hashlib.sha256(data).hexdigest().encode()


def _parsed(data: bytes, what: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = min(name for name in names if names.count(name) > 1)
            raise _refused(f"{what} has the field {ascii(twice)[:60]} twice")
        return found

    def no_number(text: str) -> NoReturn:
        raise _refused(f"{what} has {text}, which is not a number")

    try:
        return json.loads(data.decode(), object_pairs_hook=once, parse_constant=no_number)
    except RecursionError:
        raise _refused(f"{what} is nested too deeply") from None
    except ValueError as error:  # of JSON, of UTF-8, and of numbers with thousands of digits
        raise _refused(f"{what} is not JSON: {error}") from None


def _refused(message: str) -> ContractError:
    return ContractError(
        message,
        hint="It was cut short, overwritten or damaged from outside: restore it, or clear the day.",
    )
