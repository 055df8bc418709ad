"""Which columns a sample of a source should have: those that a filter over it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.algebra.relational import Filter, Scan, walk
from planner.algebra.scalar import references
from planner.contract.plan_v1 import Parameter
from planner.request import Source
from planner.rules.normalize.driver import normalize
from planner.sql.frontend import read_query
from planner.tvr.signed import ColumnIds


def filtered_columns(
    sql: str,
    sources: Sequence[Source],
    *,
    allowed_functions: Iterable[str] = (),
    parameters: Iterable[Parameter] = (),
) -> Mapping[str, tuple[str, ...]]:
    """Of each source that the query filters, in the order of its columns. Raises what reading the
    query raises (:func:`planner.sql.frontend.read_query`)."""
    query = read_query(sql, sources, allowed_functions=allowed_functions, parameters=parameters)
    relation = normalize(query.relation, sources, ColumnIds(query.last_id))
    found: dict[str, set[str]] = {}
    for node in walk(relation):
        if isinstance(node, Filter) and isinstance(node.input, Scan):
            read = references(node.predicate)
            names = {column.name for column in node.input.scanned if column.id in read}
            found.setdefault(node.input.source, set()).update(names)
    columns = {source.name: [column.name for column in source.columns] for source in sources}
    return {
        source: tuple(name for name in columns[source] if name in names)
        for source, names in sorted(found.items())
    }
