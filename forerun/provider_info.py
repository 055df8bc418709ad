"""Tell Airflow about Forerun as a provider (the entry point ``apache_airflow_provider``).

Airflow reads it while its own configuration is still being imported: nothing here may import it.
"""

from __future__ import annotations

from typing import Any

from forerun.include.machine.options import OPTIONS, SECTION, Option
from forerun.planner.version import VERSION

_NAME = "Forerun"


def get_provider_info() -> dict[str, Any]:
    """Return the record that Airflow's ``provider_info.schema.json`` describes."""
    return {
        "package-name": "forerun",
        "name": _NAME,
        "description": "Daily reports on Spark, computed early where that is cheaper.",
        "versions": [VERSION],
        "integrations": [{"integration-name": _NAME, "tags": ["software"]}],
        "extra-links": ["forerun.airflow.links.DayLink", "forerun.airflow.links.PlanLink"],
        "asset-uris": [
            {"schemes": ["forerun"], "handler": "forerun.include.reports.asset_keys.normalized"}
        ],
        "config": {
            SECTION: {
                "description": "Forerun. Variables named FORERUN_... come before these options.",
                "options": {one.name: _described(one) for one in OPTIONS},
            }
        },
        "plugins": [{"name": "forerun", "plugin-class": "forerun.airflow.plugin.ForerunPlugin"}],
        "triggers": [
            {
                "integration-name": _NAME,
                "python-modules": [
                    "forerun.airflow.tasks.triggers",
                    "forerun.airflow.watching.watch",
                ],
            }
        ],
    }


def _described(option: Option) -> dict[str, Any]:
    return {
        "description": f"{option.about} The variable {option.variable} comes before it.",
        "version_added": None,
        "type": "string",
        "example": option.example,
        "default": None,
    }
