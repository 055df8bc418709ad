"""Texts whose items have no alias, and which read them by the names that Spark gives them."""

# ruff: noqa: E501 - lists of texts

from __future__ import annotations

from collections.abc import Callable

OneOf = Callable[[tuple[str, ...]], str]

_PLAIN = {
    "a": "a", "t.b": "b", "CAST(a AS STRING)": "a", "b::BIGINT": "b", "(s)": "s", "int(r)": "r", "t.k": "k",
    "a + 1": "(a + 1)", "upper(s)": "upper(s)", "-a": "(- a)", "s || r": "concat(s, r)", "1": "1", "'y'": "y",
    "CASE WHEN x THEN a END": "CASE WHEN x THEN a END", "a > 1": "(a > 1)", "d + 1": "date_add(d, 1)",
    "ts - INTERVAL '1' DAY": "ts - INTERVAL '1' DAY", "d - d": "(d - d)", "coalesce(a, 0)": "coalesce(a, 0)",
    "count(*) OVER (PARTITION BY s)": "count(1) OVER (PARTITION BY s ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "row_number() OVER (ORDER BY a)": "row_number() OVER (ORDER BY a ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "DATE(ts)": "ts", "a IS NULL": "(a IS NULL)", "NOT x": "(NOT x)", "m / 2": "(m / 2)", "date_trunc('DAY', ts)": "date_trunc(DAY, ts)",
    "a IN (1, 2)": "(a IN (1, 2))", "CAST(a + 1 AS STRING)": "CAST((a + 1) AS STRING)", "struct(a, s).s": "named_struct(a, a, s, s).s",
    "d - INTERVAL 1 MONTH": "d - INTERVAL '1' MONTH", "r AS q": "q",
}  # fmt: skip
_GROUPED = {
    "count(*)": "count(1)", "sum(a)": "sum(a)", "max(t.s)": "max(s)", "CAST(min(a) AS STRING)": "CAST(min(a) AS STRING)",
    "sum(a) / count(a)": "(sum(a) / count(a))", "avg(m) FILTER (WHERE x)": "avg(m) FILTER (WHERE x)", "max(d) - min(d)": "(max(d) - min(d))",
    "count(DISTINCT b)": "count(DISTINCT b)", "sum(CASE WHEN x THEN 1 ELSE 0 END)": "sum(CASE WHEN x THEN 1 ELSE 0 END)",
    "rank() OVER (ORDER BY sum(a))": "RANK() OVER (ORDER BY sum(a) ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "max(ts) - INTERVAL 1 HOUR": "max(ts) - INTERVAL '01' HOUR", "array_agg(a)": "collect_list(a)", "s": "s", "any_value(s)": "any_value(s)",
}  # fmt: skip
_READ = (
    "SELECT {0} FROM ({q}) q", "SELECT q.{0}, {1} FROM ({q}) q WHERE {0} IS NOT NULL", "WITH q AS ({q}) SELECT {0}, count(*) FROM q GROUP BY {0}",
    "{q} ORDER BY {0}", "{q} ORDER BY {1} DESC, {0} LIMIT 3", "SELECT * EXCEPT ({0}), 1 AS one FROM ({q})", "SELECT p.{0}, q.{1} FROM ({q}) p JOIN ({q}) q USING ({0})",
    "{q} UNION ALL {q} ORDER BY {0}", "SELECT upper({0}) FROM ({q})", "SELECT max({1}) OVER (PARTITION BY {0}) FROM ({q})", "SELECT DISTINCT {0} FROM ({q}) ORDER BY {0}",
    "SELECT {1} FROM ({q}) GROUP BY {1} HAVING count({0}) > 1", "SELECT * FROM ({q}) WHERE {0} = {1}", "WITH q AS ({q}) SELECT {0} + 1 FROM q", "SELECT q.* FROM ({q}) q",
    "SELECT CAST({0} AS STRING), {1} FROM ({q})", "SELECT count({0}), {1} FROM ({q}) GROUP BY ALL", "SELECT {0} FROM ({q}) q NATURAL JOIN ({q}) p",
    "SELECT q.{0} FROM ({q}) q ORDER BY {1}", "WITH q AS ({q}) SELECT * FROM q WHERE {0} IN (SELECT {0} FROM q)", "SELECT * FROM ({q}) ORDER BY ALL",
)  # fmt: skip


def named(one_of: OneOf) -> str:
    """A query over items without alias. The names of them are written as they are or in capitals,
    where a name is an identifier also without quotes."""
    grouped = one_of(("plain", "plain", "grouped")) == "grouped"
    items = _GROUPED if grouped else _PLAIN
    chosen = [one_of(tuple(items)) for _ in range(int(one_of(("1", "2", "2", "3"))))]
    after = one_of(("", " WHERE a > 1"))
    if grouped:
        after += one_of(("", " GROUP BY s", " GROUP BY s", " GROUP BY ALL"))
    distinct = one_of(("",) * 6 + ("DISTINCT ",))
    inner = f"SELECT {distinct}{', '.join(chosen)} FROM t{after}"
    names = [_written(items[one], one_of) for one in (chosen[0], chosen[-1])]
    return one_of(_READ).format(*names, q=inner)


def _written(name: str, one_of: OneOf) -> str:
    shown = one_of((name, name, name.upper()))
    return (
        shown
        if name.isidentifier() and one_of(("bare", "bare", "quoted")) == "bare"
        else f"`{shown}`"
    )
