"""What a changelog holds, on the small engine; whole days are in ``test_stored_days.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forerun.include.sources.changelog import only_adds
from forerun.include.state.records import ColumnFooter, ManifestSource, PinnedFile
from forerun.planner.contract import ColumnSpec
from forerun.spark_jobs.changelog import consolidated, goes_too_often, with_taken_back
from forerun.spark_jobs.engines.sail import SailEngine

SOURCE = ManifestSource(
    name="prices",
    pin="",
    base_pin="",
    columns=(ColumnSpec(name="k", type="BIGINT"), ColumnSpec(name="copy", type="STRING")),
    changing=True,
    change="changelog",
)


def changes(sail: SailEngine, *rows: tuple[str, str, int]):
    values = ", ".join(f"(CAST({k} AS BIGINT), {text}, CAST({w} AS BIGINT))" for k, text, w in rows)
    return sail.session.sql(f"SELECT * FROM VALUES {values} AS v(`k`, `copy`, `__w`)")


def found(frame) -> list[tuple]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_each_row_is_there_as_often_as_its_weights_add_up_to(sail: SailEngine) -> None:
    rows = changes(
        sail,
        ("1", "'a'", 2), ("1", "'a'", 1), ("1", "'a'", -1), ("1", "'b'", 1), ("1", "'b'", -1),
        ("NULL", "NULL", 1), ("NULL", "NULL", 1), ("2", "'c'", 0),
    )  # fmt: skip
    there = consolidated(sail, SOURCE, rows, once=False)
    assert there.columns == ["k", "copy"]
    assert found(there) == [(1, "a"), (1, "a"), (None, None), (None, None)]


def test_rows_are_added_up_by_the_columns_that_are_read(sail: SailEngine) -> None:
    rows = changes(sail, ("1", "'a'", 2), ("1", "'b'", 1), ("2", "'c'", 1), ("2", "'c'", -1))
    there = consolidated(sail, SOURCE, rows, once=False, reads=("k",))
    assert dict(there.dtypes) == {"k": "bigint", "copy": "string"}
    assert found(there) == [(1, None)] * 3


def test_rows_that_are_alike_by_few_columns_are_not_made_all_at_once(sail: SailEngine) -> None:
    rows = changes(sail, ("1", "'a'", 4096), ("2", "'b'", 10000), ("3", "'c'", 1))
    there = consolidated(sail, SOURCE, rows, once=False, reads=("k",))
    assert found(there.groupBy("k").count()) == [(1, 4096), (2, 10000), (3, 1)]


def test_copies_of_a_row_are_several_partners(sail: SailEngine) -> None:
    """Sail takes what is grouped for unique, and still does so of copies that are made of it."""
    rows = changes(sail, ("1", "'a'", 2), ("2", "'b'", 1))
    sail.bind_view("copies", consolidated(sail, SOURCE, rows, once=False, reads=("k",)))
    asked = "SELECT v.n FROM VALUES (1, 'x'), (2, 'y') v(k, n) {} JOIN copies c ON v.k = c.k"
    for kind in ("INNER", "LEFT"):
        assert found(sail.session.sql(asked.format(kind))) == [("x",), ("x",), ("y",)]
    assert found(sail.session.sql("SELECT DISTINCT k FROM copies")) == [(1,), (2,)]


def test_a_row_that_was_not_there_cannot_be_taken_back(sail: SailEngine) -> None:
    rows = changes(sail, ("1", "'a'", 1), ("1", "'a'", -2))
    with pytest.raises(Exception, match="source prices: a row is taken back more often than it"):
        consolidated(sail, SOURCE, rows, once=False).collect()


@pytest.mark.parametrize(
    ("came", "back", "too_often"),
    [
        ([("1", "'a'", 1), ("2", "'a'", 1)], [("1", "'a'", -1)], False),
        ([("1", "'a'", 2), ("2", "'a'", 1)], [("1", "'a'", -2), ("2", "'a'", 1)], False),
        ([("1", "'a'", 1), ("2", "'a'", 1)], [("1", "'a'", -2)], True),
        ([("1", "'a'", 1), ("2", "'a'", 1)], [("1", "'b'", -1)], True),
        ([("NULL", "NULL", 1)], [("NULL", "NULL", -1)], False),
        ([("NULL", "NULL", 1)], [("NULL", "'a'", -1)], True),
    ],
)
def test_rows_that_go_are_looked_up_in_all_that_came(
    sail: SailEngine, came: list, back: list, too_often: bool
) -> None:
    all_rows, changed = changes(sail, *came, *back), changes(sail, *back)
    assert goes_too_often(sail, SOURCE, all_rows, changed, len(back)) is too_often
    assert goes_too_often(sail, SOURCE, all_rows, changed, 10**9) is too_often


@pytest.mark.spark
@pytest.mark.parametrize("columns", [("x",), ("x", "k")])
def test_a_row_goes_that_is_equal_and_has_other_bytes(spark: Any, columns: tuple) -> None:
    """Spark groups 0.0 with -0.0. Were its hash not the same, the row that came would be missed."""
    types = {"x": "DOUBLE", "k": "BIGINT"}
    source = replace(
        SOURCE, columns=tuple(ColumnSpec(name=name, type=types[name]) for name in columns)
    )
    names, minus = ", ".join(columns), "CAST('-0.0' AS DOUBLE)"
    select = f"SELECT {names}, CAST(w AS BIGINT) AS `__w` FROM VALUES"
    came = spark.session.sql(f"{select} (0D, 1L, 1), ({minus}, 1L, -1), (2D, 1L, 1) v(x, k, w)")
    back = spark.session.sql(f"{select} ({minus}, 1L, -1) v(x, k, w)")
    assert not goes_too_often(spark, source, came, back, 1)
    more = spark.session.sql(f"{select} (0D, 1L, 1), ({minus}, 1L, -2), (2D, 1L, 1) v(x, k, w)")
    assert goes_too_often(spark, source, more, back, 1)


def test_nothing_is_added_up_where_each_row_comes_once(sail: SailEngine) -> None:
    rows = changes(sail, ("1", "'a'", 1), ("1", "'a'", 1))
    assert found(consolidated(sail, SOURCE, rows, once=True)) == [(1, "a"), (1, "a")]


def test_rows_of_files_that_are_gone_are_taken_back(sail: SailEngine) -> None:
    came, gone = changes(sail, ("1", "'a'", 2)), changes(sail, ("2", "'b'", 3), ("3", "'c'", -1))
    changed = with_taken_back(SOURCE, came, gone)
    assert changed.columns == ["k", "copy", "__w"]
    assert found(changed) == [(1, "a", 2), (2, "b", -3), (3, "c", 1)]
    plain = replace(SOURCE, change="append_only")
    changed = with_taken_back(plain, came.drop("__w"), gone.drop("__w"))
    assert found(changed) == [(1, "a", 1), (2, "b", -1), (3, "c", -1)]


@pytest.mark.parametrize(
    ("minimum", "maximum", "rows", "adds"),
    [("1", "1", 5, True), ("-1", "1", 5, False), ("1", "2", 5, False), (None, None, 5, False),
     ("-1", "1", 0, True)],
)  # fmt: skip
def test_footers_tell_whether_files_only_add(minimum, maximum, rows, adds) -> None:
    weights = ColumnFooter(name="__w", type="BIGINT", minimum=minimum, maximum=maximum)
    file = PinnedFile(uri="f", size=1, identity="1", rows=rows, columns=(weights,))
    assert only_adds((file,)) is adds
