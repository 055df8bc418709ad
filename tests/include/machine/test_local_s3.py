"""The local S3 servers start, honour conditional puts, and are gone afterwards."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError

from forerun.include.machine.local_s3 import local_s3, versitygw


@pytest.mark.s3
@pytest.mark.parametrize("kind", ["moto", "versitygw"])
def test_a_server_lives_as_long_as_its_block(kind, tmp_path):
    if kind == "versitygw" and versitygw() is None:
        pytest.skip("VersityGW is not built here (needs Go): make s3-server")
    with local_s3(tmp_path / "s3", kind=kind) as server:
        assert server.make_bucket("there") == server.make_bucket("there") == "s3://there"
        client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            region_name="us-east-1",
            aws_access_key_id=server.access_key,
            aws_secret_access_key=server.secret_key,
        )
        client.put_object(Bucket="there", Key="k", Body=b"1", IfNoneMatch="*")
        with pytest.raises(ClientError, match="PreconditionFailed"):
            client.put_object(Bucket="there", Key="k", Body=b"2", IfNoneMatch="*")
        assert server.secret_key not in repr(server)
    port = urlsplit(server.endpoint).port
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
