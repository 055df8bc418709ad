"""Find what a sample of a source would tell: the columns that filters over it read, and whether one
of the filters is estimated by a guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from forerun.planner.algebra.relational import Filter, Scan, walk
from forerun.planner.algebra.scalar import references
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.selectivity import is_guessed
from forerun.planner.tvr.signed import ColumnIds


class Filtered(NamedTuple):
    """The filters of a query over a source. ``columns``: those that the filters read, in the order
    of the source. ``guessed``: whether a part of a filter is estimated by a fixed guess, which a
    sample would replace by a count."""

    columns: tuple[str, ...]
    guessed: bool


def filtered_sources(
    sql: str,
    sources: Sequence[Source],
    *,
    allowed_functions: Iterable[str] = (),
    parameters: Iterable[Parameter] = (),
) -> Mapping[str, Filtered]:
    """Return the sources that the query filters, by name. A query that cannot be read filters
    none: whoever plans it hears what is wrong with it."""
    declared = tuple(
        Source(name=s.name, columns=s.columns, changing=s.changing, change=s.change, keys=s.keys)
        for s in sources
    )
    # Without a colon the text has no parameter, and what is known of one day holds for all.
    used = tuple(parameters) if ":" in sql else ()
    return _filtered(sql, declared, tuple(allowed_functions), used)


@lru_cache(maxsize=128)
def _filtered(
    sql: str,
    sources: tuple[Source, ...],
    functions: tuple[str, ...],
    parameters: tuple[Parameter, ...],
) -> Mapping[str, Filtered]:
    """Do so by what sources are declared to be. A day asks once for each run, and again for what
    its first run knew: by then only figures are others."""
    try:
        query = read_query(sql, sources, allowed_functions=functions, parameters=parameters)
        relation = normalize(query.relation, sources, ColumnIds(query.last_id))
    except ForerunError:
        return {}
    found: dict[str, set[str]] = {}
    guessed = set()
    for node in walk(relation):
        if isinstance(node, Filter) and isinstance(node.input, Scan):
            read = references(node.predicate)
            names = {column.name for column in node.input.scanned if column.id in read}
            found.setdefault(node.input.source, set()).update(names)
            if is_guessed(node.predicate):
                guessed.add(node.input.source)
    columns = {source.name: [column.name for column in source.columns] for source in sources}
    return {
        source: Filtered(
            tuple(name for name in columns[source] if name in names), source in guessed
        )
        for source, names in sorted(found.items())
    }
