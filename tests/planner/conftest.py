"""The small engine over the tables that the planner's tests share."""

from __future__ import annotations

import pytest

from tests.planner.sql.constructs import bound
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return bound(PlainSailEngine(sail_session()))
