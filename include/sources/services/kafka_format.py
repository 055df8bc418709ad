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
from typing import TYPE_CHECKING

from forerun.include.sources.files import (
    Asked,
    Listing,
    Location,
    SourcePathError,
    TableVersion,
)
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.raw import Raw
from forerun.include.sources.services.kafka_messages import MessageReader, message_reader
from forerun.include.sources.services.kafka_topic import Offsets, Topic, open_topic
from forerun.include.sources.unread import SourceChangedError
from forerun.include.state.records import PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

_RANGE = re.compile(r"/(\d{4}-\d\d-\d\d)/(\d+)/(\d+)-(\d+)(!?)(\??)\Z", re.ASCII)
"""The end of the URI of a range: day, partition, first offset, the one after the last, whether no
message of the day comes after it, and whether some before it may have been lost."""
_ROWS = 200_000
"""Messages that are parsed at once."""


@dataclass(frozen=True, slots=True, order=True)
class _Range:
    """Messages of one day in one partition: from ``first`` up to ``end``, which is not among them.
    ``is_last``: none of the day comes after it; ``after_loss``: some before it may have been
    deleted unread."""

    day: str
    partition: int
    first: int
    end: int
    is_last: bool
    after_loss: bool = False

    @property
    def key(self) -> str:
        """What names it: the end of its URI."""
        marks = f"{'!' * self.is_last}{'?' * self.after_loss}"
        return f"{self.day}/{self.partition}/{self.first}-{self.end}{marks}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A day of one partition, as it is now: ``begin`` is the offset of its first message, ``after``
    that of the first one after it; None where there is none that late. ``done``: the last range
    that was copied; ``seen``: up to where earlier days were; ``over``: whether the day is."""

    day: str
    partition: int
    offsets: Offsets
    begin: int | None
    after: int | None
    done: _Range | None
    seen: int | None
    over: bool

    @property
    def end(self) -> int:
        """The offset after the last message of the day that there is."""
        return self.offsets.end if self.after is None else self.after


class KafkaFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat`: engines and samples read
    the copies, which are Parquet."""

    name = "kafka"
    has_files = False

    def listed(self, asked: Asked) -> Listing:
        """List what no pin has copied yet, beside what the last one has of these days; the first
        pin of a day goes on from what that of the day before has.

        Raises :class:`SourceChangedError` if messages in between have been deleted.
        """
        topic, last = open_topic(asked.paths[-1]), asked.last or asked.before
        known = last.files if last is not None and last.table == topic.identity else ()
        wanted = {str(each.day) for each in asked.days}
        kept = tuple(file for file in known if (one := _range(file.origin)) and one.day in wanted)
        if not asked.accepts_loss:
            for one in _done(kept):
                if one.after_loss:
                    raise _lost(topic, one.partition, one.first, None)
        ranges = [found for part in _parts(topic, asked, _done(known))
                  if (found := _next(topic, part, asked.accepts_loss)) is not None]  # fmt: skip
        return Listing(
            folder=None,
            raw=tuple(_raw(topic, one, ignores=asked.ignores) for one in ranges),
            days={one.key: one.day for one in ranges},
            table=TableVersion(topic.identity, 0, None),
            kept=kept,
        )

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:  # noqa: ARG002
        """List nothing: a topic has no files."""
        return ()


def _parts(topic: Topic, asked: Asked, done: Sequence[_Range]) -> Iterator[_Part]:
    """Yield the days of each partition, in order. ``done``: the ranges that were copied, of earlier
    days, too."""
    if not asked.days:
        raise SourcePathError(
            f"{topic.uri} is a topic, and nothing says in which time zone its days are",
            hint="Give the source a timezone.",
        )
    copied = {(one.day, one.partition): one for one in done}
    instants = [asked.days[0].begin, *(each.end for each in asked.days)]
    for number, offsets in topic.offsets(instants).items():
        ends = [one.end for one in done
                if one.partition == number and one.day < str(asked.days[0].day)]  # fmt: skip
        seen = max(ends, default=None)
        for place, each in enumerate(asked.days):
            day, over = str(each.day), asked.now is not None and asked.now >= each.end
            begin, after = offsets.at[place : place + 2]
            last = copied.get((day, number))
            part = _Part(day, number, offsets, begin, after, last, seen, over)
            yield part
            # What this day has, or gets now, is left: nothing behind it is lost.
            seen = max(part.end if over else 0, last.end if last else 0, seen or 0)


def _done(files: Sequence[PinnedFile]) -> list[_Range]:
    """The ranges that were copied, by partition and offset."""
    return sorted(one for file in files if (one := _range(file.origin)) is not None)


def _range(origin: str) -> _Range | None:
    """The range that the URI of one names."""
    found = _RANGE.search(origin)
    if found is None:
        return None
    day, *numbers = found.groups()[:4]
    partition, first, end = map(int, numbers)
    return _Range(day, partition, first, end, bool(found[5]), bool(found[6]))


def _next(topic: Topic, part: _Part, accepts_loss: bool) -> _Range | None:
    """Return what is to be copied of a day in a partition; None if that is nothing."""
    done, end, low = part.done, part.end, part.offsets.low
    if done is None and part.begin is None and not part.over:
        return None  # where the day begins there is known once it has a message
    first = done.end if done else end if part.begin is None else min(part.begin, end)
    if done and done.is_last and (first >= end or low > first):
        return None
    if first >= end and not (part.over and (done is None or not done.is_last)):
        return None
    lost = low > first if done else _may_be_lost(part)
    if lost and not accepts_loss:
        raise _lost(topic, part.partition, low, done)
    return _Range(part.day, part.partition, min(max(first, low), end), end, part.over, lost)


def _may_be_lost(part: _Part) -> bool:
    """Return whether messages of the day may have been deleted before its first pin: if those that
    are left begin within the day or after it, nobody knows what was before them. Unless the days
    before were read up to a message that is left."""
    begin = part.offsets.end if part.begin is None else part.begin
    unknown = 0 < part.offsets.low == begin
    return unknown and (part.seen is None or part.offsets.low > part.seen)


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
    return Raw(
        key=one.key,
        origin=f"{topic.uri}/{one.key}",
        identity=(topic.identity, one.key, str(ignores)),
        read=partial(_read, topic, one, ignores=ignores),
        verify=int,  # what has an offset never changes
        most=one.end - one.first,
    )


def _read(
    topic: Topic, one: _Range, declared: Sequence[ColumnSpec], *, ignores: bool
) -> pa.RecordBatchReader:
    import pyarrow as pa

    place = f"{topic.uri}, partition {one.partition}"
    reader = message_reader(topic.uri, topic.registry, place, declared, ignores=ignores)
    return pa.RecordBatchReader.from_batches(reader.held, _batches(topic, one, reader))


def _batches(topic: Topic, one: _Range, reader: MessageReader) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a range."""
    waiting: list[Message] = []
    if one.first < one.end:
        for taken in topic.messages(one.partition, one.first, one.end):
            waiting += taken
            if len(waiting) >= _ROWS:
                yield from reader.rows(waiting)
                waiting = []
    if waiting:
        yield from reader.rows(waiting)
