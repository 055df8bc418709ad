"""A store in an S3 bucket, through boto3.

Conditional puts are the store's own (``If-None-Match: *``, ``If-Match``): 412 means lost, 409
means that another conditional write was under way and nothing is decided, so it is tried again.
Every call is bounded in time with all its retries.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, BinaryIO

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's own
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
)
from botocore.parsers import ResponseParserError

from forerun.include.machine.aws_connection import AwsConnection, aws_connection
from forerun.include.machine.settings import S3Settings
from forerun.include.stores.file_store import missing
from forerun.include.stores.s3_answers import (
    check_listing,
    content_md5,
    etag_of,
    not_stored,
    says_content,
    stored_file,
)
from forerun.include.stores.store import (
    StoreDeniedError,
    StoredFile,
    StoreDownError,
    StoreError,
    StoreFullError,
    Tagged,
    check_key,
)

_TAIL = 1 << 16
_READS = 8
"""How often a file is read that is written again each time while it is read."""
_LOST = {"PreconditionFailed", "412"}
_CONFLICT = {"ConditionalRequestConflict", "OperationAborted", "409"}
_ABSENT = {"NoSuchKey", "404", "NotFound"}
_NO_CODE = {"", "404"}
_DENIED = {
    "AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccountProblem",
    "ExpiredToken", "InvalidToken", "XAdminUserNotFound",
}  # fmt: skip
_FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "507", "EntityTooLarge"}
_DOWN = {"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "500", "502", "503"}


class S3Store:
    """Implements :class:`forerun.include.stores.store.Store` on a bucket and a prefix."""

    def __init__(self, bucket: str, prefix: str, settings: S3Settings) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._settings = settings
        self._client = s3_client(settings)

    @property
    def root(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def uri(self, key: str) -> str:
        return f"s3a://{self._bucket}/{self._name(key)}"

    def _name(self, key: str) -> str:
        return self._prefix + check_key(key)

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._name(key)}

    def find(self, key: str) -> Tagged | None:
        with self._explained("read", key):
            for _ in range(_READS):
                try:
                    answer = self._client.get_object(**self._at(key))
                    data = bytes(answer["Body"].read())
                except ClientError as error:
                    if _code(error) == "NoSuchKey":  # a 404 that is no S3 error may be anybody's
                        return None
                    raise
                if says_content(answer, data) is not False or self._is_same(key, data, answer):
                    return Tagged(data, answer["ETag"])
        raise not_stored("read", key, self.root, "it was written again while it was read")

    def _is_same(self, key: str, data: bytes, answer: Mapping[str, Any]) -> bool:
        """Ask again where the ETag is not that of the bytes that came: False if the file was
        written meanwhile, of which a server may give the old ETag with the new bytes. A server
        whose ETags are no checksums answers twice alike; a body that was cut short has not the
        length of the file."""
        etag = answer["ETag"]
        head = self._client.head_object(**self._at(key))
        if etag_of(head, key) != etag:
            return False
        if head.get("ContentLength") != len(data):
            raise not_stored(
                "read", key, self.root,
                f"{len(data)} bytes came, {head.get('ContentLength')} are stored",
            )  # fmt: skip
        again = self._client.get_object(**self._at(key), IfMatch=etag)
        if bytes(again["Body"].read()) != data:
            raise not_stored("read", key, self.root, "other bytes came when it was read again")
        return True

    def get(self, key: str) -> bytes:
        found = self.find(key)
        if found is None:
            raise missing(key, self.root)
        return found.data

    def stat(self, key: str) -> StoredFile | None:
        with self._explained("read", key):
            try:
                head = self._client.head_object(**self._at(key))
            except ClientError as error:
                if _code(error) in _ABSENT:
                    return None
                raise
            return stored_file(key, head, "ContentLength")

    def open(self, key: str) -> BinaryIO:
        found = self.stat(key)
        if found is None:
            raise missing(key, self.root)
        return io.BufferedReader(_Ranges(self, found), buffer_size=_TAIL)

    def read_range(self, key: str, start: int, end: int, identity: str) -> bytes:
        """Bytes ``start`` up to ``end`` of a file, if it still is the one with this etag."""
        with self._explained("read", key):
            answer = self._client.get_object(
                **self._at(key), Range=f"bytes={start}-{end - 1}", IfMatch=f'"{identity}"'
            )
            data = bytes(answer["Body"].read())
            if len(data) != end - start:
                raise not_stored(
                    "read", key, self.root, f"{len(data)} bytes came, {end - start} were asked for"
                )
            return data

    def list(self, prefix: str) -> tuple[StoredFile, ...]:
        base = f"{self._name(prefix.rstrip('/'))}/"
        found: list[StoredFile] = []
        with self._explained("list", prefix):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=base):
                check_listing(page, prefix)
                found.extend(
                    stored_file(item["Key"][len(self._prefix) :], item, "Size")
                    for item in page.get("Contents", ())
                    if not item["Key"].endswith("/")
                )
        return tuple(sorted(found, key=lambda file: file.key))

    def folders(self, prefix: str) -> tuple[str, ...]:
        base = f"{self._name(prefix.rstrip('/'))}/"
        found: set[str] = set()
        with self._explained("list", prefix):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=base, Delimiter="/"):
                check_listing(page, prefix)
                found |= {p["Prefix"][len(base) : -1] for p in page.get("CommonPrefixes", ())}
        return tuple(sorted(found))

    def checksum(self, key: str) -> str:
        """Empty: the etag of the listing is bound to the content, and the server checks uploads."""
        check_key(key)
        return ""

    def put(self, key: str, data: bytes) -> None:
        with self._explained("write", key):
            self._put(key, data, {})

    def _put(self, key: str, data: bytes, condition: dict[str, str]) -> None:
        """Put and see the proof: the ETag of these very bytes, else the bytes themselves."""
        answer = self._client.put_object(
            **self._at(key), Body=data, ContentMD5=content_md5(data), **condition
        )
        if answer.get("ETag") and says_content(answer, data):
            return
        found = self.find(key)
        if found is None or found.data != data:
            raise not_stored("write", key, self.root, "the answer is 200, but it is not stored")

    def put_if_absent(self, key: str, data: bytes) -> bool:
        return self._conditional(key, data, {"IfNoneMatch": "*"})

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        return self._conditional(key, data, {"IfMatch": tag})

    def _conditional(self, key: str, data: bytes, condition: dict[str, str]) -> bool:
        deadline = time.monotonic() + self._settings.timeout
        pause = 0.05
        while True:
            with self._explained("write", key):
                try:
                    self._put(key, data, condition)
                except ClientError as error:
                    code = _code(error)
                    if code in _LOST or (code in _ABSENT and "IfMatch" in condition):
                        return False
                    if code not in _CONFLICT or time.monotonic() > deadline:
                        raise
                else:
                    return True
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def copy(self, source: str, target: str) -> None:
        with self._explained("copy", source):
            try:
                self._client.copy(self._at(source), self._bucket, self._name(target))
            except ClientError as error:
                if _code(error) in _ABSENT:
                    raise missing(source, self.root) from None
                raise

    def delete(self, key: str) -> None:
        with self._explained("delete", key):
            self._client.delete_object(**self._at(key))

    @contextlib.contextmanager
    def _explained(self, verb: str, key: str) -> Iterator[None]:
        try:
            yield
        except NoCredentialsError as error:
            raise StoreDeniedError(
                f"cannot {verb} {key} in {self.root}: no credentials",
                hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role.",
            ) from error
        except (ConnectionError, HTTPClientError, IncompleteReadError) as error:
            raise StoreDownError(
                f"cannot {verb} {key} in {self.root}: no answer within "
                f"{self._settings.timeout:.0f} s",
                hint="Is the server up, and AWS_ENDPOINT_URL right? Then retry the task.",
            ) from error
        except ClientError as error:
            raise self._refusal(error, verb, key) from error
        except ResponseParserError as error:
            raise not_stored(verb, key, self.root, "what answered is not an S3 server") from error
        except BotoCoreError as error:
            raise StoreError(
                f"cannot {verb} {key} in {self.root}: {error}", hint="Check the AWS settings."
            ) from error

    def _refusal(self, error: ClientError, verb: str, key: str) -> StoreError:
        code = _code(error)
        if code in _NO_CODE:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return not_stored(verb, key, self.root, f"status {status} without an error of S3")
        message = f"cannot {verb} {key} in {self.root}: {code}"
        if code == "NoSuchBucket":
            return StoreError(
                f"{message}: there is no bucket {self._bucket}",
                hint="Create the bucket, or correct the store's URI.",
            )
        if code in _DENIED:
            return StoreDeniedError(
                message, hint="Check the credentials, and what they may do with this prefix."
            )
        if code in _LOST:
            return StoreError(
                f"{message}: it was written again while it was read",
                hint="Write a file once, under a name of its own; then retry the task.",
            )
        if code in _FULL:
            return StoreFullError(message, hint="Free space or raise the quota, then retry.")
        if code in _DOWN | _CONFLICT:
            return StoreDownError(message, hint="The server is overloaded: retry the task later.")
        return StoreError(message, hint="See the S3 server's log for this request.")


class _Ranges(io.RawIOBase):
    """A file in a bucket, read by ranges. The tail is fetched once: Parquet footers lie there."""

    def __init__(self, store: S3Store, file: StoredFile) -> None:
        self._store, self._file, self._at = store, file, 0
        self._tail_start = max(0, file.size - _TAIL)
        self._tail: bytes | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._file.size)
        if end <= self._at:
            return 0
        data = self._read(self._at, end)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _read(self, start: int, end: int) -> bytes:
        key, identity = self._file.key, self._file.identity
        if start < self._tail_start:
            return self._store.read_range(key, start, end, identity)
        if self._tail is None:
            self._tail = self._store.read_range(key, self._tail_start, self._file.size, identity)
        return self._tail[start - self._tail_start : end - self._tail_start]


def s3_client(settings: S3Settings) -> Any:
    """A boto3 client whose calls, with their retries, end within the settings' timeout.

    Making one takes a tenth of a second, so it is kept: per process (connections do not survive a
    fork) and per environment (credentials are read when it is made).
    """
    environment = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("AWS_")))
    try:
        return _client(settings, os.getpid(), environment, aws_connection())
    except (BotoCoreError, ValueError) as error:
        raise StoreError(
            f"S3 cannot be used: {error}",
            hint="Correct the AWS_ variables: AWS_ENDPOINT_URL starts with http:// or https://, "
            "AWS_PROFILE and AWS_REGION name something that is there.",
        ) from None


@lru_cache(maxsize=8)
def _client(
    settings: S3Settings,
    _process: int,
    _environment: tuple[tuple[str, str], ...],
    connection: AwsConnection | None,
) -> Any:
    attempts = 4
    each = max(1.0, settings.timeout / attempts)
    keys: dict[str, Any] = (
        {
            "aws_access_key_id": connection.key,
            "aws_secret_access_key": connection.secret,
            "aws_session_token": connection.token or None,
        }
        if connection and connection.key
        else {}
    )
    return boto3.session.Session().client(
        "s3",
        endpoint_url=settings.endpoint or None,
        region_name=settings.region,
        **keys,
        config=Config(
            connect_timeout=min(5.0, each),
            read_timeout=each,
            retries={"mode": "standard", "total_max_attempts": attempts},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path" if settings.path_style else "auto"},
        ),
    )


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
