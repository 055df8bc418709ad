"""One way to measure: commands go on where they were killed, and hide no failure."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from forerun.planner.errors import MethodError
from forerun.simulation.running import RunFailedError
from tests.benchmarks import driver
from tests.benchmarks.driver import (
    REFUSED,
    TOO_LONG,
    Benchmark,
    Cell,
    Figures,
    Found,
    Kept,
    OneAtATime,
    alone,
    chosen,
    code_version,
    measure,
    progress,
    run,
    table,
)
from tests.benchmarks.page import write_section


def cell(*name: str, under: str = "here", **figures: object) -> Cell:
    return Cell(name=name, under=under, measure=lambda _found: dict(figures))


def refusing(error: Exception) -> Cell:
    def measured(_found: Found) -> Figures:
        raise error

    return Cell(name=("q02",), under="here", measure=measured)


FAILING = refusing(RunFailedError("no memory", hint=""))


# -- what is kept ----------------------------------------------------------------------------------


def test_only_figures_of_this_code_under_these_conditions_count(tmp_path: Path) -> None:
    kept, one = Kept(tmp_path / "kept.jsonl", "code"), cell("q01", "auto")
    kept.put(one, {"cpu_s": 1.0})
    kept.put(one, {"cpu_s": 2.0})
    for known in (kept, Kept(kept.path, "code")):
        assert known.of([one])[one.name].figures == {"cpu_s": 2.0}, "the last one counts"
    assert not kept.of([replace(one, under="there"), cell("q01", "im1")])
    assert not Kept(kept.path, "other").of([one])


def test_a_killed_command_goes_on_where_it_was() -> None:
    tried: list[str] = []

    def measured(name: str) -> Figures:
        tried.append(name)
        if name == "q02":
            raise RunFailedError("out of memory", hint="")
        if name == "q04" and tried.count("q04") == 1:
            raise KeyboardInterrupt
        return {"cpu_s": 1.0}

    names = ("q01", "q02", "q03", "q04", "q05")
    cells = [Cell(name=(name,), measure=lambda _, name=name: measured(name)) for name in names]
    given, benchmark = options_of(), Benchmark(cells=lambda _: cells, lines=lambda *_: ())
    with pytest.raises(KeyboardInterrupt):
        run("suite", benchmark, given)
    assert run("suite", benchmark, given) == 1, "one of them failed"
    assert tried == ["q01", "q02", "q03", "q04", "q02", "q04", "q05"]
    assert run("suite", benchmark, replaced(given, again=True)) == 1
    assert tried[7:] == list(names)


def test_a_cell_gets_what_was_measured_before(tmp_path: Path) -> None:
    kept, first = Kept(tmp_path / "kept.jsonl", "code"), cell("first", cpu_s=3.0)
    second = Cell(name=("second",), measure=lambda found: {"twice": 2 * found["first",]["cpu_s"]})
    measure(kept, [first, second], [first, second])
    assert kept.of([second])["second",].figures == {"twice": 6.0}


def test_a_method_that_does_not_apply_is_not_tried_again(tmp_path: Path) -> None:
    kept, one = Kept(tmp_path / "kept.jsonl", "code"), refusing(MethodError("not here", hint=""))
    measure(kept, [one], [one])
    assert kept.of([one])[one.name].how == REFUSED


def test_two_commands_do_not_measure_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kept.jsonl"
    with alone(path), pytest.raises(BlockingIOError), alone(path):
        pass
    with alone(path):
        pass


def test_what_takes_too_long_is_given_up_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class RestartedError(Exception):
        pass

    started: list[list[str]] = []
    monkeypatch.setattr(driver.os, "execv", lambda _program, given: started.append(given))
    children = SimpleNamespace(children=lambda **_: [])
    monkeypatch.setattr(driver.psutil, "Process", lambda: children)

    def endless(_found: Found) -> Figures:
        while not started:
            time.sleep(0.001)
        raise RestartedError

    kept = Kept(tmp_path / "kept.jsonl", "code")
    one = Cell(name=("q01",), measure=endless, limit_s=0.01)
    with pytest.raises(RestartedError):
        measure(kept, [one], [one])
    assert started == [[sys.executable, *sys.orig_argv[1:]]]
    record = kept.of([one])["q01",]
    assert (record.how, record.error) == (TOO_LONG, "not done in 0.01 s")


def test_the_code_version_is_that_of_the_product(tmp_path: Path) -> None:
    code = tmp_path / "planner" / "api.py"
    code.parent.mkdir()
    code.write_text("1")
    first = code_version(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_api.py").write_text("1")
    assert code_version(tmp_path) == first
    code.write_text("2")
    assert code_version(tmp_path) != first


# -- which cells -----------------------------------------------------------------------------------


def test_cells_have_a_word_of_each_list() -> None:
    cells = [cell(query, method) for query in ("q01", "q02") for method in ("auto", "im1")]
    assert chosen(cells, []) == cells
    assert chosen(cells, [["q02"], ["auto", "im1"]]) == cells[2:]
    assert chosen(cells, [["q01", "q02"], ["im1"]]) == [cells[1], cells[3]]
    with pytest.raises(SystemExit, match="nothing is called q03"):
        chosen(cells, [["q03", "q01"]])


def test_what_cells_share_is_opened_once_in_turn() -> None:
    said: list[str] = []

    @contextmanager
    def session(key: str) -> Iterator[str]:
        said.append(f"open {key}")
        yield key
        said.append(f"close {key}")

    sessions = OneAtATime[str, str](session)
    assert [sessions.of(key) for key in ("a", "a", "b")] == ["a", "a", "b"]
    sessions.close()
    assert said == ["open a", "close a", "open b", "close b"]


def test_progress_says_what_is_left() -> None:
    assert progress("q01", 0, 4, 0.0) == "q01: 1 of 4, 0:00:00 elapsed"
    assert progress("q03", 2, 4, 120.0).startswith("q03: 3 of 4, 0:02:00 elapsed, end expected at ")


# -- the page --------------------------------------------------------------------------------------


def options_of(**given: object) -> argparse.Namespace:
    default = {"only": [], "again": False, "page": False, "no_page": True}
    return argparse.Namespace(**{**default, **given})


def replaced(given: argparse.Namespace, **other: object) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(given), **other})


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "home_folder", lambda: tmp_path)


def told(tmp_path: Path, *cells: Cell) -> str:
    kept = Kept(tmp_path / "kept.jsonl", "code")
    measure(kept, cells, [one for one in cells if one.name != ("later",)])
    benchmark = Benchmark(
        cells=lambda _: cells,
        lines=lambda _, found: table(
            ("cell", "CPU"), ((n[0], f["cpu_s"]) for n, f in found.items())
        ),
        about="What it is.",
    )
    return "\n".join(driver.lines_of(benchmark, options_of(), cells, kept.of(cells)))


def test_an_unfinished_table_says_so_and_hides_no_failure(tmp_path: Path) -> None:
    unequal = cell("q03", cpu_s=3.0, differences=["row 1 is missing"])
    gap = cell("q04", cpu_s=4.0, differences=["other"], not_covered="G1")
    text = told(tmp_path, cell("q01", cpu_s=1.5), FAILING, unequal, gap, cell("later"))
    assert "here, code code." in text.splitlines()[0]
    assert "**Unfinished: 4 of 5 have figures.** Without:\nlater" in text
    assert "- q02 failed: no memory" in text
    assert "- q03 is not equal: row 1 is missing" in text
    assert "- q04 is not equal, where the engine's own text is wrong (G1): other" in text
    assert text.endswith("What it is.\n\n| cell | CPU |\n| --- | --- |\n| q01 | 1.5 |\n"
                         "| q03 | 3.0 |\n| q04 | 4.0 |")  # fmt: skip
    assert "Unfinished" not in told(tmp_path, cell("q01", cpu_s=1.5))


@pytest.mark.parametrize(
    ("figures", "status"),
    [
        ({}, 0),
        ({"differences": []}, 0),
        ({"differences": ["a row"]}, 1),
        ({"differences": ["a row"], "not_covered": "G1"}, 0),
    ],
)
def test_the_status_is_that_of_results(figures: Figures, status: int) -> None:
    benchmark = Benchmark(cells=lambda _: [cell("q01", **figures)], lines=lambda *_: ())
    assert run("suite", benchmark, options_of()) == status


def test_the_page_is_written_when_nothing_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Figures\n")
    benchmark = Benchmark(
        cells=lambda _: [cell("q01"), cell("q02")],
        lines=lambda _, found: [f"{len(found)} cells"],
        section=lambda _: "bench-suite",
        page=page,
        beside=lambda _, found: {"suite.csv": f"{len(found)}"},
    )
    given = options_of(no_page=False, only=[["q01"]])
    assert run("suite", benchmark, given) == 0
    assert page.read_text() == "# Figures\n"
    assert run("suite", benchmark, replaced(given, page=True)) == 0
    assert "**Unfinished: 1 of 2 have figures.**" in page.read_text()
    assert run("suite", benchmark, replaced(given, only=[])) == 0
    assert "<!-- bench-suite -->" in page.read_text()
    assert "2 cells" in page.read_text()
    assert (tmp_path / "suite.csv").read_text() == "2"


def test_a_section_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Figures\n\nAbove.\n\n<!-- a -->\n\nold\n\n<!-- end of a -->\n\nBelow.\n")
    write_section("a", ["new", "lines"], page)
    write_section("b", ["1"], page)
    assert page.read_text() == (
        "# Figures\n\nAbove.\n\n<!-- a -->\n\nnew\nlines\n\n<!-- end of a -->\n\nBelow.\n\n"
        "<!-- b -->\n\n1\n\n<!-- end of b -->\n"
    )


def test_a_section_that_is_not_closed_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->\nfigures\n")
    with pytest.raises(ValueError, match="does not close"):
        write_section("a", ["new"], page)
    assert page.read_text() == "<!-- a -->\nfigures\n"
