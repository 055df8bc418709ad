"""A topic of Kafka, as its brokers say it: where its partitions begin and end, and its messages.

Offsets are asked for and messages read with ``read_committed``: what a transaction has not
committed is no message, and none behind it is read before that is decided. Nothing is committed to
the brokers: what was read is known by pins.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from forerun.include.machine.connections import connection
from forerun.include.reports.places import split_service
from forerun.include.sources.files import SourcePathError
from forerun.include.sources.services.schema_registry import PREFIX, SchemaRegistry
from forerun.include.sources.services.service_error import ServiceError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message
    from confluent_kafka.admin import AdminClient

_LOG = logging.getLogger(__name__)
_TIMEOUT_S = 30.0
_AT_ONCE, _WAIT_S = 10_000, 0.1
"""Messages that are taken from a consumer at once, and how long it waits for so many."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of one partition: of the first message that is still there, of the one that would
    come next, and of the first ones of some instants; None where there is none that late."""

    low: int
    end: int
    at: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, the configuration of librdkafka by which it is reached, and the registry of schemas
    that its messages name. ``identity`` tells it from one that is created anew under its name."""

    uri: str
    name: str
    identity: str
    partitions: tuple[int, ...]
    config: Mapping[str, Any]
    registry: SchemaRegistry

    def offsets(self, instants: Sequence[datetime]) -> dict[int, Offsets]:
        """Return the offsets of all partitions now, and at these instants: of each the first
        message whose time, as the topic has times, is not before it."""
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        with _said(self.uri):
            admin = _admin(self.config)
            # Messages come and go meanwhile. None of an instant that is asked for later can lie
            # before the end; and what was deleted by then counts as gone.
            end = self._listed(admin, OffsetSpec.latest())  # type: ignore[no-untyped-call]
            found = [
                self._listed(admin, OffsetSpec.for_timestamp(int(at.timestamp() * 1000)))
                for at in instants
            ]
            low = self._listed(admin, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        return {
            number: Offsets(
                low[number],
                end[number],
                tuple(at[number] if 0 <= at[number] < end[number] else None for at in found),
            )
            for number in self.partitions
        }

    def _listed(self, admin: AdminClient, spec: Any) -> dict[int, int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        asked = {TopicPartition(self.name, number): spec for number in self.partitions}
        answers = admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_TIMEOUT_S
        )
        return {at.partition: answer.result().offset for at, answer in answers.items()}

    def messages(self, partition: int, first: int, end: int) -> Iterator[list[Message]]:
        """Yield the messages of a partition from an offset up to another one, some thousand at
        once. Raises :class:`ServiceError` if the first ones are no longer there."""
        from confluent_kafka import Consumer, TopicPartition

        with _said(self.uri):
            consumer = Consumer(
                {
                    **self.config,
                    "group.id": "forerun",  # it is in no group: partitions are assigned by hand
                    "enable.auto.commit": False,
                    "auto.offset.reset": "error",
                    "isolation.level": "read_committed",
                    "enable.partition.eof": True,
                },
                logger=_LOG,
            )
            try:
                consumer.assign([TopicPartition(self.name, partition, first)])
                yield from self._until(consumer, partition, first, end)
            finally:
                consumer.close()

    def _until(
        self, consumer: Consumer, partition: int, first: int, end: int
    ) -> Iterator[list[Message]]:
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        at, position, since = TopicPartition(self.name, partition), first, time.monotonic()
        while position < end:
            taken = consumer.consume(min(_AT_ONCE, end - position), _WAIT_S)
            found, ended = [], False
            for message in taken:
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
                    ended = True
                    _refuse_cut(self.uri, partition, _offset(message), end)
                else:
                    raise KafkaException(error)
            if wanted := [message for message in found if _offset(message) < end]:
                yield wanted
            # Beyond the last message there may be the marks of transactions, which are none.
            (now,) = consumer.position([at])
            if now.offset > position:
                since = time.monotonic()
            position = end if ended else max(now.offset, position)
            if time.monotonic() - since > _TIMEOUT_S:
                raise ServiceError(
                    f"{self.uri}: nothing came of partition {partition} for {_TIMEOUT_S:.0f} s, "
                    f"from offset {position} of {end}",
                    hint="Look at the brokers of the topic; then retry the task.",
                )


def _refuse_cut(uri: str, partition: int, ends: int, end: int) -> None:
    """Raise if a partition ends before an offset that it had."""
    if ends < end:
        raise ServiceError(
            f"{uri}: partition {partition} ends at offset {ends}, and had messages up to {end}",
            hint="Its brokers have lost messages. Retry the task: it reads what is there now.",
        )


def open_topic(uri: str) -> Topic:
    """Return the topic that ``kafka://<connection>/<topic>`` names.

    Raises :class:`ServiceError` if its brokers cannot be asked, and :class:`SourcePathError` if
    there is no such topic, or if it is compacted.
    """
    from confluent_kafka import TopicCollection
    from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

    at, name = split_service(uri)
    config, registry = _config(uri, at)
    with _said(uri):
        admin = _admin(config)
        cluster = admin.describe_cluster(request_timeout=_TIMEOUT_S).result()
        topics = admin.describe_topics(TopicCollection([name]), request_timeout=_TIMEOUT_S)
        found = topics[name].result()
        resource = ConfigResource(ResourceType.TOPIC, name)
        settings = admin.describe_configs([resource], request_timeout=_TIMEOUT_S)[resource].result()
    policy = settings.get("cleanup.policy")
    if policy is not None and "compact" in (policy.value or ""):
        raise SourcePathError(
            f"{uri} is a compacted topic, whose messages replace one another",
            hint="Let a topic with cleanup.policy=delete have the messages; or write what the "
            "topic holds into a table.",
        )
    identity = f"{cluster.cluster_id}/{found.topic_id}"
    partitions = tuple(sorted(partition.id for partition in found.partitions))
    return Topic(uri, name, identity, partitions, config, registry)


def _config(uri: str, name: str) -> tuple[dict[str, Any], SchemaRegistry]:
    """Return the configuration that a connection of type ``kafka`` has in its extra, as Airflow's
    provider for Kafka reads it, and the schema registry that it names beside it."""
    found = connection(name)
    registry = {key.removeprefix(PREFIX): value for key, value in found.extra.items()
                if key.startswith(PREFIX)}  # fmt: skip
    config = {key: value for key, value in found.extra.items() if not key.startswith(PREFIX)}
    if found.host:
        config.setdefault("bootstrap.servers", f"{found.host}:{found.port or 9092}")
    if not config.get("bootstrap.servers"):
        raise ServiceError(
            f"{uri}: the connection {name} names no bootstrap.servers",
            hint='Write librdkafka\'s settings as its extra: {"bootstrap.servers": "broker:9092"}.',
        )
    for setting in ("group.id", "auto.offset.reset", "enable.auto.commit", "isolation.level"):
        config.pop(setting, None)  # of a consumer that keeps its place in the brokers
    return config, SchemaRegistry(name, registry)


def _admin(config: Mapping[str, Any]) -> AdminClient:
    from confluent_kafka.admin import AdminClient

    return AdminClient(dict(config), logger=_LOG)


def _offset(message: Message) -> int:
    offset = message.offset()
    return -1 if offset is None else offset


@contextmanager
def _said(uri: str) -> Iterator[None]:
    """Raise what the client says as an error that says what to do."""
    try:
        from confluent_kafka import KafkaError, KafkaException
    except ImportError:
        raise ServiceError(
            f"{uri} is a topic of Kafka, and confluent-kafka is not installed",
            hint='pip install "forerun[kafka]"',
        ) from None
    try:
        yield
    except KafkaException as caught:
        error = caught.args[0]
        if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001
            raise SourcePathError(
                f"{uri}: there is no such topic", hint="Correct the path, or create the topic."
            ) from None
        raise ServiceError(
            f"{uri}: {error.str()}",
            hint="Look at the brokers and at the connection that the path names; then retry the "
            "task.",
        ) from None
