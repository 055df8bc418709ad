"""Names of columns that Spark makes of a call of a function: with all arguments, those that it
adds, too."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forerun.planner.algebra.aggregates import shown
from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.sql.syntax.parser import UNIT_FIRST

VARIABLE = "namedlambdavariable()"
"""The variable of a lambda, as Spark shows it."""
_COMPARING = (
    "lambdafunction((IF(((v IS NULL) AND (v IS NULL)), 0, (IF((v IS NULL), 1, (IF((v IS NULL), -1, "
    "(IF((v < v), -1, (IF((v > v), 1, 0)))))))))), v, v)"
).replace("v", VARIABLE)
"""How ``array_sort`` compares, where a text does not say."""
_BY_THEIR_NAME = ("window", "session_window")
"""Functions whose column Spark calls by their names alone."""
_IN_CAPITALS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh cot csc degrees e exp expm1 floor "
    "hypot log log10 log1p log2 pi power radians regexp regexp_like rlike sec signum sin sinh sqrt "
    "tan tanh rank dense_rank percent_rank"
)
_CALLED = {
    **dict.fromkeys(function("collect_list").synonyms, "collect_list"),
    "random": "rand", "curdate": "current_date", "dateadd": "date_add",
    **{name: name.upper() for name in _IN_CAPITALS.split()},
}  # fmt: skip
"""Functions that Spark calls otherwise than they are written."""
_BY_UNITS = {name: f"timestamp{'diff' if 'diff' in name else 'add'}" for name in UNIT_FIRST}
"""Functions that are called with a unit, with the names that Spark shows."""
_MOST_SHOWN = {**shown.MOST_SHOWN, **dict.fromkeys(("from_json", "from_csv", "from_xml"), 1)}
"""Functions of which Spark shows so many arguments at most."""
_OF_MAP = re.compile(r"\s*map\s*<", re.IGNORECASE)
"""The schema of a map, of which ``from_json`` makes a column of another name."""
_SECONDS = "yyyy-MM-dd HH:mm:ss"
_ADDED: dict[str, tuple[int, tuple[str, ...]]] = {
    **shown.ADDED,
    "split": (2, ("-1",)), "overlay": (3, ("-1",)),
    **dict.fromkeys(("locate", "position", "regexp_extract"), (2, ("1",))),
    **dict.fromkeys(("substring", "substr"), (2, ("2147483647",))), "regexp_replace": (3, ("1",)),
    **dict.fromkeys(("round", "bround"), (1, ("0",))), "regexp_instr": (2, ("0",)),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp", "from_unixtime"), (1, (_SECONDS,))),
    **dict.fromkeys(("lag", "lead"), (1, ("1", "NULL"))), "ntile": (0, ("1",)),
    "current_time": (0, ("6",)),
    **dict.fromkeys(("lpad", "rpad"), (2, (" ",))), "replace": (2, ("",)),
    "sort_array": (1, ("true",)), "array_sort": (1, (_COMPARING,)),
    "months_between": (2, ("true",)), "str_to_map": (1, (",", ":")),
    "make_ym_interval": (0, ("0", "0")), "make_dt_interval": (0, ("0", "0", "0", "0.000000")),
    "make_interval": (0, (*["0"] * 6, "0.000000")), "mask": (1, ("X", "x", "n", "NULL")),
    "hll_union": (2, ("false",)), "theta_union": (2, ("12",)),
    **dict.fromkeys(("aggregate", "reduce"), (3, (f"lambdafunction({VARIABLE}, {VARIABLE})",))),
}  # fmt: skip
"""By function: how many arguments are written at least, and those that Spark has after them."""
_TRIMS = {"ltrim": "LEADING", "rtrim": "TRAILING"}


def call_text(name: str, arguments: Sequence[str], *, distinct: bool = False) -> str:
    """Return a call as Spark shows it, of the name in small letters and of the arguments as Spark
    shows these."""
    count, texts = len(arguments), list(arguments[: _MOST_SHOWN.get(name, len(arguments))])
    if (fixed := _as_operator(name, texts)) is not None:
        return fixed
    if name == "from_json" and _OF_MAP.match("".join(arguments[1:2])):
        return "entries"
    if name == "log" and count == 1:
        texts.insert(0, "E()")
    if name == "unix_timestamp" and not count:
        texts.append("current_timestamp()")
    if name == "convert_timezone" and count == 2:
        texts.insert(0, "current_timezone()")
    least, added = _ADDED.get(name, (0, ()))
    if len(texts) >= least:
        texts += added[len(texts) - least :]
    called = _CALLED.get(name, name)
    if count == 3:
        called = _BY_UNITS.get(name, called)
    elif name in ("ceil", "floor") and count == 2:
        called = name
    return f"{called}({'DISTINCT ' if distinct else ''}{', '.join(texts)})"


def _as_operator(name: str, texts: list[str]) -> str | None:
    """Return a call that Spark shows otherwise than as a call."""
    if name in _BY_THEIR_NAME:
        return name
    if name == "positive":
        return f"(+ {texts[0]})" if texts else None
    if name in ("isnull", "isnotnull") and len(texts) == 1:
        return f"({texts[0]} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
    if len(texts) != 2:
        return None
    one, other = texts
    if name == "like":
        return f"{one} LIKE {other}"
    if name == "datepart":
        return f"datepart({one} FROM {other})"
    if shown.ORDERED.get(name) is shown.Ordered.OTHER_WAY:
        ordered = f"{name}() WITHIN GROUP (ORDER BY {one} DESC)"
        return ordered if other == "true" else f"{name}({one})"
    return f"TRIM({_TRIMS[name]} {one} FROM {other})" if name in _TRIMS else None
