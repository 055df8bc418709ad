"""The page of figures, docs/lab/benchmarks.md: one section a command, and each writes only its own.

A section lies between two comment lines that name it, so that a command replaces its own figures
and leaves the text around them, and the sections of the others, as they are.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "docs" / "lab"
"""Where commands write what they measured: pages, and the pictures and tables beside them."""
PAGE = LAB / "benchmarks.md"
SCHEDULE_PAGE = LAB / "schedule.md"
SAMPLES_PAGE = LAB / "samples.md"
SOURCES_PAGE = LAB / "sources.md"


def write_section(name: str, lines: list[str], page: Path = PAGE) -> None:
    """Put the lines where the page has the section of that name, at its end if it has none."""
    first, last = f"<!-- {name} -->", f"<!-- end of {name} -->"
    body = "\n".join([first, "", *lines, "", last])
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(first)
    if not found:
        page.write_text(f"{text.rstrip()}\n\n{body}\n", encoding="utf-8")
        return
    _, closed, after = rest.partition(last)
    if not closed:
        raise ValueError(f"{page} opens the section {name} and does not close it with {last}")
    page.write_text(before + body + after, encoding="utf-8")
