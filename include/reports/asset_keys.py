"""The names and URIs by which Airflow knows the assets of reports: one of each, wherever they are
used.

Airflow refuses a URI under two names, and a name with two URIs: it deactivates one of the two, and
tasks that touch it fail. So what publishes a report and what waits for it must agree on both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_URI = "forerun://report/"
_EARLY = "/early"
_AT_RISK = "/at-risk"
_NAMED = re.compile(r"forerun_(report|early|at_risk)_(\w+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class AssetKey:
    """The name and the URI of an asset. ``early``: it is that of a report's early results."""

    name: str
    uri: str
    early: bool = False


def report_key(report: str, *, early: bool = False) -> AssetKey:
    """The asset that publishing a report updates; with ``early`` the one of its early results,
    which is another asset: who waits for a day must not take a part of it for the whole."""
    if early:
        return AssetKey(f"forerun_early_{report}", f"{_URI}{report}{_EARLY}", early=True)
    return AssetKey(f"forerun_report_{report}", f"{_URI}{report}")


def warning_key(report: str) -> AssetKey:
    """The asset that is updated when a day of a report is predicted to miss its deadline."""
    return AssetKey(f"forerun_at_risk_{report}", f"{_URI}{report}{_AT_RISK}")


def key_of(uri: str, name: str) -> AssetKey:
    """The asset that an author names by its URI, its name, or both.

    For the asset of a report either says both. For any other the one that is missing is the same
    as the one that is given, which is how ``airflow.sdk.Asset`` fills it in for its producer.
    """
    for given in (uri, name):
        if report := _report_of(given):
            return report
    return AssetKey(name or uri, uri or name)


def _report_of(text: str) -> AssetKey | None:
    if text.startswith(_URI):
        report = text.removeprefix(_URI).strip("/")
        if report.endswith(_AT_RISK):
            return warning_key(report.removesuffix(_AT_RISK))
        return report_key(report.removesuffix(_EARLY), early=report.endswith(_EARLY))
    if found := _NAMED.fullmatch(text):
        if found[1] == "at_risk":
            return warning_key(found[2])
        return report_key(found[2], early=found[1] == "early")
    return None
