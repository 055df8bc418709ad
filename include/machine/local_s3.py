"""An S3 server on this machine, for the demo, the tests and benchmarks: started and stopped here.

VersityGW if set-up could build it (a folder on disk, fast, real conditional puts), else moto's
server (everything in memory). Both listen on 127.0.0.1 alone, with keys made for the occasion.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from forerun.include.machine.jvm import home_folder
from forerun.planner.errors import ForerunError

_REGION = "us-east-1"
_START_SECONDS = 30.0


class LocalS3Error(ForerunError):
    """The local S3 server cannot be started."""

    code = "local-s3"


@dataclass(frozen=True, slots=True)
class LocalS3:
    """A running server: where it listens and, not shown in its repr, the keys to use."""

    endpoint: str
    kind: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which boto3, and S3A through the JVM, find the server."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def make_bucket(self, name: str) -> str:
        """Create a bucket, if it is not there, and return its ``s3://`` URI."""
        import boto3
        from botocore.exceptions import ClientError

        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=_REGION,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
        )
        try:
            client.create_bucket(Bucket=name)
        except ClientError as error:
            if error.response["Error"]["Code"] != "BucketAlreadyOwnedByYou":
                raise
        return f"s3://{name}"


def versitygw() -> Path | None:
    """The VersityGW program of set-up or of PATH, if there is one."""
    built = home_folder() / "bin" / "versitygw"
    if built.is_file():
        return built
    found = shutil.which("versitygw")
    return Path(found) if found else None


@contextmanager
def local_s3(folder: Path, *, kind: str | None = None) -> Iterator[LocalS3]:
    """Run a server over ``folder`` for the duration of the block; its end is the server's end.

    ``kind``: ``versitygw`` or ``moto``; by default the first that this machine has. Raises
    :class:`LocalS3Error` with the server's own words if it does not come up.
    """
    program = versitygw()
    kind = kind or ("versitygw" if program else "moto")
    folder.mkdir(parents=True, exist_ok=True)
    server = LocalS3(
        endpoint=f"http://127.0.0.1:{_free_port()}",
        kind=kind,
        access_key=secrets.token_hex(8),
        secret_key=secrets.token_hex(20),
    )
    port = server.endpoint.rpartition(":")[2]
    if kind == "versitygw":
        if program is None:
            raise LocalS3Error(
                "VersityGW is not built",
                hint="In a checkout run `make s3-server` (needs Go); moto does without it.",
            )
        command = [str(program), "--port", f"127.0.0.1:{port}", "--region", _REGION, "--quiet"]
        command += ["posix", str(folder)]
    else:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
    keys = {"ROOT_ACCESS_KEY": server.access_key, "ROOT_SECRET_KEY": server.secret_key}
    log = folder.parent / f"{folder.name}.server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **keys}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_up(server, process, log)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_up(server: LocalS3, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urlopen(server.endpoint, timeout=1).close()
        except HTTPError:
            return  # an answer, even "access denied", is a server
        except (URLError, OSError):
            time.sleep(0.05)
        else:
            return
    said = log.read_text(errors="replace")[-500:]
    raise LocalS3Error(
        f"the local S3 server ({server.kind}) did not start: {said or 'it said nothing'}",
        hint="Remove .forerun/bin/versitygw to use moto's server, or name your own S3 store.",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
