"""The error that a server which has a source does not answer."""

from __future__ import annotations

from forerun.planner.errors import ForerunError


class ServiceError(ForerunError):
    """A server that a source is on does not answer, or refuses what it is asked."""

    code = "source-service"
