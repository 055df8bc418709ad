"""What is said of servers that sources are on."""

from __future__ import annotations

from forerun.planner.errors import ForerunError


class ServiceError(ForerunError):
    """A server that a source is on does not answer, or refuses what it is asked."""

    code = "source-service"
