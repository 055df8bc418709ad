"""Something of the team's."""

from __future__ import annotations

from datetime import UTC, datetime

START = datetime(2026, 1, 1, tzinfo=UTC)
