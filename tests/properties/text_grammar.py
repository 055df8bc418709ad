"""Makes queries over Spark's grammar, most of them valid, from a seed.

Expressions are made by type, and now and then one of another type stands where it does not belong.
Words and signs of a few texts are dropped, doubled or exchanged: what Spark then refuses has to be
refused by the planner, too.
"""

# ruff: noqa: E501 - lists of texts
from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from forerun.planner.algebra.spark_functions import KINDS
from tests.properties import text_words as words
from tests.properties.text_named import named
from tests.properties.text_nested import nested
from tests.properties.text_turned import ordered, recursive, sideways, timed, turned

_SIGN = re.compile(r"\s+|'[^']*'|\"[^\"]*\"|`[^`]*`|[\w.]+|<=>|[<>!=]=|\|\||::|.", re.DOTALL)
_KIND = {
    "number": ("a", "b", "k", "m", "e", "t.a", "`b`", "A", "t.`k`", "`T`.b"),
    "string": ("s", "r", "t.s", "S", "`r`"),
    "moment": ("d", "ts", "t.d", "TS"),
    "truth": ("x", "y", "true", "FALSE", "t.x", "Y", "NULL"),
}
_SCALAR = sorted(name for name in KINDS if name.isidentifier())
_WRONG = 0.03
_TURNED = 0.22
_TURNED_BY = (turned, sideways, timed, ordered, recursive, named, named, named, nested, nested)
_FOLDED = 0.1
_BROKEN = 0.12


@dataclass
class Texts:
    """Makes texts from a seed. ``depth`` is that of expressions."""

    chance: random.Random
    depth: int = 3

    def text(self) -> str:
        made = self.query(2)
        if self.chance.random() < _BROKEN:
            made = self.broken(made)
        if self.chance.random() < _FOLDED:
            made = folded(made, str.lower)
        return made

    def broken(self, text: str) -> str:
        """The text with one word or sign less, more, or in another place."""
        parts = _SIGN.findall(text)
        at, other = (self.chance.randrange(len(parts)) for _ in range(2))
        match self.chance.randrange(4):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, parts[other])
            case 2:
                parts[at], parts[other] = parts[other], parts[at]
            case _:
                parts[at] = self.one_of(words.WORDS)
        return "".join(parts)

    def one_of(self, some: tuple[str, ...] | list[str]) -> str:
        return self.chance.choice(some)

    def gap(self) -> str:
        return self.one_of(words.COMMENTS) if self.chance.random() < 0.06 else " "

    def maybe(self, share: float, made: Callable[[], str]) -> str:
        return made() if self.chance.random() < share else ""

    # -- queries ----------------------------------------------------------------------------------
    def query(self, depth: int) -> str:
        shapes = [self.plain, self.plain, self.grouped, self.grouped, self.windowed]
        if depth > 0:
            shapes += [self.joined, self.joined, self.with_ctes, self.of_set, self.nested]
            shapes.append(self.taken_apart)
        if self.chance.random() < _TURNED:
            return self.chance.choice(_TURNED_BY)(self.one_of)
        return self.chance.choice(shapes)(depth)

    def items(self, depth: int, made: Callable[[int], str], most: int = 3) -> str:
        shown = []
        for _ in range(self.chance.randint(1, most)):
            word = self.chance.choice((" AS ", " as ", " "))
            name = self.maybe(0.7, lambda word=word: f"{word}{self.one_of(words.NAMES)}")  # type: ignore[misc]
            shown.append(f"{made(depth)}{name}")
        return f",{self.gap()}".join(shown)

    def plain(self, depth: int) -> str:
        star = self.maybe(0.1, lambda: self.one_of(("*, ", "t.*, ", "* EXCEPT (a), ")))
        distinct = self.maybe(0.1, lambda: self.one_of(("DISTINCT ", "ALL ")))
        return (
            f"SELECT{self.gap()}{distinct}{star}{self.items(self.depth, self.any)}{self.gap()}"
            f"FROM{self.gap()}{self.table()}{self.gap()}{self.where(depth)}{self.tail(depth)}"
        )

    def table(self) -> str:
        return self.one_of(("t", "t", "t", "T", "`t`", "t AS t", "t t", "t /* u */"))

    def where(self, depth: int) -> str:
        def made() -> str:
            one = self.truth(self.depth - 1)
            if depth > 0 and self.chance.random() < 0.25:
                one = f"{one} {self.one_of(('AND', 'OR'))} {self.subquery(depth - 1)}"
            return f"WHERE{self.gap()}{one} "

        return self.maybe(0.5, made)

    def tail(self, depth: int) -> str:
        key = self.one_of(
            ("1", "a", "k DESC", "1 NULLS LAST", "m ASC NULLS FIRST", "s, 1", "a + b")
        )
        order = self.maybe(0.15, lambda: f"ORDER{self.gap()}BY {key} ")
        limit = self.maybe(
            0.1, lambda: self.one_of(("LIMIT 5", "LIMIT 1 + 1", "LIMIT ALL", "LIMIT 3 OFFSET 2"))
        )
        return order + limit if depth >= 0 else ""

    def grouped(self, depth: int) -> str:
        keys = [self.one_of(("a", "s", "d", "x", "a + 1", "upper(s)", "year(d)")) for _ in range(2)]
        by = self.one_of((
            f"GROUP BY {', '.join(keys)}", f"GROUP BY {keys[0]}", "GROUP BY 1", "GROUP BY ALL",
            f"GROUP BY ROLLUP ({', '.join(keys)})", f"GROUP BY CUBE ({keys[0]})", "",
            f"GROUP BY GROUPING SETS (({keys[0]}), ())", f"GROUP BY {keys[0]} WITH ROLLUP",
            f"GROUP BY {', '.join(keys)} GROUPING SETS (({keys[0]}), ({keys[1]}))",
        ))  # fmt: skip
        having = self.maybe(0.3, lambda: f"HAVING {self.aggregate(1)} > {self.number(0)} ")
        shown = self.maybe(0.8, lambda: f"{keys[0]}, ") if by else ""
        return (
            f"SELECT {shown}{self.items(1, self.aggregate)}{self.gap()}FROM {self.table()} "
            f"{self.where(depth)}{by} {having}{self.maybe(0.1, lambda: 'ORDER BY 1')}"
        )

    def aggregate(self, depth: int) -> str:
        name = self.one_of(words.AGGREGATES)
        if name == "count" and self.chance.random() < 0.5:
            inner = self.one_of(("*", "1", "DISTINCT a, b", "DISTINCT *", "t.*", "a, b", ""))
        else:
            distinct = self.maybe(0.15, lambda: "DISTINCT ")
            two = name in ("max_by", "corr", "percentile", "listagg", "string_agg")
            more = self.maybe(0.9 if two else 0.03, lambda: f", {self.one_of(('a', 'e', '0.5'))}")
            of = self.truth if name in ("bool_and", "every", "count_if") else self.number
            inner = f"{distinct}{self.odd(of)(depth)}{more}"
        after = self.maybe(0.1, lambda: f" FILTER (WHERE {self.truth(1)})")
        nulls = self.maybe(0.02, lambda: self.one_of((" IGNORE NULLS", " RESPECT NULLS")))
        around = self.one_of(("{}",) * 5 + ("{} + 1", "coalesce({}, 0)", "-{}", "CAST({} AS INT)"))
        return around.format(f"{name}({inner}){nulls}{after}")

    def windowed(self, depth: int) -> str:
        order = self.maybe(0.8, lambda: f"ORDER BY {self.one_of(('a', 'd DESC', 'k, s', 'm'))} ")
        part = self.maybe(0.6, lambda: f"PARTITION BY {self.one_of(('s', 'x, a', 'a + 1'))} ")
        frame = self.maybe(0.3, lambda: self.one_of((
            "ROWS 2 PRECEDING", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "GROUPS 1 PRECEDING",
            "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "ROWS UNBOUNDED FOLLOWING",
            "ROWS BETWEEN 2 FOLLOWING AND 1 PRECEDING", "RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            "ROWS BETWEEN 1.5 PRECEDING AND CURRENT ROW", "ROWS BETWEEN -1 PRECEDING AND 1 FOLLOWING",
            "ROWS BETWEEN a PRECEDING AND CURRENT ROW", "RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING",
        )))  # fmt: skip
        call = self.one_of((
            "row_number()", "rank()", "lag(a)", "lead(s, 1, 'x')", "sum(a)", "count(*)", "ntile(3)",
            "first_value(s)", "avg(m)", "max(d)", "lag(a, 1, 'x')", "rank(a)", "nth_value(a, 2)",
            "count(DISTINCT a)", "upper(s)", "lag(a) IGNORE NULLS", "ntile('x')", "row_number",
            "cume_dist()", "sum(a) FILTER (WHERE x)", "percent_rank()", "lag()", "dense_rank()",
            "last_value(a, true)", "min(s)", "bool_or(x)", "lead(a, b)", "nth_value(a)",
        ))  # fmt: skip
        return (
            f"SELECT a, {call} OVER ({part}{order}{frame}) AS v{self.gap()}FROM {self.table()} "
            f"{self.where(depth)}"
        )

    def joined(self, depth: int) -> str:
        on = self.one_of((
            "ON t.a = u.a", "ON t.a = u.c AND t.s = u.s", "USING (a)", "ON t.k > u.c OR x", "ON true",
            "USING (a, s)", "", "USING (s)", "USING (d, a)", "ON t.a = u.a AND u.z", "ON t.d = u.s", "ON u.c", "USING (k)",
        ))  # fmt: skip
        kind = self.one_of((
            "JOIN", "LEFT JOIN", "RIGHT OUTER JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN",
            "CROSS JOIN", "INNER JOIN", "ANTI JOIN", "NATURAL JOIN", "SEMI JOIN", ",", "OUTER JOIN",
            "NATURAL LEFT JOIN", "LEFT", "FULL OUTER JOIN", "ASOF JOIN", "STRAIGHT_JOIN",
        ))  # fmt: skip
        what = self.one_of((
            "t.a", "*", "t.*, u.c", "a", "s", "u.n + t.m", "count(*)", "u.w", "u.p, t.x", "U.f",
            "t.d, u.d", "w[0]", "p['x']", "size(w)", "o", "u.*", "u.*, t.b", "hash(t.*)", "* EXCEPT (a)",
            "xxhash64(u.a, t.*), s", "struct(t.*).b", "t.s, u.s, s", "*, u.*", "t.* EXCEPT (k), a", "COUNT(t.*)",
        ))  # fmt: skip
        on = (
            "" if kind in (",", "CROSS JOIN", "NATURAL JOIN") and self.chance.random() < 0.9 else on
        )
        return f"SELECT {what} FROM t {kind} u {on} {self.where(0)}{self.tail(depth)}"

    def with_ctes(self, depth: int) -> str:
        one, two = self.query(depth - 1), self.query(depth - 1)
        names = self.maybe(0.2, lambda: self.one_of(("(v)", "(v, w)", "(`a b`)")))
        return self.one_of((
            f"WITH q{names} AS ({one}) SELECT * FROM q", f"WITH q AS ({one}) {two}",
            f"WITH t AS ({one}) SELECT * FROM t", f"WITH q AS {one} SELECT 1",
            f"WITH q AS ({one}), p AS (SELECT * FROM q) SELECT * FROM p, q q2",
            f"WITH q AS ({one}), q AS ({two}) SELECT * FROM q", f"WITH RECURSIVE q AS ({one}) {two}",
            f"WITH q AS (WITH q AS ({one}) SELECT * FROM q) SELECT count(*) FROM q",
            f"WITH q AS NOT MATERIALIZED ({one}) SELECT * FROM q", f"WITH q ({one}) SELECT * FROM q",
        ))  # fmt: skip

    def of_set(self, depth: int) -> str:
        def side() -> str:
            made = self.one_of((
                "SELECT a, s FROM t", "SELECT c, s FROM u", "SELECT k, r FROM t WHERE x",
                "SELECT DISTINCT b, s FROM t", "(SELECT a, s FROM u LIMIT 2)", "SELECT 1, 'x'",
                "VALUES (1, 'a'), (2, NULL)", "SELECT m, d FROM t", "SELECT a FROM t", "TABLE q",
            ))  # fmt: skip
            return made if self.chance.random() < 0.9 else f"({self.plain(0)})"

        words = ("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL", "MINUS",
                 "UNION DISTINCT", "MINUS ALL", "union all", "UNION BY NAME")  # fmt: skip
        made = side()
        for _ in range(self.chance.randint(1, 3)):
            made = f"{made}{self.gap()}{self.one_of(words)}{self.gap()}{side()}"
        return f"{made} {self.maybe(0.2, lambda: self.one_of(('ORDER BY 1', 'LIMIT 2', 'ORDER BY a')))}"

    def nested(self, depth: int) -> str:
        inner = self.query(depth - 1)
        return self.one_of((
            f"SELECT * FROM ({inner})", f"SELECT q.* FROM ({inner}) AS q", f"({inner})",
            f"SELECT count(*) FROM ({inner}) q WHERE 1 = 1", f"SELECT 1 + ({inner})",
            f"SELECT a FROM t WHERE a IN ({inner})", f"SELECT v FROM ({inner}) AS q(v)",
            f"FROM ({inner}) SELECT *", f"SELECT 1 FROM ({inner}), ({inner})", f"(({inner}))",
        ))  # fmt: skip

    def taken_apart(self, depth: int) -> str:
        """Parts of structs, arrays and maps, lambdas, and generators wherever they stand."""
        what = self.one_of((
            "st.x", "u.st.y", "st['x']", "(st).x", "st.*", "u.st.*", "st.z.v", "st.z[0].v", "w[0]", "w[a]", "p['x']", "p.x", "v", "e.*",
            "transform(w, v -> v + 1)", "transform(w, (v, i) -> v * i + a)", "filter(w, v -> v > a)",
            "exists(w, v -> v = 1)", "aggregate(w, 0, (s, v) -> s + v)", "explode(w)", "posexplode(w)",
            "explode(w) AS v", "posexplode_outer(w) AS (i, v)", "stack(2, a, c, 1, 2)", "st.x.y", "w.x",
            "struct(a, st.x AS q).q", "inline(array(st))", "element_at(p, 'x')", "size(w) + 1", "-w[0]",
            "array(a, c)[0]", "named_struct('u', a).U", "map_filter(p, (k, v) -> v IS NOT NULL)", "st.nope",
            "upper(st.x)", "u.w[1] + u.a", "max(w[0])", "explode(w) + 1", "zip_with(w, w, (v, x) -> v + x)",
            "explode(filter(w, v -> v > 1)) AS v", "reduce(w, 0, (s, v) -> s + v, s -> s * 2)", "w[0][0]",
        ))  # fmt: skip
        view = self.one_of((
            "", "LATERAL VIEW explode(w) e AS v", "LATERAL VIEW OUTER posexplode(w) e AS i, v", "",
            ", LATERAL explode(w) AS e(v)", "LEFT JOIN LATERAL explode(w) e(v) ON true", "",
            "LATERAL VIEW explode(p) e", "LATERAL VIEW explode(w) AS v", "LATERAL VIEW explode(a) e",
            "LATERAL VIEW inline(array(st)) e", "JOIN LATERAL explode(w) AS e(v) ON v > 1",
            "LATERAL VIEW explode(w) e AS v LATERAL VIEW explode(p) f AS k, x", ", range(1, 3) e(v)",
            "LATERAL VIEW stack(2, a, c) e AS v", ", explode(array(1, 2)) AS e(v)",
            "TABLESAMPLE (50 PERCENT) REPEATABLE (1)", "CROSS JOIN LATERAL posexplode(w) AS e(i, v)",
        ))  # fmt: skip
        more = self.one_of(("", ", u.a", ", v", ", e.v + 1", ", o"))
        where = self.maybe(
            0.3, lambda: self.one_of(("WHERE w[0] > 1", "WHERE st.x = 'x'", "WHERE v > 1"))
        )
        return f"SELECT {what}{more} FROM u {view} {where} {self.maybe(0.1, lambda: 'GROUP BY v')}"

    def subquery(self, depth: int) -> str:
        return self.one_of((
            "a IN (SELECT a FROM u)", "EXISTS (SELECT 1 FROM u WHERE u.a = t.a)", "a NOT IN (SELECT c FROM u)",
            "a = (SELECT max(c) FROM u)", "NOT EXISTS (SELECT * FROM u WHERE u.s = t.s AND u.c > t.a)",
            "(a, s) IN (SELECT a, s FROM u)", "m > (SELECT avg(n) FROM u WHERE u.a = t.a)",
            "a > ALL (SELECT c FROM u)", "a = ANY (SELECT c FROM u)", "a IN (SELECT a, s FROM u)",
            f"a IN ({self.plain(depth)})", "x IN (SELECT z FROM u)", "exists (select a from u)",
            "a = (SELECT c FROM u WHERE u.a = t.a LIMIT 1)", "(SELECT z FROM u)", "s IN (SELECT d FROM u)",
            "EXISTS(SELECT t.a)", "(SELECT count(*) FROM u WHERE u.c = t.a) = 0",
        ))  # fmt: skip

    # -- expressions ------------------------------------------------------------------------------
    def any(self, depth: int) -> str:
        return self.chance.choice((self.number, self.string, self.truth, self.moment))(depth)

    def odd(self, made: Callable[[int], str]) -> Callable[[int], str]:
        return self.any if self.chance.random() < _WRONG else made

    def number(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.15:
            some = words.NUMBERS if self.chance.random() < 0.4 else _KIND["number"]
            return self.one_of(some)
        one, two = self.odd(self.number)(depth - 1), self.odd(self.number)(depth - 1)
        string, moment = self.string(depth - 1), self.moment(depth - 1)
        shape = self.chance.randrange(20)
        if shape < 8:
            return f"{one}{self.gap()}{self.one_of(words.ARITHMETIC)}{self.gap()}{two}"
        if shape < 11:
            return self.one_of((f"({one})", f"-{one}", f"+ {one}", f"~{one}", f"- {one}"))
        if shape < 13:
            return self.cast(one, words.TYPES[:8] if self.chance.random() < 0.7 else words.TYPES)
        if shape < 15:
            return self.one_of((
                f"CASE WHEN {self.truth(depth - 1)} THEN {one} ELSE {two} END",
                f"CASE {one} WHEN {two} THEN 1 WHEN 3 THEN {one} END", f"if(x, {one}, {two})",
                f"coalesce({one}, {two})", f"nullif({one}, {two})", f"nvl({one}, 0)", f"iff(x, {one}, 1)",
                f"nvl2({one}, {two}, 1)", f"greatest({one}, {two})", f"CASE WHEN {one} THEN 1 END",
            ))  # fmt: skip
        if shape == 15:
            return self.registry(depth)
        return self.one_of((
            f"length({string})", f"abs({one})", f"round({one}, 2)", f"round({one})", f"floor({one})",
            f"{one} % {two}", f"mod({one}, {two})", f"power({one}, 2)", f"year({moment})",
            f"datediff({moment}, {moment})", f"EXTRACT(YEAR FROM {moment})", f"instr({string}, 'a')",
            f"position('a' IN {string})", f"EXTRACT(DOW FROM {moment})", f"ceil({one}, 1)", f"sqrt({one})",
            f"months_between({moment}, {moment})", f"locate('a', {string}, 2)", f"sign({one})",
            f"EXTRACT(EPOCH FROM {moment})", f"unix_timestamp({moment})", f"hour({moment})", "rand()",
            f"date_part('YEAR', {moment})", f"CHARINDEX('a', {string})", f"pmod({one}, 3)", "pi()",
            f"datediff(DAY, {moment}, {moment})", f"TIMESTAMPDIFF(HOUR, {moment}, {moment})", f"hash({one})",
            f"conv({one}, 10, 2)", f"try_add({one}, {two})", f"try_divide({one}, {two})", f"len({string})",
            f"log({one})", f"log(2, {one})", f"trunc({one}, 2)", f"truncate({one}, 2)", f"square({one})",
            f"width_bucket({one}, 0, 10, 5)", f"bround({one}, 1)", f"dayofweek({moment})", f"crc32({string})",
        ))  # fmt: skip

    def cast(self, value: str, types: tuple[str, ...] = words.TYPES) -> str:
        to = self.one_of(types)
        return self.one_of((
            f"CAST({value} AS {to})", f"CAST({value} AS {to})", f"TRY_CAST({value} AS {to})", f"({value})::{to}",
            f"{to}({value})",
        ))  # fmt: skip

    def registry(self, depth: int) -> str:
        """Any function of the registry, over what there is."""
        arguments = [self.any(min(1, depth - 1)) for _ in range(self.chance.randint(0, 3))]
        return f"{self.one_of(_SCALAR)}({', '.join(arguments)})"

    def string(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.3:
            return self.one_of(words.STRINGS if self.chance.random() < 0.4 else _KIND["string"])
        one, two = self.odd(self.string)(depth - 1), self.odd(self.string)(depth - 1)
        number, moment = self.number(depth - 1), self.moment(depth - 1)
        return self.one_of((
            f"{one} || {number}", f"{one}{self.gap()}||{self.gap()}{two}", f"trim({one})", f"upper({one})",
            f"{self.one_of(('a', '-5', '2.5', 'k', 's'))}::STRING", f"trim(BOTH {two} FROM {one})",
            f"concat({one}, {two}, {number})", f"substring({one}, 1, 2)", f"substr({one} FROM 2 FOR 1)",
            f"replace({one}, 'a', {two})", f"concat_ws(',', {one}, {two})", f"lpad({one}, 5, '0')",
            f"date_format({moment}, 'yyyy')", f"left({one}, 2)", f"split_part({one}, ',', 1)", f"lower({one})",
            f"regexp_replace({one}, 'a', 'b')", f"trim(LEADING FROM {one})", f"format_number({number}, 2)",
            f"coalesce({one}, {two})", f"CASE WHEN x THEN {one} ELSE {two} END", f"ltrim({one})",
            f"overlay({one} PLACING 'x' FROM 1)", f"initcap({one})", f"substring({one} FOR 2)", f"ifnull({one}, '')",
            f"CAST({number} AS STRING)", f"repeat({one}, 2)", f"reverse({one})", f"md5({one})", f"char({number})",
            f"hex({number})", f"to_char({number}, '999')", f"{one} + {two}", f"trim({one}, 'x')", f"rtrim('x', {one})",
            f"translate({one}, 'a', 'b')", f"regexp_extract({one}, '(a)', 1)", f"substring_index({one}, '.', 1)",
            f"string({number})", f"typeof({number})", f"split({one}, ',')[0]", f"nvl({one}, {two})",
            self.cast(one),
        ))  # fmt: skip

    def moment(self, depth: int) -> str:
        one = self.one_of(words.DATES) if self.chance.random() < 0.6 else self.one_of(words.MOMENTS)
        if depth <= 0 or self.chance.random() < 0.4:
            return one
        number = self.number(depth - 1)
        return self.one_of((
            f"{one} {self.one_of(('+', '-'))} {self.one_of(words.LENGTHS)}", f"{self.one_of(words.LENGTHS)} + {one}",
            "1 + d", "d + 1", "d - a", "date_add(MONTH, 1, d)", f"date_add({one}, {number})", "d - k", "k + d",
            f"add_months({one}, {number})", f"last_day({one})", f"trunc({one}, 'MM')", f"to_date({one})",
            f"date_sub({one}, 1)", f"next_day({one}, 'MON')", f"date_trunc('MONTH', {one})", f"d - {one}",
            f"coalesce({one}, d)", f"greatest({one}, ts)", f"CAST({one} AS DATE)", f"DATEADD(DAY, 1, {one})",
            f"{self.one_of(words.LENGTHS)}", f"{self.one_of(words.LENGTHS)} * 2", f"date_add(YEAR, {number}, {one})",
            f"timestampadd(DAY, 2, {one})", f"{one} - {one}", f"to_timestamp({one})", f"max({one})",
        ))  # fmt: skip

    def truth(self, depth: int) -> str:
        if depth <= 0:
            return self.one_of((*_KIND["truth"], "a > b"))
        one, two = self.odd(self.truth)(depth - 1), self.odd(self.truth)(depth - 1)
        number, other = self.odd(self.number)(depth - 1), self.odd(self.number)(depth - 1)
        string, moment = self.odd(self.string)(depth - 1), self.odd(self.moment)(depth - 1)
        compared = self.one_of(words.COMPARED)
        return self.one_of((
            f"{one}{self.gap()}AND{self.gap()}{two}", f"{one} OR {two}", f"NOT {one}", f"! {one}", f"({one})",
            f"{number} {compared} {other}", f"{one} = {two}", f"{number} BETWEEN {other} AND {number}",
            f"{number} IS NULL", f"{number} NOT IN ({other}, 1)", f"{string} LIKE 'a%'", f"{number} IS NOT NULL",
            f"{string} NOT LIKE '%b!%' ESCAPE '!'", f"{string} RLIKE '^b'", f"{one} IS TRUE", f"{one} IS UNKNOWN",
            f"{number} IS DISTINCT FROM {other}", f"{string} LIKE ANY ('a', {string})", f"{string} ILIKE 'A_'",
            f"{number} < {other} IS NOT NULL", f"{moment} {compared} {self.moment(depth - 1)}", f"{one} XOR {two}",
            f"{string} {compared} {self.string(depth - 1)}", f"{number} IN ({other}, {number}, NULL)",
            f"{moment} > '2020-01-01'", f"{string} LIKE ALL ('a%', '_b')", f"{string} NOT LIKE ANY ('a')",
            f"{string} REGEXP 'a'", f"{one} IS NOT FALSE", f"{one} <=> {two}", f"isnull({number})", f"{one} && {two}",
            f"startswith({string}, 'a')", f"contains({string}, 'a')", f"{number} NOT BETWEEN 1 AND {other}",
            f"{string} LIKE {string}", f"{moment} BETWEEN {moment} AND d", f"{number} IN ()", f"NOT {number} > {other}",
            f"{string} SIMILAR TO 'a'", f"{number} = {other} = {one}", f"{string} IN ('a', {string})", "isnan(e)",
            f"{number} < {other} < {number}", f"regexp_like({string}, 'a')", f"{string} GLOB 'a'", "a IN (1)",
            f"({number}, {other}) = (1, 2)", f"{one} | {two}", f"{string} NOT RLIKE 'a'", f"{one} ISNULL",
            f"{one} IS NOT DISTINCT FROM {two}", f"{string} LIKE 'a' 'b'", f"{moment} IS NOT NULL", f"{one} NOT NULL",
        ))  # fmt: skip


def folded(text: str, to: Callable[[str], str]) -> str:
    """A text in small letters or in capitals, but for what stands in quotes."""
    parts = _SIGN.findall(text)
    return "".join(part if part[0] in "'\"`" else to(part) for part in parts)


def texts(count: int, seed: int) -> Iterator[str]:
    """Yield so many texts; a seed gives the same ones."""
    made = Texts(random.Random(seed))
    for _ in range(count):
        yield made.text()
