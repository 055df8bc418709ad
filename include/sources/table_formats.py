"""Folders that belong to a table format, found by what the format itself keeps beside the data.

What is in such a table is said by its log, not by its folder: files that were deleted, compacted or
never committed still lie there, and a file that nobody has told the log of is not in the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from forerun.include.stores.store import Store, StoreDeniedError
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.sources.files import Location

_THREADS = 8


class TableFormatError(ForerunError):
    """A folder that is to be read or written as plain files belongs to a table of another kind."""

    code = "table-format"


@dataclass(frozen=True, slots=True)
class _Mark:
    """A table format, by what it keeps in the folder ``folder`` of a table's root: files whose
    names match ``names``."""

    table: str
    folder: str
    names: re.Pattern[str] = re.compile("")


_MARKS = (
    _Mark("a Delta table", "_delta_log"),
    _Mark("an Iceberg table", "metadata", re.compile(r"\.metadata\.json")),
    _Mark("a Hudi table", ".hoodie"),
    _Mark("the output of a Spark stream", "_spark_metadata"),
    _Mark("a Paimon table", "snapshot", re.compile(r"\A(snapshot-[0-9]+|LATEST|EARLIEST)\Z")),
)
_OF_FOLDER = {mark.folder: mark for mark in _MARKS}

_HIVE_ACID = re.compile(
    r"(base_[0-9]{7,}|(delete_)?delta_[0-9]{7,}_[0-9]{7,}(_[0-9]{4})?)(_v[0-9]+)?\Z"
)
"""Folders of a transactional table of Hive, each with the rows of some transactions."""


def refuse_tables_below(store: Store, folder: str, keys: Iterable[str]) -> None:
    """Raise :class:`TableFormatError` if one of ``keys``, which lie below ``folder``, shows that a
    table of another format lies in it."""
    start = len(folder) + 1
    for key in keys:
        parts = key[start:].split("/")[:-1]
        for depth, part in enumerate(parts):
            root = "/".join((folder, *parts[:depth]))
            if _HIVE_ACID.match(part):
                raise _refused(store.uri(root), "a transactional table of Hive", part)
            mark = _OF_FOLDER.get(part)
            if mark and depth == len(parts) - 1 and mark.names.search(key.rpartition("/")[2]):
                raise _refused(store.uri(root), mark.table, part)
            if mark and mark.names.pattern == "":
                raise _refused(store.uri(root), mark.table, part)


def refuse_tables_above(location: Location) -> None:
    """Raise :class:`TableFormatError` if ``location`` itself or a folder that it lies in is the
    root of a table of another format. On a disk links are followed, too. A folder above that may
    not be listed says nothing."""
    keys = {location.key}
    if not location.has_etags:
        keys.add(os.path.realpath(f"/{location.key}").strip("/"))
    roots = list(dict.fromkeys(root for key in sorted(keys) for root in _roots(key)))
    for key in sorted(keys):
        for part in key.split("/"):
            if _HIVE_ACID.match(part):
                raise _refused(location.store.uri(key), "a transactional table of Hive", part)
    pairs = [(root, mark) for root in roots for mark in _MARKS]
    look = partial(_is_marked, location.store)
    if not location.has_etags:
        found = [look(pair) for pair in pairs]
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            found = list(pool.map(look, pairs))
    for (root, mark), there in zip(pairs, found, strict=True):
        if there:
            where = location.store.uri(root) if root else location.store.root
            raise _refused(where, mark.table, mark.folder)


def _roots(key: str) -> Iterator[str]:
    """The folder itself and all above it, the nearest first; "" for the root of the store."""
    while key:
        yield key
        key = key.rpartition("/")[0]
    yield ""


def _is_marked(store: Store, pair: tuple[str, _Mark]) -> bool:
    root, mark = pair
    folder = f"{root}/{mark.folder}" if root else mark.folder
    with suppress(StoreDeniedError):
        return any(mark.names.search(f.key[len(folder) + 1 :]) for f in store.list(folder))
    return False


def _refused(where: str, table: str, by: str) -> TableFormatError:
    return TableFormatError(
        f"{where} is {table} (it has {by}), not a folder of plain files",
        hint="Read or write it by its own format: its log alone says which files are in it. As a "
        'source, it is read by format="delta" or "iceberg"; of others, export a day\'s rows as '
        "plain Parquet files into a folder of their own. As a sink, publish into a plain folder, "
        "and load it from there.",
    )
