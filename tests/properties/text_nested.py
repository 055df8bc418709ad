"""Texts over values of values: elements, fields, lambdas and the functions of structs, arrays and
maps inside of one another, and the names of fields that come of them."""

# ruff: noqa: E501 - lists of texts

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

OneOf = Callable[[tuple[str, ...]], str]

_PLAIN: dict[str, tuple[str, ...]] = {
    "N": (
        "a",
        "c",
        "u.a",
        "st.y",
        "st['y']",
        "u.st.y",
        "w[0]",
        "p['x']",
        "p.x",
        "p[s]",
        "1",
        "st.z[0].v",
        "`a`",
    ),
    "S": ("s", "u.s", "st.x", "st['x']", "(st).x", "'y'", "st['X']"),
    "A": ("w", "st.z.v", "u.w", "array(1, 2)", "map_values(p)"),
    "T": ("array(s, 'y')", "map_keys(p)", "split(s, ',')", "array(st.x)"),
    "M": ("p", "u.p", "map('x', 1)", "map(s, a)"),
    "R": ("st", "u.st", "named_struct('x', s, 'y', a)"),
    "B": ("z", "a > 1", "u.z"),
    "E": ("st.z", "array(named_struct('v', a))", "st['z']"),
}
"""By kind (number, text, array of numbers, of texts, map, struct, condition, array of structs):
expressions over the table ``u``. What is between braces in those below is made of that kind, or of
any (``V``), or is a fresh variable of a lambda of a kind (``N1``), which may be read after it."""
_MADE: dict[str, tuple[str, ...]] = {
    "N": (
        "{A}[{N}]", "{M}['x']", "{M}.x", "{M}[{S}]", "size({A})", "{R}.y", "{R}['y']", "element_at({A}, 1)", "{N} + {N}", "array_max({A})",
        "aggregate({A}, 0, ({N1}, {N2}) -> {N})", "reduce({A}, {N}, ({N1}, {N2}) -> {N}, {N3} -> {N})", "coalesce({N}, 0)", "cardinality({M})",
        "named_struct('q', {N}).q", "struct({N} AS q).q", "struct({N} AS q)['Q']", "element_at({M}, {S})", "if({B}, {N}, {N})", "({N})",
        "try_element_at({A}, 2)", "array_position({A}, {N})", "get({A}, 0)", "{E}[0].v", "{E}[{N}]['v']", "{E}.v[0]", "map_values({M})[0]",
    ),
    "S": (
        "{T}[0]", "{R}.x", "{R}['x']", "upper({S})", "concat({S}, {S})", "array_join({T}, ',')", "to_json(struct({V}))", "to_json(struct({V}, {V}, {V}))",
        "to_json(({V}, {V}))", "to_json({A})", "to_json({M})", "to_json(array(({V}, {V})))", "to_json(transform({A}, {N1} -> ({N}, {V})))",
        "to_json(transform({T}, ({S1}, {N2}) -> struct({S}, {V})))", "CAST({N} AS STRING)", "map_keys({M})[0]", "to_json(named_struct('q', {V}))",
        "to_json(struct({V} AS q, {V}))", "element_at({T}, -1)", "CAST({A} AS STRING)", "to_json({E})", "to_json(struct({E}[0].v, {R}['x'], {M}['k' 'j']))",
        "to_json(transform({E}, {O1} -> struct({O}, {O}.v, {O}['v'])))",
    ),
    "A": (
        "transform({A}, {N1} -> {N})", "transform({A}, ({N1}, {N2}) -> {N})", "filter({A}, {N1} -> {B})", "array({N}, {N})", "array_distinct({A})",
        "sort_array({A})", "array_union({A}, {A})", "concat({A}, {A})", "slice({A}, 1, 2)", "zip_with({A}, {A}, ({N1}, {N2}) -> {N})", "map_values({M})",
        "flatten(array({A}))", "array_sort({A})", "transform({T}, {S1} -> {N})", "array_sort({A}, ({N1}, {N2}) -> {N})", "sequence(1, 3)", "reverse({A})",
        "array_append({A}, {N})", "array_remove({A}, {N})", "array_repeat({N}, 2)", "array_compact({A})", "{E}.v", "transform({E}, {O1} -> {O}.v)", "array_insert({A}, 1, {N})",
    ),
    "T": (
        "transform({T}, {S1} -> {S})", "array({S}, {S})", "filter({T}, {S1} -> {B})", "map_keys({M})", "transform({A}, {N1} -> {S})", "array_except({T}, {T})",
        "split({S}, 'a')", "shuffle({T})", "zip_with({T}, {A}, ({S1}, {N2}) -> {S})",
    ),
    "M": (
        "map({S}, {N})", "map_filter({M}, ({S1}, {N2}) -> {B})", "transform_values({M}, ({S1}, {N2}) -> {N})", "transform_keys({M}, ({S1}, {N2}) -> {S})",
        "map_concat({M}, map('j', {N}))", "map_from_arrays({T}, {A})", "map_zip_with({M}, {M}, ({S1}, {N2}, {N3}) -> {N})", "str_to_map({S})",
        "map_from_entries(array(({S}, {N})))", "map_from_entries(transform({A}, {N1} -> struct({S}, {N})))",
    ),
    "R": ("named_struct('x', {S}, 'y', {N})", "struct({S} AS x, {N} AS y)", "if({B}, {R}, {R})", "coalesce({R}, st)", "({S} AS x, {N} AS y)"),
    "B": (
        "{N} > {N}", "{S} = {S}", "exists({A}, {N1} -> {B})", "forall({T}, {S1} -> {B})", "array_contains({A}, {N})", "map_contains_key({M}, {S})", "{N} IS NULL",
        "any_match({A}, {N1} -> {B})", "arrays_overlap({A}, {A})", "{R} IS NOT NULL", "({N}, {S}) = ({N}, {S})", "{B} AND {B}", "{N} IN ({N}, 1)", "NOT {B}", "{R} = {R}",
    ),
    "E": (
        "array(struct({N} AS v))", "filter({E}, {O1} -> {O}.v > 1)", "transform({A}, {N1} -> named_struct('v', {N}))", "slice({E}, 1, 1)", "transform({E}, {O1} -> {O})",
        "array_sort({E})", "concat({E}, {E})",
    ),
    "V": ("{N}", "{S}", "{A}", "{M}", "{R}", "{E}", "{T}", "{B}", "({V}, {V})", "struct({V})", "array({N})", "arrays_zip({A}, {T})", "map_entries({M})"),
}  # fmt: skip
_QUERIES = (
    "SELECT {V} FROM u", "SELECT {V}, {V} AS q FROM u", "SELECT q.v FROM (SELECT {R} AS q, {N} AS v FROM u) q", "SELECT q.x, q.y FROM (SELECT {R} AS q FROM u)",
    "SELECT {S} AS k, count(*) FROM u GROUP BY {S}", "SELECT max({N}), max({S}), count(DISTINCT {A}) FROM u", "SELECT a FROM u WHERE {B}", "SELECT {V} FROM u WHERE {B} ORDER BY {N}",
    "SELECT collect_list({V}) FROM u", "SELECT explode({A}) AS v, {N} FROM u", "SELECT inline(array(struct({V}, {V}))) FROM u", "SELECT v.* FROM u LATERAL VIEW explode({E}) e AS v",
    "SELECT k, v, {V} FROM u LATERAL VIEW explode({M}) e AS k, v", "SELECT q.* FROM (SELECT struct({V}, {N}) AS q FROM u)", "SELECT posexplode({T}) FROM u", "SELECT struct({V}, {V}).* FROM u",
    "SELECT {N} AS q, q + 1 AS v, {A}[q] AS k FROM u", "SELECT max_by({V}, {N}) FROM u GROUP BY {S}", "SELECT DISTINCT {R} FROM u", "SELECT inline({E}) FROM u", "SELECT {R}.* FROM u",
    "SELECT array_agg(struct({V}, {V})) FILTER (WHERE {B}) FROM u", "SELECT inline(arrays_zip({A}, {T})) FROM u", "SELECT inline_outer(map_entries({M})) FROM u",
)  # fmt: skip
_HOLE = re.compile(r"\{([A-Z])(\d?)\}")
_VARIABLES = ("v", "i", "x", "acc", "a", "s", "V1")
_DEPTH = 3


def nested(one_of: OneOf) -> str:
    """A query over values that are made of others."""
    return _filled(one_of(_QUERIES), one_of, _DEPTH, {})


def _filled(text: str, one_of: OneOf, depth: int, known: dict[str, tuple[str, ...]]) -> str:
    """The text with an expression in each hole. A hole with a number is a variable, which what
    comes after it in the same call may read."""
    parts, end, here = [], 0, dict(known)
    for hole in _HOLE.finditer(text):
        kind, number = hole.groups()
        parts.append(text[end : hole.start()])
        if number:
            name = one_of(_VARIABLES) + number
            here[kind] = (*here.get(kind, ()), name)
            parts.append(name)
        else:
            parts.append(_one(kind, one_of, depth - 1, here))
        end = hole.end()
    return "".join([*parts, text[end:]])


def _one(kind: str, one_of: OneOf, depth: int, known: dict[str, tuple[str, ...]]) -> str:
    variables = known.get(kind, ())
    if kind == "O":  # a variable, and nothing else
        return variables[-1]
    if variables and one_of(("variable", "variable", "other")) == "variable":
        return one_of(variables)
    if kind != "V" and (depth <= 0 or one_of(("plain", "made", "made")) == "plain"):
        return one_of(_PLAIN[kind])
    shapes: Iterable[str] = _MADE[kind]
    if depth <= 0:
        shapes = (shape for shape in shapes if "V" not in shape and len(shape) == len("{N}"))
    return _filled(one_of(tuple(shapes)), one_of, depth, known)
