"""The lineage of TPC-H, held against rows: what is no origin of a column, and decides no rows, may
hold anything. Its values are moved to other rows, and the column stays as it was."""

from __future__ import annotations

from collections import Counter

import pytest

from forerun.planner.props.lineage import lineage
from forerun.planner.sql.frontend import read_query
from tests.planner.sql import tpch
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session

NAMES = tuple(path.stem for path in tpch.TEXTS)
ROWS = tpch.rows()


def moved(kept: frozenset[tuple[str, str]]) -> PlainSailEngine:
    """The tables, with the values of each column that is not kept moved down by its own number of
    rows."""
    engine = PlainSailEngine(sail_session())
    for name, columns in tpch.COLUMNS.items():
        rows = list(zip(*ROWS[name], strict=True))
        for place, (column, _) in enumerate(columns):
            if (name, column) not in kept:
                by = (place + 1) % len(rows[place])
                rows[place] = rows[place][by:] + rows[place][:by]
        engine.bind(name, columns, list(zip(*rows, strict=True)))
    return engine


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_origin_may_hold_anything(name: str, sail: PlainSailEngine) -> None:
    text = next(path.read_text() for path in tpch.TEXTS if path.stem == name)
    query = read_query(text, tpch.SOURCES)
    found = lineage(query.relation)
    wanted = sail.query(text)
    by_origins: dict[frozenset[tuple[str, str]], list[int]] = {}
    for place, column in enumerate(query.relation.columns):
        origins = found.columns[column.id] | found.rows
        kept = frozenset((o.source, o.column) for o in origins)
        by_origins.setdefault(kept, []).append(place)
    for kept, places in by_origins.items():
        rows = moved(kept).query(text)
        for place in places:
            assert Counter(row[place] for row in rows) == Counter(row[place] for row in wanted)
