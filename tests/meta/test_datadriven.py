"""Golden files are compared block by block, and accepting one block leaves the others alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datadriven import Block, Case, cases, check, read_blocks

TEXT = """# the first
up
one
two
----
ONE
TWO

# the second
up
three
----
wrong
.
lines

up
four
----
FOUR

# the end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "words.test"
    path.write_text(TEXT)
    return path


def upper(block: Block) -> str:
    return block.input.upper()


def listed(path: Path) -> list[Case]:
    return [parameters.values[0] for parameters in cases([path])]


def test_each_block_is_a_test_named_by_file_and_line(path: Path) -> None:
    assert [one.id for one in cases([path])] == [
        "words.test:2",
        "words.test:10",
        "words.test:17",
    ]


def test_a_block_that_differs_fails_with_a_diff_of_it(path: Path) -> None:
    first, second, third = listed(path)
    check(first, upper, accept=False)
    check(third, upper, accept=False)
    with pytest.raises(pytest.fail.Exception) as caught:
        check(second, upper, accept=False)
    said = str(caught.value).splitlines()
    assert said[:2] == ["--- words.test:10 expects", "+++ got"]
    assert said[3:-1] == ["-wrong", "-", "-lines", "+THREE"]
    assert path.read_text() == TEXT


def test_accepting_rewrites_the_block_and_nothing_else(path: Path) -> None:
    for case in listed(path):
        check(case, upper, accept=True)
    assert path.read_text() == TEXT.replace("wrong\n.\nlines", "THREE")


def test_blocks_that_moved_are_found_when_they_are_accepted(path: Path) -> None:
    for case in listed(path):
        check(case, lambda block: "\n\n".join(block.input), accept=True)
    assert [block.expected for block in read_blocks(path)] == [
        "\n\n".join(text) for text in ("one\ntwo", "three", "four")
    ]
    assert path.read_text().endswith("# the end\n")
