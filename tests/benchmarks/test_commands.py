"""The commands that make the figures of the docs: most of them run for hours, and only then."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import SUITES, main, parser_of

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("[a-z]*.py")))
def test_what_they_import_is_there(name: str) -> None:
    importlib.import_module(f"tests.benchmarks.{name}")


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_says_what_it_takes(name: str) -> None:
    assert parser_of(name).format_help().count("\n") > 3
    assert (HERE / f"{name}.py").exists()


def test_every_module_with_a_benchmark_is_a_suite() -> None:
    found = {path.stem for path in HERE.glob("[a-z]*.py") if "\nBENCHMARK = " in path.read_text()}
    assert found == SUITES.keys()


def test_without_a_suite_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SUITES)
    assert main(["no-such-suite"]) == 1
