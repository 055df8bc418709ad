"""The keys of a table that hold: columns named like one, whose values were found to be unique on
each of the days that were looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from forerun.first_report.columns import SeenTable
from forerun.include.sources.files import locate_file
from forerun.include.state.records import PinnedFile
from forerun.include.verify.equality import plain_type
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 5_000_000
"""Keys of a table with more rows a day are not looked for: all of them would be read."""
_LIKE_A_KEY = re.compile(
    r"(^|_)(id|key|no|nr|num|number|code|uuid|guid|sk|pk)(_|\d|\Z)|[a-z0-9](Id|ID|Key)\Z|[a-z]key\Z"
)
_LIKE_A_PLACE = re.compile(
    r"(^|_)(line|seq|sequence|pos|position|idx|index|version)(_|\d|\Z)|[a-z](number|Number|No|Nr)\Z"
)
"""Names of what tells rows of one thing apart: only beside a column that names the thing."""
_OF_KEYS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "DATE", "DECIMAL")
_MOST_CANDIDATES = 6
_MOST_PLACES = 2
_MOST_COLUMNS = 3


def is_like_a_key(column: ColumnSpec) -> bool:
    """Return whether a column is named as those that tell rows apart are."""
    return bool(_LIKE_A_KEY.search(column.name)) and column.type.startswith(_OF_KEYS)


def _is_place(column: ColumnSpec) -> bool:
    return bool(_LIKE_A_PLACE.search(column.name)) and column.type.startswith(_OF_KEYS)


def find_key(table: SeenTable) -> tuple[str, ...]:
    """Return the fewest columns that are a key on each day, none of them with a NULL; none where no
    columns named like one are."""
    names_rows = [c.name for c in table.source.columns if is_like_a_key(c)][:_MOST_CANDIDATES]
    names_rows.sort(key=lambda name: name.lower() not in ("id", f"{_one(table.source.name)}_id"))
    places = [c.name for c in table.source.columns if c.name not in names_rows and _is_place(c)]
    candidates = names_rows + places[:_MOST_PLACES]
    days = [files for files in table.files.values() if sum(file.rows for file in files)]
    if not names_rows or not days or max(map(_rows, days)) > MOST_ROWS:
        return ()
    if max(map(_rows, days)) < 2:
        return ()  # one row says nothing
    read = [read_columns(files, candidates) for files in days]
    for count in range(1, _MOST_COLUMNS + 1):
        tried = (names for names in combinations(candidates, count) if names[0] in names_rows)
        for names in sorted(tried, key=lambda names: names[-1] in names_rows):
            if all(_is_key(rows, names) for rows in read):
                return names
    return ()


def read_columns(files: Iterable[PinnedFile], names: Sequence[str]) -> pa.Table:
    """Return some columns of files, in any case of their names; what a file has by its partition as
    texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = []
    for file in files:
        at = locate_file(file.uri)
        with at.store.open(at.key) as handle:
            same = {name.lower(): value for name, value in file.constants}
            with pq.ParquetFile(handle) as parquet:
                own = {name.lower(): name for name in parquet.schema_arrow.names}
                held = [name for name in names if name.lower() not in same]
                read = parquet.read(columns=[own[name.lower()] for name in held])
            values = [
                pa.array([same[name.lower()]] * read.num_rows)  # of none a NULL that fits any type
                if name.lower() in same
                else read.column(own[name.lower()])
                for name in names
            ]
            plain = [column.cast(plain_type(column.type)) for column in values]
            found.append(pa.table(plain, list(names)))
    return pa.concat_tables(found, promote_options="permissive")


def _rows(files: Sequence[PinnedFile]) -> int:
    return sum(file.rows for file in files)


def _is_key(rows: pa.Table, names: Sequence[str]) -> bool:
    columns: list[Any] = [rows.column(name) for name in names]
    if any(column.null_count for column in columns):
        return False
    return bool(rows.select(names).group_by(list(names)).aggregate([]).num_rows == rows.num_rows)


def _one(table: str) -> str:
    """The name of one row of a table that is named after many."""
    return re.sub(r"ies\Z", "y", table) if table.endswith("ies") else table.removesuffix("s")
