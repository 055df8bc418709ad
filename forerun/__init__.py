"""Forerun: daily reports on Airflow and Spark, computed early, published exact.

``planner``, ``include``, ``spark_jobs`` and ``airflow`` lie behind links in a checkout; the wheel
has them as folders.
"""

from __future__ import annotations

try:
    from forerun.planner import version
except ModuleNotFoundError as missing:
    if missing.name != "forerun.planner":
        raise
    raise ImportError(
        "forerun/planner is not there: it is a symbolic link, and links are lost in zip downloads "
        "and on Windows without developer mode. Clone with `git clone -c core.symlinks=true`, or "
        "install the wheel."
    ) from None

__version__ = version.VERSION
