"""Sections of the page of figures: a command replaces its own and no other."""

from __future__ import annotations

import pytest

from tests.benchmarks.page import write_section


def test_a_section_is_replaced_and_the_rest_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Figures\n\nAbove.\n\n<!-- a -->\n\nold\n\n<!-- end of a -->\n\nBelow.\n")
    write_section("a", ["new", "lines"], page)
    assert page.read_text() == (
        "# Figures\n\nAbove.\n\n<!-- a -->\n\nnew\nlines\n\n<!-- end of a -->\n\nBelow.\n"
    )


def test_two_commands_do_not_touch_each_other(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Figures\n")
    write_section("a", ["1"], page)
    write_section("b", ["2"], page)
    write_section("a", ["3"], page)
    text = page.read_text()
    assert "\n3\n" in text
    assert "\n2\n" in text
    assert "\n1\n" not in text
    assert text.index("<!-- a -->") < text.index("<!-- b -->")


def test_a_section_that_is_not_closed_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->\nfigures\n")
    with pytest.raises(ValueError, match="does not close"):
        write_section("a", ["new"], page)
    assert page.read_text() == "<!-- a -->\nfigures\n"
