"""Data-driven tests: text in, text out, and one flag to accept what is new.

A file holds blocks, separated by blank lines and free comments (lines that start with ``#``)::

    directive key=value flag
    input, as many lines as it takes
    ----
    expected output, up to the next blank line (a ``.`` stands for an empty line)

``pytest --accept`` rewrites the expected output of what it runs; read the diff before you commit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Block:
    """One case: the words of its first line, its input, and what is expected."""

    line: int
    directive: str
    options: dict[str, str]
    input: str
    expected: str
    before: list[str] = field(default_factory=list)

    def listed(self, name: str) -> tuple[str, ...]:
        """An option with several values: ``expect=A,B``."""
        value = self.options.get(name, "")
        return tuple(part for part in value.split(",") if part)


def read_blocks(path: Path) -> list[Block]:
    """All blocks of a file. Raises ValueError for a block without ``----``."""
    blocks: list[Block] = []
    before: list[str] = []
    lines = path.read_text().split("\n")
    index = 0
    while index < len(lines):
        if not lines[index].strip() or lines[index].startswith("#"):
            before.append(lines[index])
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
        expected: list[str] = []
        while index < len(lines) and lines[index].strip():
            expected.append("" if lines[index] == "." else lines[index])
            index += 1
        text = "\n".join(expected)
        blocks.append(Block(start + 1, directive, options, "\n".join(body), text, before))
        before = []
    return blocks


def run_file(path: Path, run: Callable[[Block], str], *, accept: bool) -> None:
    """Run every block; fail with the first difference, or rewrite the file."""
    blocks = read_blocks(path)
    out: list[str] = []
    for block in blocks:
        actual = run(block).rstrip("\n")
        if not accept:
            where = f"{path.name}:{block.line}"
            assert actual == block.expected, f"{where}: got\n{actual}\n(accept it with --accept)"
        words = [block.directive] + [f"{k}={v}" if v else k for k, v in block.options.items()]
        shown = "\n".join(line or "." for line in actual.split("\n"))
        out += [*block.before, " ".join(words), block.input, "----", shown]
    if accept:
        path.write_text("\n".join(out) + "\n")
