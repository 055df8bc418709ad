"""Compare a result with what batch gives, in the sense of docs/reference/equality.md.

Results are bags of rows, compared by column: everything exactly, but floating point within
:data:`TOLERANCE` of the sum of the absolute values that went into it. Where SQL has several right
answers because ORDER BY ... LIMIT cuts through rows with equal sort keys, any of them is equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TOLERANCE = 1e-9
"""Allowed difference of two doubles, as a fraction of the absolute values that went in."""

FLOAT_TOLERANCE = 2.0**-23
"""The tolerance for FLOAT, whose own rounding is coarser than any order of summation."""

_NULL, _NEGATIVE, _FINITE, _POSITIVE, _NAN = 0, 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class OrderKey:
    """A sort key by position of the result column. NULLs come first exactly if ``nulls_first``."""

    column: int
    ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Cut:
    """The result ends in a LIMIT, over rows ordered by ``keys`` (none: any rows are right).

    ``ties`` holds the rows that compete for the last places: the same query without its LIMIT, or
    any part of that which has every row of the last sort key. Without it, rows at the cut are
    only checked for their sort key and their number. ``skips``: there is an OFFSET too, so the
    first places are competed for as well.
    """

    keys: tuple[OrderKey, ...] = ()
    ties: pa.Table | None = None
    skips: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict. ``differences`` are sentences for people; ``notes`` what was not checked, or
    left open by SQL itself. ``undecided``: rows at a cut differ, and :attr:`Cut.ties` was not there
    to say whether they may; then ``equal`` says no more than that nothing else differs."""

    equal: bool
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    undecided: bool = False


@dataclass(slots=True)
class _Sides:
    """Both tables as one: the first ``split`` rows are expected, the rest are actual."""

    table: pa.Table
    split: int
    mass: Mapping[str, float]
    floats: dict[int, tuple[np.ndarray, float]] = field(default_factory=dict)

    def tolerance(self, column: int) -> float:
        kind = self.table.schema.field(column).type
        return TOLERANCE if pa.types.is_float64(kind) else FLOAT_TOLERANCE


def compare(
    expected: pa.Table,
    actual: pa.Table,
    *,
    mass: Mapping[str, float] | None = None,
    cut: Cut | None = None,
    shown: int = 5,
) -> Comparison:
    """Compare two results; ``shown`` limits how many differing rows are described.

    ``mass`` gives, by column name, the sum of absolute values that went into any one of its
    floating values. A column that is not named uses the value itself, which is never more: so an
    unknown mass can only make the comparison stricter.
    """
    if problems := schema_differences(expected.schema, actual.schema):
        return Comparison(False, tuple(problems))
    sides = sides_of(expected, actual, mass or {})
    columns = range(sides.table.num_columns)
    rows = row_classes(sides, columns)
    if cut is None:
        problems = _bag_differences(sides, rows, columns, shown)
        return Comparison(not problems, tuple(problems))
    problems, notes = _cut_differences(sides, rows, cut, shown)
    undecided = notes == [_BY_KEY_ONLY]
    return Comparison(not problems, tuple(problems), tuple(notes), undecided)


# -- schemas -----------------------------------------------------------------------------------


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type without what is only storage: string views, time units, names of list items,
    decimal width and precision (the scale is part of the value, the precision is not)."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return pa.binary()
    if pa.types.is_decimal(kind):
        return pa.decimal128(38, kind.scale)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=None if kind.tz is None else "UTC")
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("item", plain_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, plain_type(f.type)) for f in kind])
    return kind


def schema_differences(expected: pa.Schema, actual: pa.Schema) -> list[str]:
    if expected.names != actual.names:
        return [f"columns: expected {_names(expected.names)}, got {_names(actual.names)}"]
    return [
        f"column {left.name}: expected type {left.type}, got {right.type}"
        for left, right in zip(expected, actual, strict=True)
        if plain_type(left.type) != plain_type(right.type)
    ]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


# -- rows as integers --------------------------------------------------------------------------


def sides_of(expected: pa.Table, actual: pa.Table, mass: Mapping[str, float]) -> _Sides:
    plain = pa.schema([pa.field(f.name, plain_type(f.type)) for f in expected.schema])
    both = [
        pa.Table.from_arrays(
            [c.cast(f.type) for c, f in zip(t.columns, plain, strict=True)], schema=plain
        )
        for t in (expected, actual)
    ]
    return _Sides(pa.concat_tables(both), expected.num_rows, mass)


def row_classes(sides: _Sides, columns: Sequence[int]) -> np.ndarray:
    """One integer per row: rows have the same one exactly if they are equal in ``columns``.

    Exact columns go first, so that floats are only compared among rows that agree in the rest and
    rows that differ in a float alone get neighbouring integers.
    """
    schema = sides.table.schema
    floating = [c for c in columns if pa.types.is_floating(schema.field(c).type)]
    classes = np.zeros(sides.table.num_rows, dtype=np.int64)
    for column in columns:
        if column not in floating:
            classes = _refine(classes, _codes(sides.table.column(column)))
    for column in floating:
        classes = _refine(classes, _float_codes(sides, column, classes))
    return classes


def _refine(classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    width = int(codes.max(initial=0)) + 1
    if width == 1:
        return classes
    return np.unique(classes * width + codes, return_inverse=True)[1].astype(np.int64)


def _codes(values: pa.ChunkedArray) -> np.ndarray:
    """Equal exact values have equal codes; codes rise with the values, NULL has 0."""
    flat = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if pa.types.is_nested(flat.type):
        flat = pa.array([None if v is None else _canonical(v) for v in flat.to_pylist()])
    encoded = pc.dictionary_encode(flat)
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    rank[-1] = 0
    codes: np.ndarray = rank[pc.fill_null(encoded.indices, len(order)).to_numpy()]
    return codes


def _canonical(value: object) -> str:
    """Return a nested value as text; the entries of a map have no order."""
    if isinstance(value, list):
        if value and all(isinstance(v, tuple) for v in value):
            return "{" + ",".join(sorted(_canonical(v) for v in value)) + "}"
        return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_canonical, value)) + ")"
    if isinstance(value, dict):
        return "<" + ",".join(f"{k}={_canonical(v)}" for k, v in value.items()) + ">"
    return repr(0.0 if isinstance(value, float) and value == 0 else value)


def _float_codes(sides: _Sides, column: int, classes: np.ndarray) -> np.ndarray:
    """Codes of floats: within a class, values in a chain of tolerable steps share a code.

    Codes rise with the values (NaN is greatest, as in Spark). Chains may be long, so the values
    are remembered, and :func:`_drifted` holds them against each other in order.
    """
    name = sides.table.schema.field(column).name
    flat = sides.table.column(column).combine_chunks()
    null = flat.is_null().to_numpy(zero_copy_only=False)
    values = flat.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    kind = np.full(len(values), _FINITE, dtype=np.int64)
    kind[np.isnan(values)] = _NAN
    kind[values == np.inf] = _POSITIVE
    kind[values == -np.inf] = _NEGATIVE
    kind[null] = _NULL
    values = np.where(kind == _FINITE, values, 0.0)
    mass = sides.mass.get(name, 0.0)
    sides.floats[column] = (values, mass)
    order = np.lexsort((values, kind, classes))
    v, k, c = values[order], kind[order], classes[order]
    room = sides.tolerance(column) * np.maximum(np.maximum(abs(v[1:]), abs(v[:-1])), mass)
    step = (np.diff(c) != 0) | (np.diff(k) != 0) | (np.diff(v) > room)
    # Steps are counted along all rows, so within one class codes rise with kind and value.
    codes = np.empty(len(v), dtype=np.int64)
    codes[order] = np.concatenate(([0], np.cumsum(step))) if len(v) else []
    return codes


# -- bags --------------------------------------------------------------------------------------


def _bag_differences(
    sides: _Sides, rows: np.ndarray, columns: Sequence[int], shown: int
) -> list[str]:
    size = int(rows.max(initial=-1)) + 1
    wanted = np.bincount(rows[: sides.split], minlength=size)
    found = np.bincount(rows[sides.split :], minlength=size)
    if (wanted == found).all():
        return _drifted(sides, rows, columns, shown)
    wrong = np.flatnonzero(wanted != found)
    missing = int((wanted - found).clip(min=0).sum())
    extra = int((found - wanted).clip(min=0).sum())
    problems = [f"{missing:,} rows are missing, {extra:,} rows should not be there"]
    for row_class in wrong[:shown]:
        more = int(wanted[row_class] - found[row_class])
        example = int(np.flatnonzero(rows == row_class)[0])
        what = "missing" if more > 0 else "not expected"
        times = f" ({abs(more):,} times)" if abs(more) > 1 else ""
        problems.append(f"{what}{times}: {_show(sides.table, example)}")
    if len(wrong) > shown:
        problems.append(f"... and {len(wrong) - shown:,} more")
    return problems


def _drifted(sides: _Sides, rows: np.ndarray, columns: Sequence[int], shown: int) -> list[str]:
    """Float values of equal rank in equal classes that are further apart than they may be."""
    problems: list[str] = []
    for column in columns:
        if column not in sides.floats:
            continue
        values, mass = sides.floats[column]
        ranked = []
        for side in (slice(0, sides.split), slice(sides.split, None)):
            order = np.lexsort((values[side], rows[side]))
            ranked.append((values[side][order], order))
        (left, at), (right, _) = ranked
        room = sides.tolerance(column) * np.maximum(np.maximum(abs(left), abs(right)), mass)
        for i in np.flatnonzero(abs(left - right) > room)[: shown - len(problems)]:
            name = sides.table.schema.field(column).name
            problems.append(
                f"{name}: expected {float(left[i])!r}, got {float(right[i])!r}"
                f" in {_show(sides.table, int(at[i]))}"
            )
    return problems


def _show(table: pa.Table, row: int) -> str:
    values = (
        f"{name}={str(table.column(i)[row].as_py())[:60]}"
        for i, name in enumerate(table.schema.names)
    )
    return ", ".join(values) or "(no columns)"


# -- ties at a LIMIT ---------------------------------------------------------------------------


_BY_KEY_ONLY = "several rows compete for the last places; they were checked by sort key only"


def _cut_differences(
    sides: _Sides, rows: np.ndarray, cut: Cut, shown: int
) -> tuple[list[str], list[str]]:
    """Equal bags of sort keys, equal bags of rows above the cut, rows at it from the tie class."""
    count, actual = sides.split, len(rows) - sides.split
    if count != actual:
        return [f"expected {count:,} rows, got {actual:,}"], []
    if not (exact := _bag_differences(sides, rows, range(sides.table.num_columns), shown)):
        return [], []
    keys = [k.column for k in cut.keys]
    if problems := _bag_differences(sides, row_classes(sides, keys), keys, shown):
        return ["sort keys differ", *problems], []
    at_cut = _at_cut(sides, cut)
    above = _part(sides, ~at_cut)
    columns = range(sides.table.num_columns)
    if problems := _bag_differences(above, row_classes(above, columns), columns, shown):
        return ["rows above the cut differ", *problems], []
    if cut.ties is None:
        return [], [_BY_KEY_ONLY]
    if problems := _not_drawn(sides, at_cut, cut.ties, shown):
        return [*problems, *exact], []
    return [], ["several rows compete for the last places; other ones were chosen, as SQL allows"]


def _at_cut(sides: _Sides, cut: Cut) -> np.ndarray:
    """Rows whose sort key is the last one that the expected result shows, or with an OFFSET the
    first one."""
    ranks = []
    for key in cut.keys:
        rank = _rank(sides, key.column)
        null = sides.table.column(key.column).is_null().to_numpy()
        rank = rank if key.ascending else -rank
        outside = rank.min(initial=0) - 1 if key.nulls_first else rank.max(initial=0) + 1
        ranks.append(np.where(null, outside, rank))
    if not ranks:
        return np.ones(sides.table.num_rows, dtype=bool)
    order = np.lexsort([rank[: sides.split] for rank in reversed(ranks)])
    ends = (order[-1], order[0]) if cut.skips else (order[-1],)
    found = np.zeros(sides.table.num_rows, dtype=bool)
    for end in ends:
        found |= np.logical_and.reduce([rank == rank[end] for rank in ranks])
    return found


def _rank(sides: _Sides, column: int) -> np.ndarray:
    if column in sides.floats:
        return _float_codes(sides, column, np.zeros(sides.table.num_rows, dtype=np.int64))
    return _codes(sides.table.column(column))


def _part(sides: _Sides, keep: np.ndarray) -> _Sides:
    table = sides.table.filter(pa.array(keep))
    return _Sides(table, int(keep[: sides.split].sum()), sides.mass)


def _not_drawn(sides: _Sides, at_cut: np.ndarray, ties: pa.Table, shown: int) -> list[str]:
    """Actual rows at the cut that the tie class does not hold often enough."""
    chosen = sides.table.slice(sides.split).filter(pa.array(at_cut[sides.split :]))
    pool = sides_of(ties, chosen, sides.mass)
    rows = row_classes(pool, range(pool.table.num_columns))
    size = int(rows.max(initial=-1)) + 1
    have = np.bincount(rows[: pool.split], minlength=size)
    used = np.bincount(rows[pool.split :], minlength=size)
    wrong = np.flatnonzero(used > have)[:shown]
    return [
        f"not among the rows that tie: {_show(pool.table, int(np.flatnonzero(rows == w)[-1]))}"
        for w in wrong
    ]
