"""Lengths of time in sentences."""

from __future__ import annotations


def span_text(seconds: float) -> str:
    """Return a length of time as a person says it: in minutes, then hours, then days."""
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.0f} h" if minutes < 48 * 60 else f"{minutes / 1440:.0f} days"
