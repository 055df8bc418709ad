"""The keys of the rows of a table of PostgreSQL that have changed, by a logical replication slot.

A slot keeps what transactions have written, in the order of their commits. Here it only says where
to look: the rows with these keys are compared in the two states of the table, as all rows are where
there is no slot, so that nothing of a row is taken from it. A state of the table is what a
transaction sees that reads it. Of the next one, all transactions matter that it did not see, also
those that were committed by then and came into sight later.

Where the slot may have missed something, all rows are compared: it was moved, lost or made anew
since, the table was altered, rewritten or truncated, a key is NULL. The plugin is test_decoding,
which each server has, and which no publication filters.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forerun.include.sources.services.postgresql_server import connected
from forerun.include.sources.services.postgresql_table import OpenTable, schema_of_table
from forerun.include.sources.services.service_error import ServiceError
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.records import Pin
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)
_KEYS = ("smallint", "integer", "bigint", "text", "character varying", "uuid")
"""Types of keys, whose values the slot has as the table has them."""
_MOST = 200_000
"""With more changes than this, to read the whole table is not dearer."""
_STATE = """
SELECT s.plugin, s.database = current_database() AND NOT s.temporary, s.wal_status,
       s.confirmed_flush_lsn::text, pg_current_snapshot()::text,
       quote_ident(n.nspname) || '.' || quote_ident(c.relname),
       c.relkind = 'r' AND c.relpersistence = 'p' AND NOT c.relhassubclass AND NOT c.relrowsecurity,
       md5(concat_ws(' ', c.oid, c.xmin, n.xmin, pg_relation_filenode(c.oid), c.relreplident,
           current_setting('TimeZone'), current_setting('DateStyle'),
           (SELECT string_agg(concat_ws(' ', a.attnum, a.attname, a.atttypid, a.xmin), ' '
                              ORDER BY a.attnum)
            FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0))),
       ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
             AND NOT a.attisdropped AND (c.relreplident = 'f' OR a.attnum = ANY(
                 SELECT unnest(i.indkey) FROM pg_index i WHERE i.indrelid = c.oid
                 AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident
                     ELSE false END)))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_replication_slots s ON s.slot_name = $2 AND s.slot_type = 'logical'
WHERE c.oid = to_regclass($1)
"""
_CHANGES = """
SELECT lsn::text, xid::text, data
FROM pg_logical_slot_peek_changes($1, NULL, NULL, 'include-xids', '0')
WHERE data = 'COMMIT' OR starts_with(data, $2)
"""
_COLUMN = re.compile(
    r"""("(?:[^"]|"")+"|[^\s\["]+)\[((?:[^\[\]]|\[\])*)\]:"""
    r"""(null|'(?:[^']|'')*'|B'[01]*'|unchanged-toast-datum|[^\s']+)(?:\ |\Z)""",
    re.VERBOSE,
)
"""A column of a row as test_decoding writes it: name, type, value."""
_NOT_TOLD = {"null", "unchanged-toast-datum"}
"""Values that are none; texts stand in quotes."""


class _UnknownError(Exception):
    """A slot does not say which keys have changed."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a table as a slot tells it: where the slot began then, the ``end`` of what may be
    forgotten, since this state has seen it, the ``shape`` of the table and of the session, by which
    the same rows are read, and the transactions that it saw: all below ``xmin``, none from ``xmax``
    on, and in between those that were not ``running``."""

    lsn: str
    end: str
    shape: str
    xmin: int
    xmax: int
    running: frozenset[int]

    def sees(self, xid: int) -> bool:
        """Return whether the state has what a transaction wrote, given the low half of its number,
        which is near ``xmax``."""
        apart = (xid - self.xmax) % 2**32
        number = self.xmax + (apart - 2**32 if apart >= 2**31 else apart)
        return number < self.xmin or (number < self.xmax and number not in self.running)

    @property
    def age(self) -> tuple[int, int, int]:
        """Return what orders the marks of one table: the later one is greater."""
        return self.xmax, self.xmin, -len(self.running)

    def __str__(self) -> str:
        running = ",".join(map(str, sorted(self.running)))
        places = f"{self.lsn}.{self.end}".replace("/", "-")
        return f"{places}.{self.shape}.{self.xmin}.{self.xmax}.{running}"

    def is_told(self, now: Mark) -> bool:
        """Return whether a slot that began where it does now has all that came after this state."""
        return now.lsn in (self.lsn, self.end)


def mark_of(text: str) -> Mark | None:
    """Return the mark that a text ends with after a ``#``, as ``str`` wrote it."""
    found = re.search(r"#(\w+-\w+)\.(\w+-\w+)\.(\w+)\.(\d+)\.(\d+)\.([\d,]*)\Z", text)
    if found is None:
        return None
    lsn, end, shape, xmin, xmax, running = found.groups()
    lsn, end = lsn.replace("-", "/"), end.replace("-", "/")
    return Mark(lsn, end, shape, int(xmin), int(xmax), _numbers(running))


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split(","))) if text else frozenset()


def mark_of_pin(pin: Pin | None) -> Mark | None:
    """Return the last mark of the copies that a pin names."""
    found = [mark for file in (pin.files if pin else ()) if (mark := mark_of(file.origin))]
    return max(found, key=lambda mark: mark.age, default=None)


@dataclass(frozen=True, slots=True)
class Changed:
    """The answer of a slot at a state of a table, which the ``mark`` is of, None if it is lost:
    the ``keys`` of the rows that have changed since the last one, each once; None where all rows
    are to be compared."""

    mark: Mark | None
    keys: pa.Table | None


def changed(
    table: OpenTable, slot: str, key: Sequence[ColumnSpec], last: Pin | None, before: Pin | None
) -> Changed:
    """Return what has changed between the last pin and the state of an open table; ``before`` is
    the pin of an earlier day, if there is none of this one. What the newest of them has seen, the
    slot forgets: it is asked for no longer, whether this state is pinned or only looked at.

    Raises :class:`ServiceError` if there is no such slot, or not one that says it, and
    :class:`SourceFileError` for a table whose changes no slot tells by this key.
    """
    now, lost, name = _state(table, slot, key)
    if lost:
        _say(table, slot, f"it is lost; SELECT pg_drop_replication_slot('{slot}'), and create it")
        return Changed(None, None)
    known, mine = mark_of_pin(last or before), mark_of_pin(last)
    is_known = mine is not None and mine.is_told(now) and mine.shape == now.shape
    if last is not None and not is_known:
        _say(table, slot, "it was moved or made anew, or the table was altered")
    is_prefix, lines = True, list[str]()
    for lsn, xid, written in _transactions(table, slot, name if is_known else ""):
        is_prefix = is_prefix and now.sees(xid)
        now = replace(now, end=lsn) if is_prefix else now
        if mine is not None and is_known and not mine.sees(xid):
            lines += written
            is_known = len(lines) <= _MOST
    wanted = known.end if known is not None and known.is_told(now) else now.end
    mark = replace(now, lsn=_moved(table.uri, slot, wanted) if wanted != now.lsn else now.lsn)
    if not is_known:
        return Changed(mark, None)
    try:
        keys = {found for one in lines for found in _keys(one, name, key)}
        return Changed(mark, _table(table, key, keys))
    except _UnknownError as error:
        _say(table, slot, f"it does not tell which rows have changed: {error}")
        return Changed(mark, None)


def _say(table: OpenTable, slot: str, why: str) -> None:
    _LOG.warning("%s: all rows are compared, without the slot %s: %s", table.uri, slot, why)


def _transactions(table: OpenTable, slot: str, name: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the transactions that a slot has, in the order of their commits: where each ends, its
    number, and what it has written to the table of this name."""
    lines: list[str] = []
    for lsn, xid, data in _asked(table, _CHANGES, slot, f"table {name}: "):
        if data == "COMMIT":
            yield lsn, int(xid), lines
            lines = []
        else:
            lines.append(data)


def _moved(uri: str, slot: str, end: str) -> str:
    """Let a slot forget what was committed before an end; return where it begins now."""
    with connected(uri) as opened, opened.cursor() as cursor:
        cursor.execute(
            "SELECT end_lsn::text FROM pg_replication_slot_advance($1, $2::pg_lsn)", [slot, end]
        )
        found: str = cursor.fetchone()[0]
    return found


def _state(table: OpenTable, slot: str, key: Sequence[ColumnSpec]) -> tuple[Mark, bool, str]:
    """Return the mark of the state that an open table has, whether the slot is lost, and the
    table's name as the slot writes it. All that the state has seen is in the slot by then."""
    ((plugin, is_here, status, lsn, snapshot, name, is_plain, shape, identity),) = _asked(
        table, _STATE, table.name, slot
    )
    create = f"SELECT pg_create_logical_replication_slot('{slot}', 'test_decoding')"
    if plugin != "test_decoding" or not is_here:
        what = f"is of the plugin {plugin}" if plugin not in (None, "test_decoding") else "is none"
        raise ServiceError(
            f"{table.uri}: the slot {slot} {what} of this database",
            hint=f"Create it there, for this source alone: {create}.",
        )
    if not is_plain:
        raise SourceFileError(
            f"{table.uri}: a slot does not tell the changes of a view, a partitioned, inherited or "
            "unlogged table, or one with policies by row",
            hint="Leave slot out: all rows are compared then.",
        )
    for column in key:
        if column.name not in identity or table.types[column.name] not in _KEYS:
            raise SourceFileError(
                f"{table.uri}: the key column {column.name} is not of the replica identity, or no "
                "whole number, text or UUID",
                hint=f"ALTER TABLE {table.name} REPLICA IDENTITY FULL, or declare its primary key "
                "as key; or leave slot out.",
            )
    _flush(table.uri)
    xmin, xmax, running = snapshot.split(":")
    begin = lsn or "0/0"
    mark = Mark(begin, begin, shape, int(xmin), int(xmax), _numbers(running))
    return mark, status == "lost", name


def _flush(uri: str) -> None:
    """Have the server write its log to the disk, up to what it has now: a transaction that does not
    wait for that is seen before, and no slot has it yet. The commit of a message does so."""
    with connected(uri) as opened, opened.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = 'local'")
        cursor.execute("SELECT pg_logical_emit_message(true, 'forerun', '')")
        opened.commit()


def _asked(table: OpenTable, text: str, *given: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an answer, as they come."""
    table.cursor.execute(text, list(given))
    for batch in table.cursor.fetch_record_batch():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _keys(line: str, name: str, key: Sequence[ColumnSpec]) -> Iterator[tuple[str, ...]]:
    """Yield the keys that a change names: of the row that it writes, and of the one before."""
    kind, _, rest = line.removeprefix(f"table {name}: ").partition(": ")
    if kind not in ("INSERT", "UPDATE", "DELETE"):
        raise _UnknownError(kind.lower())
    at, rows = 0, [dict[str, str]()]
    while at < len(rest):
        if not rows[-1] and rest.startswith("old-key: ", at):
            at += len("old-key: ")
        elif rows[-1] and rest.startswith("new-tuple: ", at):
            at += len("new-tuple: ")
            rows.append({})
        found = _COLUMN.match(rest, at)
        if found is None:
            raise _UnknownError(f"{kind.lower()} of a row that it does not tell")
        column, _, value = found.groups()
        rows[-1][column[1:-1].replace('""', '"') if column[0] == '"' else column] = value
        at = found.end()
    for row in rows:
        values = [row.get(column.name, "null") for column in key]
        if not _NOT_TOLD.isdisjoint(values):
            raise _UnknownError("a key that is NULL or not told")
        yield tuple(v[1:-1].replace("''", "'") if v[0] == "'" else v for v in values)


def _table(table: OpenTable, key: Sequence[ColumnSpec], texts: set[tuple[str, ...]]) -> pa.Table:
    import pyarrow as pa

    schema = schema_of_table(table.uri, key)
    columns = zip(*sorted(texts), strict=True) if texts else [()] * len(key)
    return pa.Table.from_arrays(
        [pa.array(list(values), pa.string()).cast(field.type)
         for values, field in zip(columns, schema, strict=True)],
        schema=schema,
    )  # fmt: skip
