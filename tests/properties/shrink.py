"""Makes a failing case small: fewer clauses, fewer rows, fewer runs, while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.properties.cases import Case, QueryCase, Select, TableCase

Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails, budget: int = 400) -> Case:
    """The smallest case found with at most ``budget`` trials; it fails like the one given."""
    tries = 0
    progress = True
    while progress and tries < budget:
        progress = False
        for candidate in _smaller(case):
            tries += 1
            if tries >= budget:
                break
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Big cuts first: whole deliveries, then clauses, then halves of deliveries, then rows."""
    for name, table in case.tables.items():
        if table.rows(case.runs):
            empty = tuple(() for _ in table.deliveries)
            yield _with_table(case, name, replace(table, deliveries=empty))
    for query in _smaller_queries(case.query):
        yield replace(case, query=query)
    if case.runs > 2:
        yield _with_fewer_runs(case)
    for name, table in case.tables.items():
        for index, delivery in enumerate(table.deliveries):
            size = len(delivery)
            step = max(1, size // 2)
            while size and step:
                for start in range(0, size, step):
                    rest = delivery[:start] + delivery[start + step :]
                    parts = (*table.deliveries[:index], rest, *table.deliveries[index + 1 :])
                    yield _with_table(case, name, replace(table, deliveries=parts))
                step //= 2


def _with_table(case: Case, name: str, table: TableCase) -> Case:
    return replace(case, tables={**case.tables, name: table})


def _with_fewer_runs(case: Case) -> Case:
    """The last two deliveries arrive together."""
    tables = {
        name: replace(
            table, deliveries=(*table.deliveries[:-2], table.deliveries[-2] + table.deliveries[-1])
        )
        if table.changing
        else table
        for name, table in case.tables.items()
    }
    return replace(case, tables=tables, runs=case.runs - 1)


def _smaller_queries(query: QueryCase) -> Iterator[QueryCase]:
    for i, select in enumerate(query.selects):
        if len(query.selects) > 1:
            yield replace(query, selects=query.selects[:i] + query.selects[i + 1 :])
        for smaller in _smaller_selects(select, query):
            yield replace(query, selects=(*query.selects[:i], smaller, *query.selects[i + 1 :]))


def _smaller_selects(select: Select, query: QueryCase) -> Iterator[Select]:
    for field in ("joins", "where", "having"):
        items = getattr(select, field)
        for i in range(len(items)):
            yield replace(select, **{field: items[:i] + items[i + 1 :]})
    for i, join in enumerate(select.joins):
        for j in range(len(join.on)):
            thin = replace(join, on=join.on[:j] + join.on[j + 1 :])
            yield replace(select, joins=(*select.joins[:i], thin, *select.joins[i + 1 :]))
    alone = len(query.selects) == 1 and query.outer == "{0}" and not query.order
    if alone and len(select.items) > 1:
        for i in range(len(select.items)):
            group = tuple(g for g in select.group if g != select.items[i])
            yield replace(select, items=select.items[:i] + select.items[i + 1 :], group=group)
