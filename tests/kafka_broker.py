"""A broker of Kafka for tests, of the jars that ``scripts/kafka.sh`` fetches."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from forerun.include.machine import connections
from forerun.include.machine.child_process import ChildProcess, start, stop
from forerun.include.machine.jvm import home_folder

_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
log.retention.ms=-1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
"""
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")


@dataclass(frozen=True)
class Broker:
    """A running broker."""

    address: str

    @property
    def connection(self) -> str:
        """What the variable of an Airflow connection to it holds."""
        return json.dumps({"conn_type": "kafka", "extra": {"bootstrap.servers": self.address}})

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address})

    def create(self, topic: str, partitions: int = 1, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        new = NewTopic(topic, partitions, 1, config=named)
        self.admin.create_topics([new])[topic].result()
        while topic not in self.admin.list_topics(timeout=10).topics:
            time.sleep(0.05)

    def send(self, topic: str, *values: Any, at: float | None = None, partition: int = 0,
             key: str | None = None, **settings: Any) -> None:  # fmt: skip
        """Write messages, objects or bytes, with the time ``at`` in seconds."""
        producer = Producer({"bootstrap.servers": self.address, **settings})
        more = {} if at is None else {"timestamp": int(at * 1000)}
        failed: list[Any] = []
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(
                topic, data, key, partition=partition, **more,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )  # fmt: skip
            producer.poll(0)
        assert producer.flush(30) == 0, failed
        assert not failed, failed

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """Do what retention does: the messages before an offset go."""
        at = TopicPartition(topic, partition, offset)
        self.admin.delete_records([at])[at].result()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def started(folder: Path) -> tuple[Broker, ChildProcess]:
    """Start a broker with its data in a folder, and wait until it answers."""
    jars = home_folder() / "jars" / "kafka"
    assert list(jars.glob("*.complete")), "run scripts/kafka.sh, which fetches the broker's jars"
    port, controller = _free_port(), _free_port()
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(folder=folder, port=port, controller=controller))
    java = ["java", *_JVM, "-cp", f"{jars}/*"]
    command = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    process = start(
        "kafka", [*java, "kafka.Kafka", str(settings)],
        log=folder / "log" / "kafka.log", env=os.environ, cwd=folder,
    )  # fmt: skip
    broker = Broker(f"127.0.0.1:{port}")
    for _ in range(600):
        with socket.socket() as asked:
            if not asked.connect_ex(("127.0.0.1", port)):
                break
        assert process.process.poll() is None, process.log.read_text()[-2000:]
        time.sleep(0.1)
    broker.admin.list_topics(timeout=60)
    return broker, process


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    found, process = started(tmp_path_factory.mktemp("kafka"))
    yield found
    stop([process])


@pytest.fixture
def shop(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Broker:
    """The broker, as the Airflow connection ``shop``."""
    monkeypatch.setattr(connections, "_KNOWN", {})
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", broker.connection)
    return broker
