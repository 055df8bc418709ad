"""Texts of the grammar with PIVOT, UNPIVOT, LATERAL subqueries, time windows, ordered aggregates
and recursive queries."""

# ruff: noqa: E501 - lists of texts

from __future__ import annotations

from collections.abc import Callable

OneOf = Callable[[tuple[str, ...]], str]


def turned(one_of: OneOf) -> str:
    """A query with PIVOT or UNPIVOT behind a table, as it may be written and as it may not."""
    table = one_of(
        ("t", "(SELECT a, s, m FROM t)", "(SELECT a, s, k, b FROM t) q", "u AS u", "t, u")
    )
    if one_of(("pivot", "unpivot")) == "pivot":
        made = one_of((
            "sum(a)", "count(*)", "max(s)", "sum(m) AS total, count(*)", "avg(a) x, min(a) + 1 y", "a",
            "count(DISTINCT a)", "sum(a) FILTER (WHERE a > 1)", "max(d), count(*) AS n", "first(a)",
            "collect_list(a)", "sum(a) * 2", "stddev(a)", "percentile(a, 0.5)",
        ))  # fmt: skip
        by = one_of(("s", "a", "(a, s)", "b", "x", "a + 1", "t.s", "(s)"))
        values = one_of((
            "'x', 'y'", "'x' AS ex, 'y' why", "1, 2", "1 AS one, NULL AS nil", "(1, 'x') AS p, (2, 'y') q",
            "(1, 'x'), (2, 'y')", "true, false", "'x'", "1 + 1 AS two", "a", "'1', 2", "NULL", "1.50, -1",
            "'x', 'x'", "DATE'2020-01-01' AS d1", "upper('x')", "SELECT 1",
        ))  # fmt: skip
        turn = f"PIVOT ({made} FOR {by} IN ({values}))"
    else:
        nulls = one_of(("", "", "INCLUDE NULLS ", "EXCLUDE NULLS "))
        inner = one_of((
            "v FOR n IN (a, b)", "v FOR n IN (a AS one, b two)", "(v, w) FOR n IN ((a, s), (b, r))",
            "(v, w) FOR n IN ((a, s) AS one, (b, r) two)", "v FOR n IN (a, s)", "v FOR n IN (a)",
            "v FOR n IN (m, a)", "(v) FOR n IN ((a), (b))", "v FOR n IN (t.a, b)", "v FOR n IN (a, nope)",
            "v FOR n IN (a + 1)", "v FOR n IN (d, ts)", "v FOR s IN (a, k)",
        ))  # fmt: skip
        turn = f"UNPIVOT {nulls}({inner}) {one_of(('', '', 'AS q', 'q'))}"
    what = one_of(("*", "*", "count(*)", "a", "s, n, v", "q.*", "n, sum(v)", "`x`", "x_total"))
    after = one_of(
        ("", "", "WHERE a > 1", "JOIN t r ON true", "ORDER BY 1", "GROUP BY n", "LIMIT 2")
    )
    return f"SELECT {what} FROM {table} {turn} {after}"


def sideways(one_of: OneOf) -> str:
    """A query with a LATERAL subquery."""
    inner = one_of((
        "SELECT max(c) AS v FROM u WHERE u.a = t.a", "SELECT c AS v FROM u WHERE u.a = t.a ORDER BY c LIMIT 1",
        "SELECT t.a + 1 AS v", "SELECT t.a + 1 AS v WHERE t.b > 1", "SELECT count(*) AS v FROM u WHERE u.a = t.a",
        "SELECT c AS v FROM u WHERE u.c > t.a", "SELECT * FROM u", "SELECT u.a FROM u WHERE u.s = t.s UNION ALL SELECT t.b",
        "SELECT c AS v FROM u LIMIT 2", "SELECT DISTINCT c AS v FROM u WHERE u.a = t.a", "SELECT sum(t.a) AS v FROM u",
        "SELECT count(*) AS v FROM u WHERE u.a = t.a GROUP BY u.s", "SELECT v FROM (SELECT t.k AS v)", "SELECT nope AS v",
        "SELECT row_number() OVER (ORDER BY c) AS v FROM u WHERE u.a = t.a", "VALUES (1), (2)",
    ))  # fmt: skip
    kind = one_of((
        ", LATERAL", "JOIN LATERAL", "LEFT JOIN LATERAL", "CROSS JOIN LATERAL", "INNER JOIN LATERAL",
        "RIGHT JOIN LATERAL", "LEFT SEMI JOIN LATERAL",
    ))  # fmt: skip
    alias = one_of(("l", "AS l", "l(v)", "", "AS l(v, w)"))
    on = (
        ""
        if kind == ", LATERAL"
        else one_of(("", "ON true", "ON true", "ON v = t.a", "ON l.v > 1"))
    )
    what = one_of(("*", "t.a, l.v", "v", "l.*", "count(*)", "t.a, v + 1 AS w"))
    after = one_of(("", "", "WHERE t.a > 1", "GROUP BY ALL", "ORDER BY 1", "WHERE v IS NOT NULL"))
    return f"SELECT {what} FROM t {kind} ({inner}) {alias} {on} {after}"


def timed(one_of: OneOf) -> str:
    """A query with a time window."""
    call = one_of((
        "window(ts, '1 hour')", "window(ts, '1 hour', '15 minutes')", "window(ts, '1 day', '1 day', '6 hours')",
        "session_window(ts, '30 minutes')", "window(d, '1 week')", "window(ts, '10')", "window(ts, 'interval 2 days')",
        "window(ts, '1 month')", "window(ts, '1 hour 30 minutes')", "window(a, '1 hour')", "session_window(ts, '1 day')",
        "window(ts, '1 hour', '2 hours')", "window(ts)", "WINDOW(ts, '2 minutes')", "session_window(d, '2 days')",
        "window(ts, '-1 hour')", "window(ts, '0 seconds')", "window(ts, INTERVAL '1' HOUR)",
    ))  # fmt: skip
    name = "session_window" if call.startswith("session") else "window"
    more = one_of(("", "", ", s", ", x, a + 1"))
    if one_of(("grouped", "grouped", "plain")) == "plain":
        what = one_of(
            (
                call,
                f"{call} AS w",
                f"a, {call}",
                f"{call}.start",
                f"*, {call}",
                f"{call}.end AS e, a",
            )
        )
        return f"SELECT {what} FROM t {one_of(('', 'WHERE a > 1', f'WHERE {call}.start > ts'))}"
    what = one_of((
        f"{name}.start, count(*)", f"{name}, sum(a)", f"{call}.end AS e, max(s)", f"{name}.*, count(*) AS n",
        f"{call} AS w, count(*)", f"count(*){more}", f"{name}.start AS began{more}, min(m)",
    ))  # fmt: skip
    by = one_of((f"{call}{more}", f"{call}{more}", "1", f"{name}", "ALL", f"{call}, {call}"))
    having = one_of(("", "", "HAVING count(*) > 1", f"HAVING {name}.start IS NOT NULL"))
    return f"SELECT {what} FROM t GROUP BY {by} {having} {one_of(('', 'ORDER BY 1', f'ORDER BY {name}.start'))}"


def ordered(one_of: OneOf) -> str:
    """A query with an aggregate WITHIN GROUP."""
    call = one_of((
        "listagg(s)", "listagg(DISTINCT s, ',')", "string_agg(s, '; ')", "percentile_cont(0.5)", "percentile_disc(0.25)",
        "mode()", "sum(a)", "percentile_cont(a)", "listagg(a)", "percentile_disc(DISTINCT 0.5)", "mode(a)", "array_agg(a)",
    ))  # fmt: skip
    key = one_of(
        ("s", "a", "a DESC", "s DESC", "s, a", "a NULLS LAST", "m", "upper(s)", "e DESC", "d")
    )
    where = one_of(("", "", " FILTER (WHERE x)"))
    return f"SELECT b, {call} WITHIN GROUP (ORDER BY {key}){where} AS v FROM t GROUP BY b"


def recursive(one_of: OneOf) -> str:
    """A query that reads itself."""
    first = one_of(
        (
            "SELECT 1",
            "SELECT a, k FROM t",
            "SELECT 1 AS i, 'x' AS p",
            "VALUES (1)",
            "SELECT i FROM n",
        )
    )
    next_ = one_of((
        "SELECT i + 1 FROM n WHERE i < 5", "SELECT t.a, t.k FROM t JOIN n ON t.b = n.i", "SELECT i + 1, p || 'y' FROM n WHERE i < 3",
        "SELECT max(i) FROM n", "SELECT 1", "SELECT i FROM n LIMIT 2",
    ))  # fmt: skip
    names = one_of(("(i)", "(i, p)", "", "(i, k)"))
    word = one_of(("UNION ALL", "UNION ALL", "UNION", "EXCEPT"))
    return f"WITH RECURSIVE n{names} AS ({first} {word} {next_}) SELECT {one_of(('*', 'i', 'count(*)', 'n.i + 1'))} FROM n"
