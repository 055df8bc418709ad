"""The doctor's look at the package itself: Airflow finds it by what is installed."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import forerun
from forerun.doctors.findings import DoctorFinding
from forerun.planner.version import VERSION

_NAME = "forerun"


def examine_package() -> DoctorFinding:
    """Compare what is installed with what runs; several versions at once are a problem."""
    found = sorted({one.version for one in metadata.distributions(name=_NAME)})
    here = f"forerun {VERSION} in {Path(forerun.__file__).parent}"
    if len(found) > 1:
        told = f"{' and '.join(found)} are installed at once; what runs is {here}"
        todo = "Run `pip uninstall -y forerun` until none is left, then install one."
        return DoctorFinding(name=_NAME, state="problem", found=told, todo=todo)
    if found and found != [VERSION]:
        told = f"{found[0]} is installed, and what runs is {here}"
        todo = "Install what runs, too, or take its folder out of PYTHONPATH."
        return DoctorFinding(name=_NAME, state="note", found=told, todo=todo)
    return DoctorFinding(name=_NAME, state="ok", found=here)
