"""Registers Forerun's pages where Airflow's plugins folder is this one, without Forerun installed.

Where it is installed its entry point does that, and Airflow takes a plugin of one name once.
"""

from __future__ import annotations

from forerun.airflow.plugin import ForerunPlugin

__all__ = ["ForerunPlugin"]
