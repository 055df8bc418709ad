"""Schemas of a registry, which messages of Kafka name by their number.

A producer that has a registry writes a mark of five bytes before each value: a zero, and the number
of the schema that the rest is written by. The registry is the one that the connection of the topic
names: settings of ``confluent_kafka``'s client with ``schema.registry.`` before them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from forerun.include.sources.services.service_error import ServiceError
from forerun.include.sources.unread import SourceFileError

PREFIX = "schema.registry."
_MARK = 5


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of the registry. Of Avro: the schema as JSON, and those that it refers to by name;
    of JSON, whose values are read by the declared columns alone, nothing."""

    kind: Literal["AVRO", "JSON"]
    avro: Any = None
    named: Mapping[str, Any] = field(default_factory=dict)


def schema_of(value: bytes) -> int | None:
    """Return the number of the schema that the value of a message names; None without a mark."""
    return int.from_bytes(value[1:_MARK]) if value[0] == 0 and len(value) >= _MARK else None


def without_mark(value: bytes) -> bytes:
    """Return what a value with a mark holds."""
    return value[_MARK:]


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """The registry of a topic. Schemas never change, and are asked for once. ``settings`` are those
    of the client, none where the connection ``name`` names no registry."""

    name: str
    settings: Mapping[str, Any] = field(repr=False)
    _known: dict[int, Schema] = field(default_factory=dict, compare=False)

    def schema(self, number: int, place: str) -> Schema:
        """Return the schema of a number, which the message at a place names.

        Raises :class:`SourceFileError` if there is none, or one of Protobuf, and
        :class:`ServiceError` if the registry does not answer.
        """
        if number not in self._known:
            self._known[number] = self._asked(number, place)
        return self._known[number]

    def _asked(self, number: int, place: str) -> Schema:
        if not self.settings:
            raise SourceFileError(
                f"{place}: no JSON, but the mark of a schema registry (Avro, Protobuf)",
                hint="Name the registry in the extra of the connection "
                f'{self.name}: {{"{PREFIX}url": "https://registry:8081"}}.',
            )
        client = _client(self.name, self.settings)
        try:
            found = client.get_schema(number)
            kind = found.schema_type or "AVRO"
            if kind == "JSON":
                return Schema("JSON")
            if kind == "AVRO":
                return Schema("AVRO", json.loads(found.schema_str), _referred(client, found))
        except Exception as error:  # noqa: BLE001 - whatever its HTTP library raises
            if getattr(error, "http_status_code", None) == 404:
                raise SourceFileError(
                    f"{place}: the schema {number} is not in the registry of the connection "
                    f"{self.name}",
                    hint="Name the registry that the producer has, or let the topic have JSON.",
                ) from None
            raise ServiceError(
                f"{place}: the schema registry of the connection {self.name} does not answer: "
                f"{error}",
                hint="Look at the registry and at the connection; then retry the task.",
            ) from None
        raise SourceFileError(
            f"{place}: a value of {kind.title()}", hint="Let the topic have Avro or JSON."
        )


def _client(name: str, settings: Mapping[str, Any]) -> Any:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient
    except ImportError:
        raise ServiceError(
            f"the connection {name} names a schema registry, whose client is not installed",
            hint='pip install "forerun[kafka]"',
        ) from None
    try:
        return SchemaRegistryClient(dict(settings))
    except (TypeError, ValueError) as error:
        raise ServiceError(
            f"the connection {name}: {error}",
            hint=f"Settings of the registry are those of confluent_kafka's client after {PREFIX}",
        ) from None


def _referred(client: Any, schema: Any) -> dict[str, Any]:
    """Return the schemas that a schema refers to, those that they refer to before them."""
    found: dict[str, Any] = {}
    for one in schema.references or ():
        there = client.get_version(one.subject, one.version).schema
        found |= {**_referred(client, there), one.name: json.loads(there.schema_str)}
    return found
