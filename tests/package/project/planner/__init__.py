"""A package of the team's with a name that Forerun has used once."""

from __future__ import annotations

OWNER = "the team"
