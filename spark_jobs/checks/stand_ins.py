"""Evaluate expectations on all rows of a day from what earlier runs have found of theirs.

An expectation on all rows together need not look at all of them. There is a smaller table, its
*stand-in*, of which Great Expectations says the same: for a sum it is the sum, for the least and
the greatest value these two, for distinct values each of them once; for uniqueness it is the rows
that are not alone with their key, of which there should be none. A stand-in is made of the figures
of an earlier run and the rows that have come since.

Of a uniqueness that an earlier run has found, only the keys that have come are looked for: among
each other, and among earlier keys within their bounds, so where keys ascend hardly any is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from forerun.include.days.findings import Finding
from forerun.include.reports.expectations import Expectation
from forerun.include.state.check_figures import Figure, Of
from forerun.spark_jobs.bounds import can_bound, within_bounds
from forerun.spark_jobs.checks.evaluation import evaluate
from forerun.spark_jobs.engine import Engine, Frame, quoted, text_literal

MOST_VALUES = 10_000
MOST_CHARACTERS = 1_000_000
"""Of a column with more distinct values, or longer ones, they are not kept: they would be read from
a text."""
_OF: dict[str, Of] = {
    "expect_column_sum_to_be_between": "sum",
    "expect_column_max_to_be_between": "bounds",
    "expect_column_min_to_be_between": "bounds",
    "expect_column_distinct_values_to_be_in_set": "values",
    "expect_column_distinct_values_to_contain_set": "values",
    "expect_column_distinct_values_to_equal_set": "values",
    "expect_column_unique_value_count_to_be_between": "values",
    "expect_column_values_to_be_unique": "unique",
    "expect_compound_columns_to_be_unique": "unique",
}
"""What each expectation is about. Others, such as quantiles and shares, look at all rows."""
_ARGUMENTS = frozenset({
    "column", "column_list", "min_value", "max_value", "strict_min", "strict_max", "value_set",
    "mostly", "ignore_row_if",
})  # fmt: skip
"""Arguments with which a stand-in says the same as all rows; a condition on rows is none."""
_WHOLE_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_AS_PRINTED = (*_WHOLE_NUMBERS, "STRING", "DATE", "BOOLEAN")
"""Types of which each value is its text, cast back, and equal to no value of another text. So are
DECIMALs."""
_NO_KEYS = ("MAP<", "VARIANT")
"""Types by which not every engine groups, also inside of others."""
_DIGITS_ADDED = 10
"""Spark gives the sum of a DECIMAL so many digits more, of 38 at most."""
_MOST_DIGITS = 38
_OVER_BIGINT = 2**63
_FUNCTIONS: dict[str, tuple[str, ...]] = {"sum": ("sum",), "bounds": ("min", "max")}


@dataclass(frozen=True, slots=True)
class About:
    """The subject of an expectation, by which its stand-in is found."""

    of: Of
    columns: tuple[str, ...]


Figures = Mapping[About, Figure]


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """All rows that expectations are about, ``count`` of them, with the ``types`` of their columns
    as they are declared.

    ``came`` are those that are not among the ``earlier`` ones, of which ``figures`` are known; both
    are None where an earlier run has found nothing. ``for_later``: a later run will go on from what
    is found of these rows.
    """

    engine: Engine
    frame: Frame
    count: int
    types: Mapping[str, str]
    came: Frame | None = None
    earlier: Frame | None = None
    figures: Figures = field(default_factory=dict)
    for_later: bool = False


def evaluate_all(
    rows: CheckedRows, expectations: Sequence[Expectation]
) -> tuple[tuple[Finding, ...], tuple[Figure, ...]]:
    """Return one finding per expectation, in their order, and the figures from which a later run
    can go on. Never raises for what an expectation says."""
    abouts = [about_of(expectation, rows.types) for expectation in expectations]
    wanted = [about for about in dict.fromkeys(abouts) if about and _worth_it(rows, about)]
    figures = {**_aggregated(rows, wanted), **_distinct(rows, wanted)}
    frames: dict[About, Frame] = {}
    for of in ("sum", "bounds", "values"):
        same_kind = {about: one for about, one in figures.items() if about.of == of}
        if same_kind:
            shown = [replace(one, type=_shown(one, rows.types)) for one in same_kind.values()]
            frames |= dict.fromkeys(same_kind, _as_rows(rows.engine, shown))
    for number, about in enumerate(one for one in wanted if one.of == "unique"):
        alike = _alike(rows, about, str(number))
        if alike is None:
            figures[about] = Figure(of="unique", columns=about.columns)
        frames[about] = rows.frame.where("false") if alike is None else alike
    findings: dict[int, Finding] = {}
    for frame in (rows.frame, *dict.fromkeys(frames.values())):
        numbers = [
            number
            for number, about in enumerate(abouts)
            if (rows.frame if about is None else frames.get(about, rows.frame)) is frame
        ]
        if numbers:
            found = evaluate(frame, [expectations[number] for number in numbers])
            findings |= zip(numbers, (_of_all(one, rows.count) for one in found), strict=True)
    return tuple(findings[n] for n in range(len(expectations))), tuple(figures.values())


def _of_all(finding: Finding, count: int) -> Finding:
    """Return what is said of a stand-in, as it is said of all rows."""
    return finding if finding.checked is None else replace(finding, checked=count)


def about_of(expectation: Expectation, types: Mapping[str, str]) -> About | None:
    """Return what an expectation is about; None if only all rows can tell."""
    of = _OF.get(expectation.type)
    given = {name for name, value in expectation.arguments if value is not None}
    if of is None or not given <= _ARGUMENTS or expectation.argument("mostly") not in (None, 1):
        return None
    named = expectation.argument("column_list" if "column_list" in given else "column")
    columns = named if isinstance(named, tuple) else (named,)
    names = tuple(column for column in columns if isinstance(column, str) and column in types)
    if not names or len(names) < len(columns):
        return None
    return About(of, names) if _fits_types(of, [types[name].upper() for name in names]) else None


def _fits_types(of: Of, kinds: Sequence[str]) -> bool:
    """Return whether figures of columns of these types can be computed and kept."""
    if of == "unique":
        return not any(part in kind for kind in kinds for part in _NO_KEYS)
    if of == "sum":
        return _can_sum(kinds[0])
    return kinds[0] in _AS_PRINTED or kinds[0].startswith("DECIMAL(")


def _can_sum(kind: str) -> bool:
    """Return whether sums of this type are exact and never too large for Spark's type of them."""
    return kind in _WHOLE_NUMBERS or (
        kind.startswith("DECIMAL(") and _digits(kind)[0] + _DIGITS_ADDED <= _MOST_DIGITS
    )


def _digits(kind: str) -> tuple[int, int]:
    precision, _, scale = kind.partition("(")[2].rstrip(")").partition(",")
    return int(precision), int(scale or 0)


def _worth_it(rows: CheckedRows, about: About) -> bool:
    """Return whether a stand-in is cheaper than all rows: Great Expectations numbers the rows of
    each key, several times, to say that keys are unique; other figures are of use from run to run
    only."""
    return about.of == "unique" or rows.for_later or about in rows.figures


def _aggregated(rows: CheckedRows, wanted: Sequence[About]) -> dict[About, Figure]:
    """Find sums and bounds of all rows: in one pass over those of which no figure is known, in one
    over those that have come for the others."""
    abouts = [about for about in wanted if about.of in _FUNCTIONS]
    known = [about for about in abouts if about in rows.figures]
    fresh = [about for about in abouts if about not in rows.figures]
    found = _aggregates(rows.frame, rows, fresh)
    if known and rows.came is not None:
        came = _aggregates(rows.came, rows, known)
        for of in _FUNCTIONS:
            same = [about for about in known if about.of == of]
            both = [(came[about], rows.figures[about].values) for about in same]
            merged = [replace(one, values=(*one.values, *then)) for one, then in both]
            if merged:
                found |= _aggregates(_as_rows(rows.engine, merged), rows, same)
    return {about: one for about, one in found.items() if _fits(one, rows.types)}


def _aggregates(frame: Frame, rows: CheckedRows, abouts: Sequence[About]) -> dict[About, Figure]:
    if not abouts:
        return {}
    kinds = [rows.types[about.columns[0]].upper() for about in abouts]
    texts = frame.selectExpr(
        *(
            f"CAST({function}(CAST({quoted(about.columns[0])} AS {_exact(about, kind)})) AS STRING)"
            for about, kind in zip(abouts, kinds, strict=True)
            for function in _FUNCTIONS[about.of]
        )
    )
    values = iter(texts.toDF(*(f"v{n}" for n in range(len(texts.columns)))).collect()[0])
    return {
        about: Figure(
            of=about.of,
            columns=about.columns,
            type=_exact(about, kind),
            values=tuple(itertools.islice(values, len(_FUNCTIONS[about.of]))),
        )
        for about, kind in zip(abouts, kinds, strict=True)
    }


def _fits(figure: Figure, types: Mapping[str, str]) -> bool:
    """Return whether a sum is one of Spark's type of it. Where it is not, Spark's own fails, and
    the finding should say so."""
    value = figure.values[0] if _shown(figure, types) == "BIGINT" else None
    return figure.of != "sum" or value is None or -_OVER_BIGINT <= int(value) < _OVER_BIGINT


def _shown(figure: Figure, types: Mapping[str, str]) -> str:
    """Return the type in which Great Expectations sees the values of a figure."""
    whole = figure.of == "sum" and types[figure.columns[0]].upper() in _WHOLE_NUMBERS
    return "BIGINT" if whole else figure.type


def _distinct(rows: CheckedRows, wanted: Sequence[About]) -> dict[About, Figure]:
    """Find the distinct values of columns that have few of them."""
    found = {}
    for about in (one for one in wanted if one.of == "values"):
        earlier, kind = rows.figures.get(about), rows.types[about.columns[0]]
        frame = rows.frame if earlier is None or rows.came is None else rows.came
        values = frame.selectExpr(quoted(about.columns[0])).distinct()
        if earlier is not None:
            values = values.union(_as_rows(rows.engine, [earlier])).distinct()
        few = values.limit(MOST_VALUES + 1)
        texts = [row[0] for row in few.selectExpr(_text(about.columns[0])).collect()]
        length = sum(len(text) for text in texts if text is not None)
        if len(texts) <= MOST_VALUES and length <= MOST_CHARACTERS:
            texts.sort(key=lambda text: (text is not None, text))
            found[about] = Figure(
                of=about.of, columns=about.columns, type=kind, values=tuple(texts)
            )
    return found


def _text(column: str) -> str:
    return f"CAST({quoted(column)} AS STRING) AS v"


def _exact(about: About, kind: str) -> str:
    """Return the type in which the values of a column are read: wide enough to be summed up,
    whatever their order."""
    if about.of != "sum":
        return kind
    return f"DECIMAL({_MOST_DIGITS},{0 if kind in _WHOLE_NUMBERS else _digits(kind)[1]})"


def _as_rows(engine: Engine, figures: Sequence[Figure]) -> Frame:
    """Return a column for each figure, with its values; NULL, which none of these expectations
    counts, where others have more of them. There is at least one row of NULLs."""
    names = [f"v{number}" for number in range(len(figures))]
    typed = ", ".join(
        f"CAST({name} AS {one.type}) AS {quoted(one.columns[0])}"
        for name, one in zip(names, figures, strict=True)
    )
    rows = itertools.zip_longest(*(one.values for one in figures), [None])
    texts = (", ".join(f"CAST({text_literal(v)} AS STRING)" for v in row[:-1]) for row in rows)
    values = ", ".join(f"({one})" for one in texts)
    return engine.session.sql(f"SELECT {typed} FROM VALUES {values} AS t({', '.join(names)})")


def _alike(rows: CheckedRows, about: About, name: str) -> Frame | None:
    """Return the rows that are not alone with their key, None if there are none. Keys are equal as
    GROUP BY has it, NULLs too; Great Expectations leaves out those that it does not count. ``name``
    tells its views from those of others: some engines read them when the frame is."""
    engine, keys = rows.engine, [quoted(column) for column in about.columns]
    if about in rows.figures and rows.came is not None and rows.earlier is not None:
        near = _near(rows.earlier, rows.came, about, rows.types)
        looked_at = rows.came.selectExpr(*keys).union(near.selectExpr(*keys))
    else:
        looked_at = rows.frame.selectExpr(*keys)
    if len(keys) == 1:  # of one column NULLs do not count
        looked_at = looked_at.where(f"{keys[0]} IS NOT NULL")
    all_, of_keys, of_alike = (f"__forerun_{what}_{name}" for what in ("all", "keys", "alike"))
    engine.bind_view(of_keys, looked_at)
    grouped = ", ".join(keys)
    renamed = {key: quoted(f"__forerun_key_{number}") for number, key in enumerate(keys)}
    named = ", ".join(f"{key} AS {new}" for key, new in renamed.items())
    alike = engine.session.sql(
        f"SELECT {named} FROM {quoted(of_keys)} GROUP BY {grouped} HAVING count(*) > 1"
    )
    if not alike.limit(1).collect():
        return None
    engine.bind_view(of_alike, alike)
    engine.bind_view(all_, rows.frame)
    same = " AND ".join(f"a.{key} <=> g.{new}" for key, new in renamed.items())
    return engine.session.sql(
        f"SELECT a.* FROM {quoted(all_)} a LEFT SEMI JOIN {quoted(of_alike)} g ON {same}"
    )


def _near(earlier: Frame, came: Frame, about: About, types: Mapping[str, str]) -> Frame:
    """Return the earlier rows that may have a key which has come: those within its bounds in the
    first column that has any, or without a value there."""
    column = next((one for one in about.columns if can_bound(types[one])), None)
    if column is None:
        return earlier
    within, null = within_bounds(came, column, column, types[column]), f"{quoted(column)} IS NULL"
    return earlier.where(null if within is None else f"({within}) OR {null}")
