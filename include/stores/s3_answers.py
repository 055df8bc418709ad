"""Checks on the answers of an S3 server, which may not be believed as they come.

Between a program and its bucket may be proxies that answer with a page of their own and status 200,
leave headers away, or cut a body short and correct its length. An answer that carries no proof of
what it claims is an error here, never a success: a run whose commit was "taken" by a login page
would be lost without a word.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from forerun.include.stores.store import StoredFile, StoreDownError

_MD5 = re.compile(r'"?([0-9a-f]{32})"?\Z')
_HINT = (
    "See whether a proxy or a login page answers in place of the S3 server (forerun doctor). Then "
    "retry the task."
)


class S3AnswerError(StoreDownError):
    """The answer is not one that an S3 server gives to the request. It is worth a retry."""


def content_md5(data: bytes) -> str:
    """The header by which the server refuses a body that was changed on its way."""
    return base64.b64encode(_md5(data).digest()).decode()


def says_content(answer: Mapping[str, Any], data: bytes) -> bool | None:
    """Return whether the ETag says that ``data`` is what is stored; None if this ETag cannot tell:
    of an upload in parts, or encrypted with a key of a key service or of the customer's."""
    etag = etag_of(answer, "the answer")
    encryption = str(answer.get("ServerSideEncryption", ""))
    if "-" in etag or encryption.startswith("aws:kms") or answer.get("SSECustomerAlgorithm"):
        return None
    found = _MD5.match(etag)
    return found is not None and found[1] == _md5(data).hexdigest()


def etag_of(answer: Mapping[str, Any], what: str) -> str:
    """The ETag of an answer or of a listed file, in its quotes. Raises :class:`S3AnswerError` if
    there is none: identity, and every conditional put, rest on it."""
    etag = answer.get("ETag")
    if not etag:
        raise S3AnswerError(f"{what} has no ETag", hint=_HINT)
    return str(etag)


def stored_file(key: str, answer: Mapping[str, Any], size: str) -> StoredFile:
    """A file from the answer to HEAD or from a listing; ``size`` names the field of its size."""
    etag = etag_of(answer, f"what the server says of {key}")
    length, modified = answer.get(size), answer.get("LastModified")
    if not isinstance(length, int) or modified is None:
        raise S3AnswerError(f"what the server says of {key} has no size or time", hint=_HINT)
    return StoredFile(key=key, size=length, identity=etag.strip('"'), modified=modified.timestamp())


def check_listing(page: Mapping[str, Any], prefix: str) -> None:
    """Refuse a listing that names no bucket: some other page, read as a listing of nothing."""
    if not page.get("Name"):
        raise S3AnswerError(f"cannot list {prefix}: what answered is not an S3 server", hint=_HINT)


def not_stored(verb: str, key: str, root: str, what: str) -> S3AnswerError:
    """The error for an answer that turned out not to be true."""
    return S3AnswerError(f"cannot {verb} {key} in {root}: {what}", hint=_HINT)


def _md5(data: bytes) -> Any:
    return hashlib.md5(data, usedforsecurity=False)
