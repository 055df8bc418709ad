"""Data-driven tests: text in, text out, and one flag to accept what is new.

A file holds blocks, separated by blank lines and free comments (lines that start with ``#``)::

    directive key=value flag
    input, as many lines as it takes
    ----
    expected output, up to the next blank line (a ``.`` stands for an empty line)

Each block is a test of its own, named by its file and line (``join.test:12``)::

    @pytest.mark.parametrize("case", cases(FILES))
    def test_golden(case: Case, accept: bool) -> None:
        check(case, run, accept=accept)

A block that differs prints a unified diff. ``pytest --accept`` rewrites the expected output of what
it runs; read the diff before you commit.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Block:
    """One block: the words of its first line, its input, and what is expected.

    ``expected_at`` are the lines of the file (from 0, end exclusive) that hold what is expected.
    """

    line: int
    directive: str
    options: dict[str, str]
    input: str
    expected: str
    expected_at: tuple[int, int] = (0, 0)

    def listed(self, name: str) -> tuple[str, ...]:
        """An option with several values: ``expect=A,B``."""
        value = self.options.get(name, "")
        return tuple(part for part in value.split(",") if part)


def read_blocks(path: Path) -> list[Block]:
    """Return all blocks of a file. Raises ValueError for a block without ``----``."""
    blocks: list[Block] = []
    lines = path.read_text().split("\n")
    index = 0
    while index < len(lines):
        if not lines[index].strip() or lines[index].startswith("#"):
            index += 1
            continue
        start = index
        directive, *words = lines[index].split()
        options = dict(word.partition("=")[::2] for word in words)
        body: list[str] = []
        index += 1
        while index < len(lines) and lines[index] != "----":
            body.append(lines[index])
            index += 1
        if index == len(lines):
            raise ValueError(f"{path}:{start + 1}: the block has no ----")
        index += 1
        first = index
        while index < len(lines) and lines[index].strip():
            index += 1
        text = "\n".join("" if line == "." else line for line in lines[first:index])
        blocks.append(Block(start + 1, directive, options, "\n".join(body), text, (first, index)))
    return blocks


@dataclass(frozen=True)
class Case:
    """One block as a test: the file, and which of its blocks it is (from 0)."""

    path: Path
    place: int
    block: Block


def cases(paths: Iterable[Path]) -> list[Any]:
    """Return the blocks of the files as parameters of a test, each named ``file:line``."""
    return [
        pytest.param(Case(path, place, block), id=f"{path.name}:{block.line}")
        for path in paths
        for place, block in enumerate(read_blocks(path))
    ]


def check(case: Case, run: Callable[[Block], str], *, accept: bool) -> None:
    """Compare what ``run`` makes of the block with what is expected.

    Fails with a unified diff where they differ. With ``accept`` the file is rewritten instead, and
    only the lines of this block: accepting one block leaves all others as they are.
    """
    actual = run(case.block).rstrip("\n")
    if actual == case.block.expected:
        return
    if accept:
        _rewrite(case, actual)
        return
    where = f"{case.path.name}:{case.block.line}"
    lines = difflib.unified_diff(
        case.block.expected.split("\n"),
        actual.split("\n"),
        fromfile=f"{where} expects",
        tofile="got",
        lineterm="",
    )
    pytest.fail("\n".join([*lines, "(accept it with --accept)"]), pytrace=False)


def _rewrite(case: Case, actual: str) -> None:
    # Blocks of this file that were accepted before may have moved this one: it is found by its
    # place among them, not by its line.
    first, end = read_blocks(case.path)[case.place].expected_at
    lines = case.path.read_text().split("\n")
    lines[first:end] = [line or "." for line in actual.split("\n")]
    case.path.write_text("\n".join(lines))
