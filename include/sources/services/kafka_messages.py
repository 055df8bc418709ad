"""Messages of Kafka as rows: the values are objects of JSON or, with the mark of a schema registry,
records of Avro; the message itself has columns, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forerun.include.sources.services import schema_registry
from forerun.include.sources.services.avro_values import AvroReader, avro_reader
from forerun.include.sources.services.schema_registry import SchemaRegistry
from forerun.include.sources.texts import json_objects
from forerun.include.sources.unread import SourceFileError
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_OF_MESSAGE = {
    "_partition": "INT",
    "_offset": "BIGINT",
    "_timestamp": "TIMESTAMP",
    "_key": "STRING",
}
"""Columns that a message has beside those of its value, if they are declared, and their types."""


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Reads the messages of a topic as the columns that are declared, whose types of Arrow are
    ``held``. ``ignores``: what else their values have is not read."""

    uri: str
    registry: SchemaRegistry
    declared: Sequence[ColumnSpec]
    held: pa.Schema
    ignores: bool
    _avro: dict[int, AvroReader] = field(default_factory=dict)

    def rows(self, messages: Sequence[Message]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some messages, those of one format and schema together.

        Raises :class:`SourceFileError` for one that is no row, with its partition and offset.
        """
        by_schema: dict[int | None, list[Message]] = {}
        for message in messages:
            by_schema.setdefault(self._schema_of(message), []).append(message)
        for number, some in by_schema.items():
            yield from self._batches(some, self._values(number, some))

    def _schema_of(self, message: Message) -> int | None:
        value = message.value()
        if not value or not value.strip():
            raise SourceFileError(
                f"{self._place(message)}: a message without a value",
                hint="Messages are rows, each an object of JSON. Values that mean that a key is "
                "gone are those of a compacted topic, which is not read.",
            )
        return schema_registry.schema_of(value)

    def _values(self, number: int | None, messages: Sequence[Message]) -> pa.Table:
        """Return the columns that values have, of messages whose values name one schema."""
        if number is None:
            return self._of_json(messages, [message.value() or b"" for message in messages])
        place = self._place(messages[0])
        schema = self.registry.schema(number, place)
        values = [schema_registry.without_mark(message.value() or b"") for message in messages]
        if schema.kind == "JSON":
            return self._of_json(messages, values)
        if number not in self._avro:
            self._avro[number] = avro_reader(schema, place, self._declared, ignores=self.ignores)
        return self._of_avro(self._avro[number], messages, values)

    def _of_json(self, messages: Sequence[Message], values: Sequence[bytes]) -> pa.Table:
        lines = [value.replace(b"\n", b" ") for value in values]
        schema = self._schema
        try:
            return json_objects.rows_of(b"\n".join((*lines, b"")), schema, ignores=self.ignores)
        except ValueError as error:
            for message, line in zip(messages, lines, strict=True):
                json_objects.refuse_line(
                    self._place(message), line, schema, self._declared, ignores=self.ignores
                )
            raise SourceFileError(
                f"{self._place(messages[0])}, or one after it: {error}",
                hint="Write one object of JSON in each message, in UTF-8.",
            ) from None

    def _of_avro(
        self, reader: AvroReader, messages: Sequence[Message], values: Sequence[bytes]
    ) -> pa.Table:
        try:
            return reader.rows(values, self._schema)
        except ValueError as error:
            said, place = error, f"{self._place(messages[0])}, or one after it"
        for message, value in zip(messages, values, strict=True):
            try:
                reader.rows([value], self._schema)
            except ValueError as error:
                said, place = error, self._place(message)
                break
        raise SourceFileError(
            f"{place}: {str(said).splitlines()[0]}",
            hint="Correct the producer, or leave the column out.",
        )

    @property
    def _declared(self) -> Sequence[ColumnSpec]:
        """The columns of the values."""
        return [column for column in self.declared if column.name not in _OF_MESSAGE]

    @property
    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([self.held.field(column.name) for column in self._declared])

    def _batches(self, messages: Sequence[Message], values: pa.Table) -> list[pa.RecordBatch]:
        import pyarrow as pa

        columns = {name: values.column(name) for name in values.column_names}
        for name in self.held.names:
            if name not in columns:
                found = [self._of_message(message, name) for message in messages]
                columns[name] = pa.chunked_array([pa.array(found, self.held.field(name).type)])
        rows = pa.Table.from_arrays([columns[name] for name in self.held.names], schema=self.held)
        batches: list[pa.RecordBatch] = rows.to_batches()
        return batches

    def _of_message(self, message: Message, name: str) -> Any:
        match name:
            case "_partition":
                return message.partition()
            case "_offset":
                return message.offset()
            case "_timestamp":
                kind, milliseconds = message.timestamp()
                return None if kind == 0 else milliseconds * 1000
            case _:
                key = message.key()
                try:
                    return key.decode() if isinstance(key, bytes) else key
                except UnicodeDecodeError:
                    raise SourceFileError(
                        f"{self._place(message)}: the key is no text in UTF-8",
                        hint="Leave the column _key out.",
                    ) from None

    def _place(self, message: Message) -> str:
        return f"{self.uri}, partition {message.partition()}, offset {message.offset()}"


def message_reader(
    uri: str,
    registry: SchemaRegistry,
    place: str,
    declared: Sequence[ColumnSpec],
    *,
    ignores: bool,
) -> MessageReader:
    """Return what reads a topic's messages as these columns. Raises :class:`SourceFileError` for a
    column that they have no values of; ``place`` is what they are read from."""
    for column in declared:
        if (kind := _OF_MESSAGE.get(column.name, column.type)) != column.type:
            raise SourceFileError(
                f"{place}: the column {column.name} of a message is {kind}, and declared "
                f"{column.type}",
                hint=f"Declare it {kind}.",
            )
    held = json_objects.schema_of(place, declared)
    return MessageReader(uri, registry, declared, held, ignores)
