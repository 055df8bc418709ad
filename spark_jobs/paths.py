"""Paths as Spark's readers take them."""

from __future__ import annotations

import re

_PATTERN = re.compile(r"([\\*?\[\]{}])")


def literal(uri: str) -> str:
    """A URI in which nothing is a pattern. Spark's option that says so for all paths of a reader
    (``__globPaths__``) gives every file as often as there are paths that could be patterns, and
    Spark Connect loses it: it spells the names of options in small letters."""
    return _PATTERN.sub(r"\\\1", uri)
