"""Rows drawn at random from Parquet files: each as likely as any other, and the same again."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.sources import samples
from forerun.include.sources.files import locate
from forerun.include.sources.parquet.footers import read_footers
from forerun.include.sources.samples import BLOCKS, Drawn, draw


def pinned(folder: Path):
    location = locate(str(folder))
    return read_footers(location, location.files(".parquet"))


@pytest.fixture
def uneven(tmp_path):
    """Three files of 10, 200 and 790 rows, in row groups of at most 50; ``n`` numbers them."""
    first = 0
    for name, rows in (("a", 10), ("b", 200), ("c", 790)):
        table = pa.table({"n": list(range(first, first + rows)), "t": [name] * rows})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=50)
        first += rows
    return pinned(tmp_path)


def test_every_row_is_as_likely(uneven):
    seen: Counter[int] = Counter()
    for seed in range(200):
        ((_, values),) = draw(uneven, ["n"], 80, seed=str(seed)).values
        seen.update(int(value) for value in values)
    total = sum(seen.values())
    assert 0.95 * 200 * 80 <= total <= 200 * 80  # of the small file there are not as many
    # By parts of a hundred rows: the rows of a row group are drawn together, so their counts vary
    # as those of groups do: 1,600 groups are drawn, 160 of each part with a deviation of 12. What
    # is drawn follows the files' paths and times, so the bound is at nearly five deviations.
    for start in range(0, 1000, 100):
        part = sum(seen[n] for n in range(start, start + 100)) / total
        assert part == pytest.approx(0.1, rel=0.35), start
    assert len(seen) == 1000


def test_rows_stay_together(uneven):
    drawn = dict(draw(uneven, ["n", "t"], 200).values)
    assert len(drawn["n"]) == len(drawn["t"]) > 100
    for number, text in zip(drawn["n"], drawn["t"], strict=True):
        assert text == ("a" if number < 10 else "b" if number < 210 else "c")


def test_equal_files_give_equal_rows(uneven):
    assert draw(uneven, ["n"], 80) == draw(uneven, ["n"], 80)
    assert draw(uneven, ["n"], 80) != draw(uneven, ["n"], 80, seed="other")


def test_values_are_as_the_planner_takes_them(tmp_path):
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    columns = {
        "whole": pa.array([7, None], pa.int16()),
        "exact": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "near": pa.array([0.5, None]),
        "text": pa.array(["x", None]),
        "view": pa.array(["x", None], pa.string_view()),
        "few": pa.array(["x", None]).dictionary_encode(),
        "bytes": pa.array([b"x", None]),
        "truth": pa.array([True, None]),
        "day": pa.array([date(2026, 3, 1), None]),
        "at": pa.array([at, None], pa.timestamp("us", tz="UTC")),
        "list": pa.array([[1], None], pa.list_(pa.int32())),
    }
    pq.write_table(pa.table(columns), tmp_path / "one.parquet")
    drawn = dict(draw(pinned(tmp_path), [*columns, "missing"], BLOCKS).values)
    assert {name: values[0] for name, values in drawn.items()} == {
        "whole": Decimal(7),
        "exact": Decimal("1.50"),
        "near": 0.5,
        "text": "x",
        "view": "x",
        "few": "x",
        "truth": True,
        "day": date(2026, 3, 1),
        "at": at.replace(tzinfo=None),
    }
    assert all(values[1] is None for values in drawn.values())


def test_what_a_changelog_takes_back_is_not_drawn(tmp_path):
    table = pa.table({"n": list(range(100)), "__w": [1, -1] * 50})
    pq.write_table(table, tmp_path / "changes.parquet")
    ((name, values),) = draw(pinned(tmp_path), ["n"], 80, changelog=True).values
    assert name == "n"
    assert values
    assert all(value % 2 == 0 for value in values)


def test_names_are_found_whatever_their_case(tmp_path):
    pq.write_table(pa.table({"Total": [1, 2]}), tmp_path / "one.parquet")
    assert [name for name, _ in draw(pinned(tmp_path), ["total"], 8).values] == ["total"]


def test_texts_of_few_values_are_found_under_any_name(tmp_path):
    """They are read as numbers of a dictionary, which is asked for by the names of the file."""
    few = pa.array([{"kind": "a"}, {"kind": "b"}] * 50)
    table = pa.table({"Kind": ["a", "b"] * 50, "nested": few, "kind.of": ["x"] * 100})
    pq.write_table(table, tmp_path / "one.parquet")
    (file,) = pinned(tmp_path)
    gone = replace(file.columns[0], name="gone", distinct=2)
    renamed = [replace(c, name=c.name.lower()) for c in file.columns]
    drawn = draw([replace(file, columns=(*renamed, gone))], ["kind", "gone"], 100)
    assert [name for name, _ in drawn.values] == ["kind"]
    assert Counter(drawn.values[0][1]) == {"a": 50, "b": 50}


def test_of_files_whose_types_do_not_go_together_there_is_no_sample(tmp_path):
    for name, values in (("a", [1, 2]), ("b", ["x", "y"])):
        pq.write_table(pa.table({"n": values}), tmp_path / f"{name}.parquet")
    # One draw in 128 is from one of the two files only, and then is a sample.
    assert Drawn() in [draw(pinned(tmp_path), ["n"], 80, seed=str(number)) for number in range(8)]


def test_of_a_part_of_the_files_there_is_no_sample(uneven, tmp_path):
    (tmp_path / "c.parquet").write_bytes(b"PAR1 not any more")
    assert draw(uneven, ["n"], 80) == Drawn()
    (tmp_path / "c.parquet").unlink()
    assert draw(uneven, ["n"], 80) == Drawn()


@pytest.mark.parametrize(("columns", "rows"), [([], 10), (["n"], 0)])
def test_nothing_asked_for_is_nothing_read(uneven, columns, rows):
    assert draw(uneven, columns, rows) == Drawn()


CLUSTERED = 10_000, 100
"""Rows, and rows of a row group: a tenth of them pass, all in ten or eleven row groups."""


def shares(files, rows: int, draws: int) -> list[float]:
    drawn = (draw(files, ["n"], rows, seed=str(seed)).values[0][1] for seed in range(draws))
    return [sum(3000 <= n < 4000 for n in values) / len(values) for values in drawn]


@pytest.fixture
def clustered(tmp_path):
    rows, of_group = CLUSTERED
    table = pa.table({"n": list(range(rows))})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=of_group)
    return pinned(tmp_path)


def test_a_column_that_is_sorted_by_arrival_is_drawn_as_well_as_one_by_one(clustered):
    """Rows that are drawn one by one deviate by 0.0064, with all of the file to draw from."""
    one_by_one = math.sqrt(0.1 * 0.9 / 2000 * (1 - 2000 / 10_000))
    found = shares(clustered, 2000, 40)
    assert statistics.fmean(found) == pytest.approx(0.1, abs=0.002)
    assert statistics.pstdev(found) < 1.2 * one_by_one
    drawn = draw(clustered, ["n"], 2000)
    assert len(drawn.values[0][1]) == 2000
    assert drawn.blocks == ()  # of no row group there is nothing


def test_what_is_too_large_is_met_all_along(clustered, monkeypatch):
    """As many rows of eight row groups that are drawn at random would deviate by 0.106."""
    monkeypatch.setattr(samples, "WORK", 1)
    drawn = draw(clustered, ["n"], 160)
    assert sum(drawn.blocks) == len(drawn.values[0][1]) == 160
    assert len(drawn.blocks) == BLOCKS
    found = shares(clustered, 160, 60)
    assert statistics.fmean(found) == pytest.approx(0.1, abs=0.02)
    assert statistics.pstdev(found) < 0.04


@pytest.mark.parametrize(("work", "blocks"), [(830_000, 32), (840_000, 64)])
def test_as_many_row_groups_are_read_as_the_work_allows(clustered, monkeypatch, work, blocks):
    """One file to open, and row groups of a hundred values of four bytes or more."""
    monkeypatch.setattr(samples, "WORK", work)
    monkeypatch.setattr(samples, "_ROW_GROUP", clustered[0].size // 100)
    assert len(draw(clustered, ["n"], 512).blocks) == blocks


def test_many_small_files_are_not_all_opened(tmp_path):
    for number in range(300):
        pq.write_table(pa.table({"n": [number] * 10}), tmp_path / f"{number:03}.parquet")
    drawn = draw(pinned(tmp_path), ["n"], 2000)
    assert len(drawn.blocks) == 32


def test_every_row_is_as_likely_whatever_the_row_groups_are(tmp_path):
    """Chi-square over two thousand samples of 24 of 96 rows in row groups of 1 to 15."""
    first, sizes = 0, (1, 15, 2, 14, 3, 13, 4, 12, 5, 11, 6, 10)
    with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema({"n": pa.int64()})) as writer:
        for size in sizes:
            writer.write_table(pa.table({"n": list(range(first, first + size))}))
            first += size
    files, draws = pinned(tmp_path), 2000
    seen: Counter[int] = Counter()
    for seed in range(draws):
        seen.update(map(int, draw(files, ["n"], 24, seed=str(seed)).values[0][1]))
    expected = seen.total() / 96
    chi_square = sum((seen[n] - expected) ** 2 / expected for n in range(96))
    assert chi_square < 150.0  # of 95 degrees of freedom, one in 3,000 is above


def test_of_few_row_groups_all_are_drawn(tmp_path):
    pq.write_table(pa.table({"n": list(range(800))}), tmp_path / "a.parquet", row_group_size=100)
    drawn = draw(pinned(tmp_path), ["n"], 160)
    assert {int(n) // 100 for n in drawn.values[0][1]} == set(range(8))


def test_rows_that_are_pinned_as_deleted_do_not_hide_the_end_of_a_file(tmp_path):
    pq.write_table(pa.table({"n": list(range(800))}), tmp_path / "a.parquet", row_group_size=100)
    (file,) = pinned(tmp_path)
    drawn = draw([replace(file, rows=300)], ["n"], 160)
    assert {int(n) // 100 for n in drawn.values[0][1]} == set(range(8))
