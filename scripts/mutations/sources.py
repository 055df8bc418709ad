"""Breaks of how sources are read: changelogs, and when a day is complete."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

SOURCES = (
    Mutation(
        "changelogs: rows that are taken back stay", "spark_jobs/changelog.py",
        "ELSE CAST({total} AS INT) END", "ELSE 1 END",
    ),
    Mutation(
        "changelogs: files that take rows back are believed to add only",
        "include/sources/changelog.py",
        'all(bound == ("1", "1") for bound in bounds)', "bool(files)",
    ),
    Mutation(
        "completeness: a marker of an hour completes the day", "include/sources/completeness.py",
        "if rule.name in _names(source, day):",
        "if any(name.endswith(rule.name) for name in _names(source, day)):",
    ),
    Mutation(
        "completeness: every day has 24 hours", "include/reports/complete_when.py",
        "return tuple(sorted(shown))", "return tuple(range(24))",
    ),
)  # fmt: skip
