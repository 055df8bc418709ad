"""Deletes rows of a Delta table by deletion vectors, as Spark does and delta-rs cannot."""

from __future__ import annotations

import base64
import json
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from pyroaring import BitMap

_MAGIC = 1681511377
_GIT = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85 = bytes.maketrans(_GIT, _Z85)


def vector(deleted: Iterable[int], folder: Path, *, inline: bool) -> dict[str, Any]:
    """A vector with these rows, as the log names it; in a file of its own unless ``inline``."""
    rows = BitMap(deleted)
    bits = struct.pack("<iqI", _MAGIC, 1, 0) + rows.serialize()
    said = {"sizeInBytes": len(bits), "cardinality": len(rows)}
    if inline:
        padded = bits + b"\0" * (-len(bits) % 4)
        return {"storageType": "i", "pathOrInlineDv": _z85(padded), **said}
    name = uuid.uuid4()
    framed = b"\1" + struct.pack(">i", len(bits)) + bits + struct.pack(">I", zlib.crc32(bits))
    (folder / f"deletion_vector_{name}.bin").write_bytes(framed)
    return {"storageType": "u", "pathOrInlineDv": _z85(name.bytes), "offset": 1, **said}


def delete_by_vector(path: str, goes: Callable[[dict[str, Any]], bool], *, inline: bool) -> None:
    """Commit that the rows of a table for which ``goes`` says so are deleted, those of its data
    files alone: partition columns are not shown."""
    table, folder = DeltaTable(path), Path(path)
    before = _vectors(table)
    actions: list[dict[str, Any]] = []
    for add in _adds(folder):
        file = unquote(add["path"])
        gone = before.get(file, set())
        rows = pq.read_table(folder / file, partitioning=None).to_pylist()
        now = gone | {at for at, row in enumerate(rows) if goes(row)}
        if now == gone:
            continue
        removed = {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}
        for key in ("partitionValues", "size"):
            removed[key] = add[key]
        removed["extendedFileMetadata"] = True
        if add.get("deletionVector"):
            removed["deletionVector"] = add["deletionVector"]
        actions.append({"remove": removed})
        if len(now) < len(rows):
            marked = {
                **add,
                "dataChange": True,
                "deletionVector": vector(now, folder, inline=inline),
            }
            actions.append({"add": marked})
    if actions:
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (folder / "_delta_log" / f"{table.version() + 1:020d}.json").write_text(text)


def rows_of(path: str) -> list[dict[str, Any]]:
    """The rows of the newest version, deleted ones left out."""
    found = QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t")
    return pa.table(found).to_pylist()


def _adds(folder: Path) -> list[dict[str, Any]]:
    """The files of the newest version, by the commits, which are all there."""
    found: dict[str, dict[str, Any]] = {}
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                found.pop(action["remove"]["path"], None)
        for action in actions:
            if "add" in action:
                found[action["add"]["path"]] = action["add"]
    return list(found.values())


def _vectors(table: DeltaTable) -> dict[str, set[int]]:
    found, root = {}, table.table_uri.rstrip("/")
    for row in pa.table(table.deletion_vectors()).to_pylist():
        path = unquote(row["filepath"]).removeprefix(f"{unquote(root)}/")
        found[path] = {at for at, kept in enumerate(row["selection_vector"]) if not kept}
    return found


def _z85(data: bytes) -> str:
    return base64.b85encode(data).translate(_TO_Z85).decode()
