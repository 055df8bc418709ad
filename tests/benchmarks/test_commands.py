"""The commands that make the figures of the docs: most of them run for hours, and only then."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("[a-z]*.py")))
def test_what_they_import_is_there(name: str) -> None:
    importlib.import_module(f"tests.benchmarks.{name}")
