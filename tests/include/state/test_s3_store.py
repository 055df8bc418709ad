"""What an S3 server may answer, over real HTTP: refusals, conflicts, silence."""

from __future__ import annotations

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from forerun.include.machine.settings import S3Settings, SettingsError, s3_settings
from forerun.include.sources.files import locate
from forerun.include.stores import open_store
from forerun.include.stores.s3_store import S3Store
from forerun.include.stores.store import (
    StoreDeniedError,
    StoreDownError,
    StoreError,
    StoreFullError,
)
from forerun.planner.errors import ForerunError
from tests.impatience import shorter_sleeps

HIDDEN = "hidden-key"
ANSWERS = {
    "AccessDenied": 403, "QuotaExceeded": 403, "SlowDown": 503, "InternalError": 500,
    "ConditionalRequestConflict": 409, "PreconditionFailed": 412, "MethodNotAllowed": 405,
}  # fmt: skip


PAGE = b"<html><body>Please log in</body></html>"
BODY = b'{"rows": 12345}'
MD5 = f'"{hashlib.md5(BODY).hexdigest()}"'
RAW = {
    "page": (200, PAGE, None),
    "page with an ETag": (200, PAGE, '"e"'),
    "missing page": (404, PAGE, None),
    "whole": (200, BODY, MD5),
    "no ETag": (200, BODY, None),
    "shortened": (200, BODY[:7], MD5),
    "another ETag": (200, BODY, '"weak-0123"'),
    "own ETag": (200, BODY, '"0123"'),
}
"""Answers as status, body and ETag."""


class Scripted(BaseHTTPRequestHandler):
    """Answers each request with the next code of the script; the last one stays."""

    protocol_version = "HTTP/1.1"  # says "100 Continue", for which a client waits a second

    def answer(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        script = self.server.script
        code = script.pop(0) if len(script) > 1 else script[0]
        self.server.seen += 1
        if code == "silence":
            self.server.released.wait(20)
            return
        if code == "cut short":
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.send_header("ETag", '"e"')
            self.end_headers()
            self.wfile.write(b"only this")
            return
        status, body, etag = self.server.answers.get(code) or (
            ANSWERS.get(code, 200), f"<Error><Code>{code}</Code></Error>".encode(), '"e"'
        )  # fmt: skip
        if self.command == "PUT" and body != PAGE and status == 200:
            body = b""  # as servers answer
        if code == "OK":
            body, etag = b"", f'"{hashlib.md5(sent).hexdigest()}"'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, *_args):
        pass


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    server.seen, server.released, server.answers = 0, threading.Event(), RAW
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def start(*script: str, timeout: float = 20.0) -> S3Store:
        server.script = list(script)
        endpoint = f"http://127.0.0.1:{server.server_port}"
        return S3Store("b", "p", S3Settings(endpoint=endpoint, path_style=True, timeout=timeout))

    start.server = server
    with shorter_sleeps("botocore.endpoint"):  # before it tries again
        yield start
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.s3
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AccessDenied", StoreDeniedError),
        ("QuotaExceeded", StoreFullError),
        ("SlowDown", StoreDownError),
        ("InternalError", StoreDownError),
        ("MethodNotAllowed", StoreError),
    ],
)
def test_a_refusal_names_the_key_and_says_what_to_do(scripted, code, kind):
    with pytest.raises(StoreError) as caught:
        scripted(code).put("a/b", b"x")
    assert type(caught.value) is kind
    assert f"cannot write a/b in s3://b/p: {code}" in caught.value.message
    assert caught.value.hint
    assert "hidden-key" not in str(caught.value)


@pytest.mark.s3
def test_a_conflict_is_tried_again_until_it_is_decided(scripted):
    store = scripted("ConditionalRequestConflict", "ConditionalRequestConflict", "OK")
    assert store.put_if_absent("a", b"x")
    assert scripted.server.seen == 3
    assert not scripted("ConditionalRequestConflict", "PreconditionFailed").put_if_absent("a", b"x")


@pytest.mark.s3
def test_a_conflict_that_does_not_end_is_bounded(scripted):
    started = time.monotonic()
    with pytest.raises(StoreDownError, match="ConditionalRequestConflict"):
        scripted("ConditionalRequestConflict", timeout=1.0).put_if_absent("a", b"x")
    assert time.monotonic() - started < 60


@pytest.mark.s3
def test_a_server_that_is_slow_for_a_moment_is_waited_for(scripted):
    assert scripted("SlowDown", "InternalError", "OK").put_if_absent("a", b"x")


@pytest.mark.s3
def test_a_server_that_does_not_answer(scripted):
    started = time.monotonic()
    with pytest.raises(StoreDownError, match="no answer within 4 s"):
        scripted("silence", timeout=4.0).find("a")
    assert time.monotonic() - started < 60


@pytest.mark.s3
def test_an_answer_that_is_cut_short_is_worth_a_retry(scripted):
    with pytest.raises(StoreDownError, match="cannot read a/b in s3://b/p"):
        scripted("cut short").find("a/b")


@pytest.mark.s3
def test_a_file_that_is_written_again_while_it_is_read(scripted):
    with pytest.raises(StoreError, match="written again while it was read"):
        scripted("PreconditionFailed").read_range("a/b", 0, 10, "old")


@pytest.mark.s3
@pytest.mark.parametrize("put", ["put", "put_if_absent", "put_if_match"])
@pytest.mark.parametrize("page", ["page", "page with an ETag", "no ETag"])
def test_a_put_that_was_answered_by_something_else_is_no_success(scripted, put, page):
    store = scripted(page, page, page)
    more = ("tag",) if put == "put_if_match" else ()
    with pytest.raises(StoreDownError, match=r"cannot write a/b|has no ETag") as caught:
        getattr(store, put)("a/b", b"commit", *more)
    assert caught.value.code == "store-down"  # worth a retry
    assert "proxy" in caught.value.hint


@pytest.mark.s3
def test_a_put_whose_etag_proves_nothing_is_read_back(scripted):
    store = scripted("own ETag", "whole")
    assert store.put_if_absent("a", BODY)
    assert scripted.server.seen == 2


@pytest.mark.s3
@pytest.mark.parametrize(
    ("script", "said"),
    [
        (("page",), "has no ETag"),
        (("no ETag",), "has no ETag"),
        (("missing page",), "status 404 without an error of S3"),
        (("shortened", "whole"), "7 bytes came, 15 are stored"),
        (("shortened", "no ETag"), "has no ETag"),
        (("own ETag", "own ETag", "page"), "other bytes came when it was read again"),
        (("own ETag", "whole") * 8, "written again while it was read"),
    ],
)
def test_an_answer_that_is_not_the_file_is_not_taken_for_it(scripted, script, said):
    with pytest.raises(StoreDownError, match=said):
        scripted(*script).find("a/b")


@pytest.mark.s3
def test_a_file_that_was_written_meanwhile_is_read_again(scripted):
    store = scripted("own ETag", "whole", "whole")
    assert store.find("a/b").data == BODY
    assert scripted.server.seen == 3


@pytest.mark.s3
@pytest.mark.parametrize("script", [("whole",), ("another ETag",), ("own ETag",) * 3])
def test_an_etag_that_is_no_checksum_is_fine_if_the_server_stays_with_it(scripted, script):
    found = scripted(*script).find("a/b")
    assert found is not None
    assert found.data == BODY


@pytest.mark.s3
def test_other_answers_that_are_no_s3(scripted):
    with pytest.raises(StoreDownError, match="no ETag"):
        scripted("page").stat("a/b")
    for listing in ("list", "folders"):
        with pytest.raises(StoreDownError, match="what answered is not an S3 server"):
            getattr(scripted("page"), listing)("a")
    with pytest.raises(StoreDownError, match="bytes came, 10 were asked for"):
        scripted("whole").read_range("a/b", 0, 10, "e")


@pytest.mark.s3
def test_a_server_that_is_not_there(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    store = S3Store("b", "", S3Settings(endpoint="http://127.0.0.1:9", path_style=True, timeout=4))
    for use in (lambda: store.find("a"), lambda: store.list("a"), lambda: store.put("a", b"")):
        with pytest.raises(StoreDownError, match="AWS_ENDPOINT_URL"):
            use()


@pytest.mark.s3
def test_a_bucket_that_is_not_there(moto_bucket):
    with pytest.raises(StoreError, match="there is no bucket no-such-bucket"):
        open_store("s3://no-such-bucket/x").find("a")


@pytest.mark.s3
@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_a_wrong_key(versitygw_server, monkeypatch, name):
    for known, value in versitygw_server.environment.items():
        monkeypatch.setenv(known, value)
    monkeypatch.setenv(name, "wrong")
    with pytest.raises(StoreDeniedError, match="cannot read a in s3://some-bucket"):
        open_store("s3://some-bucket").find("a")


def test_settings_come_from_the_environment():
    assert s3_settings({}) == S3Settings()
    read = s3_settings({
        "AWS_ENDPOINT_URL": "http://one", "AWS_ENDPOINT_URL_S3": "http://two",
        "AWS_DEFAULT_REGION": "eu-west-1", "FORERUN_S3_TIMEOUT": "5",
    })  # fmt: skip
    assert read == S3Settings(
        endpoint="http://two", region="eu-west-1", path_style=True, timeout=5.0
    )
    assert not s3_settings({"AWS_ENDPOINT_URL": "h", "FORERUN_S3_PATH_STYLE": "false"}).path_style


@pytest.mark.s3
@pytest.mark.parametrize(
    ("name", "value"), [("AWS_ENDPOINT_URL", "localhost:9000"), ("AWS_PROFILE", "nobody")]
)
def test_variables_that_boto3_refuses(monkeypatch, name, value):
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match="S3 cannot be used") as caught:
        open_store("s3://bucket/x")
    assert name in caught.value.hint


@pytest.mark.parametrize(
    "use",
    [
        lambda: open_store(f"s3://who:{HIDDEN}@bucket/x"),
        lambda: open_store(f"https://who:{HIDDEN}@host/x"),
        lambda: locate(f"s3a://{HIDDEN}@bucket/x"),
        lambda: s3_settings({"AWS_ENDPOINT_URL": f"http://who:{HIDDEN}@host:9000"}),
    ],
)
def test_credentials_in_a_uri_are_refused_and_not_repeated(use):
    with pytest.raises(ForerunError, match="holds credentials") as caught:
        use()
    assert HIDDEN not in str(caught.value)
    assert "AWS_SECRET_ACCESS_KEY" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [("FORERUN_S3_TIMEOUT", "soon"), ("FORERUN_S3_TIMEOUT", "0"), ("FORERUN_S3_PATH_STYLE", "x")],
)
def test_settings_that_cannot_be_used(name, value):
    with pytest.raises(SettingsError, match=name):
        s3_settings({name: value})
