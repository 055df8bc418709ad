"""Sends lineage where the deployment has OpenLineage configured, and never waits for it long.

Configured means: by the variables of the OpenLineage client (``OPENLINEAGE_URL``,
``OPENLINEAGE_CONFIG``, ``OPENLINEAGE__TRANSPORT__...``), or by ``transport`` in section
``[openlineage]`` of Airflow's configuration, as Airflow's own provider reads it.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from airflow.sdk.configuration import conf

_LOG = logging.getLogger("forerun.events")
_NAME = "forerun-lineage"
_PATIENCE_S = 2.0
"""A task waits so long for a lineage backend, and no longer."""
_SILENT = threading.Event()
"""Set once the backend has not answered in this process, which is one try of one task: it is not
waited for again there, however many reports the task is about."""


def send(make: Callable[[str], Any]) -> None:
    """Make an event, given the namespace of jobs, and send it; do nothing where OpenLineage is not
    configured, its client is not installed, or the backend has not answered before. Sending goes on
    in the background for as long as the process lives; what fails there is a warning."""
    config = _configured()
    if config is None or _SILENT.is_set():
        return
    if importlib.util.find_spec("openlineage") is None:
        _LOG.warning(
            "OpenLineage is configured, and its client is not installed: install "
            "openlineage-python, or take the configuration away"
        )
        return
    event = make(_namespace())
    sending = threading.Thread(target=_emit, args=(config, event), name=_NAME, daemon=True)
    sending.start()
    sending.join(_PATIENCE_S)
    if sending.is_alive():
        _SILENT.set()
        _LOG.warning("the lineage backend has not answered in %.0f s; going on", _PATIENCE_S)


def _configured() -> dict[str, Any] | None:
    """The configuration for the client, empty where it finds its own; None if there is none."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").lower() == "true":
        return None
    if given := conf.get("openlineage", "transport", fallback=""):
        return {"transport": json.loads(given)}
    own = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")
    return {} if any(name.startswith(own) for name in os.environ) else None


def _namespace() -> str:
    given = conf.get("openlineage", "namespace", fallback="")
    return str(given or os.environ.get("OPENLINEAGE_NAMESPACE") or "default")


def _emit(config: dict[str, Any], event: Any) -> None:
    try:
        from openlineage.client import OpenLineageClient

        client = OpenLineageClient(config=config) if config else OpenLineageClient()
        client.emit(event)
    except Exception as error:  # noqa: BLE001 - whatever a transport raises
        _LOG.warning("lineage is not sent: %s: %s", type(error).__name__, error)
