"""A schema registry for tests, which ``scripts/registry.sh`` fetches."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from forerun.include.machine.child_process import start, stop
from forerun.include.machine.jvm import home_folder

_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")
_SETTINGS = ("quarkus.http.host=127.0.0.1", "quarkus.datasource.jdbc.max-size=5")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a registry, by the API that Confluent's clients speak."""
    folder = tmp_path_factory.mktemp("registry")
    (jar,) = (home_folder() / "jars" / "registry").glob("*-runner.jar")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    settings = [f"-D{one}" for one in (*_SETTINGS, f"quarkus.http.port={port}")]
    process = start(
        "registry", ["java", *_JVM, *settings, "-jar", str(jar)],
        log=folder / "log", env=os.environ, cwd=folder,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    client = SchemaRegistryClient({"url": address, "max.retries": 0})
    for _ in range(600):
        try:
            client.get_subjects()
            break
        except Exception:  # noqa: BLE001 - until it answers
            assert process.process.poll() is None, process.log.read_text()[-2000:]
            time.sleep(0.1)
    yield address
    stop([process])
