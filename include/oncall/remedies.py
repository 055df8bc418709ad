"""What can help after an error: advice that the same error would defeat is never given."""

from __future__ import annotations

from forerun.include.state.failure import Failure

BATCH_SHARES = frozenset(
    {
        *("source-file", "source-changed", "source-path", "source-format", "schema-drift"),
        *("changelog", "declaration"),
        *("store", "store-down", "store-full", "store-denied", "store-missing", "store-unsafe"),
        *("sql", "unsupported-sql", "function-refused", "unknown-function", "too-deep", "too-long"),
        *("parameter", "report", "settings", "deployment", "java", "jars-missing", "engine"),
    }
)
"""Codes of errors that batch runs into as well: what it reads, where it writes, its text, and the
machine are the same."""


def remedies(failure: Failure, *, was_batch: bool) -> tuple[str, ...]:
    """Return what to do after a failure, the first thing first. ``was_batch``: what failed was
    planned as batch, so running batch once more is no help either."""
    first = failure.hint or f"read the end of the log of {failure.task}"
    if was_batch or failure.code in BATCH_SHARES:
        return (first, f"then clear the task {failure.task} of the DAG run")
    return (first, "or run batch now, from the page")
