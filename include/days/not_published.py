"""The error that a result is not published."""

from __future__ import annotations

from forerun.planner.errors import ForerunError


class NotPublishedError(ForerunError):
    """A result cannot be published: it is not there, it failed its checks, or a newer one is."""

    code = "not-published"
