"""Topics of Kafka: the messages of a report's days, copied as they come.

A topic is a relation whose early rows go: its brokers delete messages by age and size. So what a
pin has copied is never asked for again, and a run reads it in the store, whichever run it is: the
copies are the chain of rows that begins with the first pin of a day (streams as relations over a
bounded buffer: Winter, chapter 3). Messages that went before they were read are a named error.

A day has, of each partition, the messages from the first one whose time is not before the day's
beginning, up to the first one whose time is not before its end. So each message is of one day, also
where times are those of producers, and go back. Once a day is over, its last range is closed: what
the brokers delete after that was not of the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from forerun.include.sources.files import (
    Asked,
    DayBounds,
    Listing,
    Location,
    SourcePathError,
    TableVersion,
)
from forerun.include.sources.json_objects import refuse_line, rows_of, schema_of
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.raw import Raw
from forerun.include.sources.services.kafka_topic import Offsets, Topic, open_topic
from forerun.include.sources.unread import SourceChangedError, SourceFileError
from forerun.include.state.records import PinnedFile
from forerun.include.state.store import StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_RANGE = re.compile(r"/(\d+)/(\d+)-(\d+)(!?)(\??)\Z", re.ASCII)
"""The end of the URI of a range: partition, first offset, the one after the last, whether no
message of the day comes after it, and whether some before it may have been lost."""
_ROWS = 200_000
"""Messages that are parsed at once."""
_OF_MESSAGE = {
    "_partition": "INT",
    "_offset": "BIGINT",
    "_timestamp": "TIMESTAMP",
    "_key": "STRING",
}
"""Columns that a message has beside those of its value, if they are declared, and their types."""


@dataclass(frozen=True, slots=True, order=True)
class _Range:
    """Messages of one partition: from ``first`` up to ``end``, which is not among them.
    ``is_last``: none of the day comes after it; ``after_loss``: some before it may have been
    deleted unread."""

    partition: int
    first: int
    end: int
    is_last: bool
    after_loss: bool = False


class KafkaFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "kafka"
    has_files = False

    def listed(self, asked: Asked) -> Listing:
        """List what no pin has copied yet, beside what the last one has.

        Raises :class:`SourceChangedError` if messages in between have been deleted.
        """
        topic, days = open_topic(asked.paths[-1]), _days(asked)
        last = asked.last if asked.last and asked.last.table == topic.identity else None
        done = _done(last.files if last else ())
        if lost := [each for each in done if each.after_loss and not asked.accepts_loss]:
            raise _lost(topic, lost[0].partition, lost[0].first, None)
        before = {each.partition: each for each in done}
        over = asked.now is not None and asked.now >= days.end
        ranges = [
            found
            for number, at in topic.offsets([days.begin, days.end]).items()
            if (found := _next(topic, number, at, before.get(number), over, asked)) is not None
        ]
        return Listing(
            folder=None,
            raw=tuple(_raw(topic, one, ignores=asked.ignores) for one in ranges),
            table=TableVersion(topic.identity, 0, None),
            kept=last.files if last else (),
        )

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:  # noqa: ARG002
        """List nothing: a topic has no files."""
        return ()


def _days(asked: Asked) -> DayBounds:
    if asked.days is None:
        raise SourcePathError(
            f"{asked.paths[-1]} is a topic, and nothing says in which time zone its days are",
            hint="Give the source a timezone.",
        )
    return asked.days


def _done(files: Sequence[PinnedFile]) -> list[_Range]:
    """The ranges that were copied, by partition and offset."""
    return sorted(one for file in files if (one := _range(file.origin)) is not None)


def _range(origin: str) -> _Range | None:
    """The range that the URI of one names."""
    found = _RANGE.search(origin)
    if found is None:
        return None
    return _Range(int(found[1]), int(found[2]), int(found[3]), bool(found[4]), bool(found[5]))


def _next(
    topic: Topic, partition: int, offsets: Offsets, done: _Range | None, over: bool, asked: Asked
) -> _Range | None:
    """Return what is to be copied of a partition; None if that is nothing. ``done``: the last range
    that was; ``over``: whether the day is."""
    begin, after = offsets.at
    end = offsets.end if after is None else after
    if done is None and begin is None and not over:
        return None  # where the day begins there is known once it has a message
    first = done.end if done else end if begin is None else min(begin, end)
    if done and done.is_last and (first >= end or offsets.low > first):
        return None
    if first >= end and not (over and (done is None or not done.is_last)):
        return None
    lost = offsets.low > first if done else _may_be_lost(topic, partition, offsets, asked)
    if lost and not asked.accepts_loss:
        raise _lost(topic, partition, offsets.low, done)
    return _Range(partition, min(max(first, offsets.low), end), end, over, after_loss=lost)


def _may_be_lost(topic: Topic, partition: int, offsets: Offsets, asked: Asked) -> bool:
    """Return whether messages of the day may have been deleted before its first pin: if those that
    are left begin within the day or after it, nobody knows what was before them. Unless the day
    before was read up to a message that is left."""
    begin = offsets.end if offsets.at[0] is None else offsets.at[0]
    if not 0 < offsets.low == begin:
        return False
    known = _done(asked.before.files) if asked.before else []
    ends = [one.end for one in known if one.partition == partition]
    same = asked.before is not None and asked.before.table == topic.identity
    return not (same and ends and offsets.low <= max(ends))


def _lost(topic: Topic, partition: int, low: int, done: _Range | None) -> SourceChangedError:
    place = f"{topic.uri}, partition {partition}"
    if done:
        return SourceChangedError(
            f"{place}: the messages from offset {done.end} to {low - 1} were deleted "
            "before they were read",
            hint="Let the topic keep messages for longer, or let runs come more often. The day can "
            'be had without them: lost_rows="accept" of the source.',
        )
    return SourceChangedError(
        f"{place}: what is left begins with offset {low}, within the day or after it, and the "
        "messages before that were deleted: some of them may have been of the day",
        hint="Let the topic keep messages for longer than from the beginning of a day to its "
        "first run, or let that be earlier. If none of them was of the day, or the day may be "
        'without them: lost_rows="accept" of the source.',
    )


def _raw(topic: Topic, one: _Range, *, ignores: bool) -> Raw:
    key = f"{one.partition}/{one.first}-{one.end}{'!' * one.is_last}{'?' * one.after_loss}"
    return Raw(
        key=key,
        origin=f"{topic.uri}/{key}",
        identity=(topic.identity, key, str(ignores)),
        read=partial(_read, topic, one, ignores=ignores),
        verify=int,  # what has an offset never changes
        most=one.end - one.first,
    )


def _read(
    topic: Topic, one: _Range, declared: Sequence[ColumnSpec], *, ignores: bool
) -> pa.RecordBatchReader:
    import pyarrow as pa

    place = f"{topic.uri}, partition {one.partition}"
    values = [column for column in declared if column.name not in _OF_MESSAGE]
    for column in declared:
        if (kind := _OF_MESSAGE.get(column.name, column.type)) != column.type:
            raise SourceFileError(
                f"{place}: the column {column.name} of a message is {kind}, and declared "
                f"{column.type}",
                hint=f"Declare it {kind}.",
            )
    held = schema_of(place, declared)
    batches = _batches(topic, one, values, held, ignores=ignores)
    return pa.RecordBatchReader.from_batches(held, batches)


def _batches(
    topic: Topic, one: _Range, values: Sequence[ColumnSpec], held: pa.Schema, *, ignores: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a range. ``values``: the columns that the values of messages have."""
    waiting: list[Message] = []
    if one.first < one.end:
        for taken in topic.messages(one.partition, one.first, one.end):
            waiting += taken
            if len(waiting) >= _ROWS:
                yield from _rows(topic.uri, waiting, values, held, ignores=ignores)
                waiting = []
    if waiting:
        yield from _rows(topic.uri, waiting, values, held, ignores=ignores)


def _rows(
    uri: str,
    messages: Sequence[Message],
    values: Sequence[ColumnSpec],
    held: pa.Schema,
    *,
    ignores: bool,
) -> list[pa.RecordBatch]:
    import pyarrow as pa

    schema = pa.schema([held.field(column.name) for column in values])
    lines = [_line(uri, message) for message in messages]
    try:
        rows = rows_of(b"".join(lines), schema, ignores=ignores)
    except ValueError as error:
        for message, line in zip(messages, lines, strict=True):
            refuse_line(_place(uri, message), line[:-1], schema, values, ignores=ignores)
        raise SourceFileError(
            f"{_place(uri, messages[0])}, or one after it: {error}",
            hint="Write one object of JSON in each message, in UTF-8.",
        ) from None
    named = {name: rows.column(name) for name in rows.column_names}
    for name in held.names:
        if name not in named:
            found = [_of_message(uri, message, name) for message in messages]
            named[name] = pa.chunked_array([pa.array(found, held.field(name).type)])
    columns = [named[name] for name in held.names]
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=held).to_batches()
    return batches


def _line(uri: str, message: Message) -> bytes:
    """Return the value of a message as a line."""
    value = message.value()
    if not value or not value.strip():
        raise SourceFileError(
            f"{_place(uri, message)}: a message without a value",
            hint="Messages are rows, each an object of JSON. Values that mean that a key is gone "
            "are those of a compacted topic, which is not read.",
        )
    if value[0] == 0:
        raise SourceFileError(
            f"{_place(uri, message)}: no JSON, but the mark of a schema registry (Avro, Protobuf)",
            hint="Let the topic have JSON.",
        )
    return value.replace(b"\n", b" ") + b"\n"


def _of_message(uri: str, message: Message, name: str) -> Any:
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
                    f"{_place(uri, message)}: the key is no text in UTF-8",
                    hint="Leave the column _key out.",
                ) from None


def _place(uri: str, message: Message) -> str:
    return f"{uri}, partition {message.partition()}, offset {message.offset()}"
