"""Find what a sample of a source would tell: the columns that filters and generators over it read,
and whether one of these is estimated by a guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.algebra.aggregates.types import are_told_apart
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Relation,
    Scan,
    walk,
)
from forerun.planner.algebra.scalar import Call, references
from forerun.planner.algebra.types import ColumnId
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.selectivity import is_guessed
from forerun.planner.tvr.signed import ColumnIds


class Filtered(NamedTuple):
    """The filters and generators of a query over a source. ``columns``: those that they read, in
    the order of the source. ``guessed``: whether a part of a filter is estimated by a fixed guess,
    or a generator takes apart what no file says anything of: a sample would count both."""

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


def _scan_below(node: Generate) -> Scan | None:
    """The scan whose rows a generator makes rows of, filtered or not."""
    below = node.input
    while isinstance(below, Filter):
        below = below.input
    return below if isinstance(below, Scan) else None


def _counted(node: Relation) -> Iterator[tuple[str, set[str]]]:
    """Yield the columns of sources whose values are counted for percentiles and the like: how many
    there are decides whether that pays, and bounds say little of it. Floating-point numbers are not
    counted."""
    calls = [call for _, call in node.calls] if isinstance(node, Aggregate) else []
    read = frozenset[ColumnId]().union(
        *(call.references() for call in calls if function(call.name).of_counts is not None)
    )
    for scan in (below for below in walk(node) if read and isinstance(below, Scan)):
        columns = (column for column in scan.scanned if column.id in read)
        names = {column.name for column in columns if are_told_apart((column.type,))}
        if names:
            yield scan.source, names


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
        for source, names in _counted(node):
            found.setdefault(source, set()).update(names)
            guessed.add(source)
        if isinstance(node, Generate) and (scan := _scan_below(node)) is not None:
            computed = isinstance(node.call.args[0], Call) and node.call.args[0].name == "split"
            names = {c.name for c in scan.scanned if c.id in references(node.call)}
            if computed and names:
                found.setdefault(scan.source, set()).update(names)
                guessed.add(scan.source)
    columns = {source.name: [column.name for column in source.columns] for source in sources}
    return {
        source: Filtered(
            tuple(name for name in columns[source] if name in names), source in guessed
        )
        for source, names in sorted(found.items())
    }
