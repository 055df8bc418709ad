"""Breaks of how sources are read: changelogs, and when a day is complete."""

from __future__ import annotations

from scripts.mutations.mutation import Mutation

SOURCES = (
    Mutation(
        "changelogs: rows that are taken back stay", "spark_jobs/changelog.py",
        "{_COPIES}) AS INT))", "{_COPIES}) + IF({total} = 0, 1, 0) AS INT))",
    ),
    Mutation(
        "changelogs: a row comes as often as one part of its copies", "spark_jobs/changelog.py",
        "least({total} - {part} * {_COPIES}, {_COPIES})", "least({total}, {_COPIES})",
        suite=("tests/spark/test_changelog.py",),
    ),
    Mutation(
        "changelogs: the text is given only what is left of it when it is rewritten",
        "planner/api.py",
        "scanned_columns(prune_columns(read.query.relation)) | ", "",
        suite=("tests/planner/stages/test_columns_of_changelogs.py",),
    ),
    Mutation(
        "declarations: only rows that come are looked up", "spark_jobs/changelog.py",
        "WHERE {_W} < 0) g", "WHERE {_W} > 1) g",
        suite=("tests/properties/test_wrong_declarations.py", "-k", "every_method"),
    ),
    Mutation(
        "changelogs: files that take rows back are believed to add only",
        "include/sources/changelog.py",
        'all(bound == ("1", "1") for bound in bounds)', "bool(files)",
    ),
    Mutation(
        "completeness: a marker of an hour completes the day", "include/sources/completeness.py",
        "if rule.name not in _names(path)]",
        "if not any(name.endswith(rule.name) for name in _names(path))]",
    ),
    Mutation(
        "completeness: every day has 24 hours", "include/reports/complete_when.py",
        "return tuple(sorted(shown))", "return tuple(range(24))",
    ),
)  # fmt: skip
