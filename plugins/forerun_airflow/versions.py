"""The differences between the versions of Airflow that Forerun runs on, all in one place."""

from __future__ import annotations

import inspect
import re
from typing import Any

from airflow import __version__

LEAST = (3, 2)
"""The oldest Airflow that works: 3.1 has neither the exceptions nor the metrics of the task SDK."""


def require_airflow(version: str) -> None:
    """Raise :class:`ImportError` for a version of Airflow that is too old: Airflow shows it for the
    plugin and for each DAG file."""
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if found < LEAST:
        least = ".".join(map(str, LEAST))
        raise ImportError(
            f"Forerun needs Airflow {least} or newer, and this is {version}: "
            f"run `pip install 'apache-airflow>={least}'`"
        )


def deadline_alert(*, name: str, **arguments: Any) -> Any:
    """Return a ``DeadlineAlert``, with its name where alerts have one (from Airflow 3.3 on)."""
    from airflow.sdk.definitions.deadline import DeadlineAlert

    if "name" in inspect.signature(DeadlineAlert).parameters:
        arguments["name"] = name
    return DeadlineAlert(**arguments)


require_airflow(__version__)
