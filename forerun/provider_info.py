"""What Forerun tells Airflow of itself as a provider (the entry point ``apache_airflow_provider``).

Airflow reads it while its own configuration is still being imported: this imports nothing.
"""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return the record that Airflow's ``provider_info.schema.json`` describes."""
    from forerun.planner.version import VERSION

    return {
        "package-name": "forerun",
        "name": "Forerun",
        "description": "Daily reports on Spark, computed early where that is cheaper.",
        "versions": [VERSION],
        "extra-links": ["forerun.airflow.links.DayLink", "forerun.airflow.links.PlanLink"],
        "plugins": [{"name": "forerun", "plugin-class": "forerun.airflow.plugin.ForerunPlugin"}],
        "triggers": [
            {
                "integration-name": "Forerun",
                "python-modules": [
                    "forerun.airflow.work.triggers",
                    "forerun.airflow.watching.watch",
                ],
            }
        ],
    }
