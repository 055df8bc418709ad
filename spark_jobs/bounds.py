"""Conditions that let an engine skip the files and row groups in which nothing is looked for."""

from __future__ import annotations

from forerun.spark_jobs.engine import Frame, quoted

_PLAIN = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "DATE")
"""Types whose values can be written into a text as they are printed."""


def can_bound(kind: str) -> bool:
    """Return whether a condition on a column of this type lets an engine skip anything."""
    return kind.upper().startswith(_PLAIN) and not kind.upper().startswith("INTERVAL")


def within_bounds(keys: Frame, key: str, column: str, kind: str) -> str | None:
    """Return a condition on a ``column`` of type ``kind`` that holds wherever it equals some value
    of ``key`` in ``keys``, and lets the engine skip others; None if all these are NULL."""
    least, most = keys.selectExpr(
        f"CAST(min({quoted(key)}) AS STRING) AS least",
        f"CAST(max({quoted(key)}) AS STRING) AS most",
    ).collect()[0]
    if least is None:
        return None
    if not can_bound(kind):
        return "true"
    return f"{quoted(column)} BETWEEN CAST('{least}' AS {kind}) AND CAST('{most}' AS {kind})"
