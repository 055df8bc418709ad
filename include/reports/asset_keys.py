"""The names and URIs by which Airflow knows the assets of reports: one of each, wherever they are
used.

Airflow refuses a URI under two names, and a name with two URIs: it deactivates one of the two, and
tasks that touch it fail. So what publishes a report and what waits for it must agree on both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult

from forerun.include.reports.values.names import is_name

_SCHEME = "forerun"
_HOST = "report"
_URI = f"{_SCHEME}://{_HOST}/"
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


def report_of(uri: str) -> str:
    """The name of the report whose days the asset with this URI tells of; empty for another."""
    name = uri.removeprefix(_URI)
    return name if name != uri and is_name(name) else ""


def normalized(uri: SplitResult) -> SplitResult:
    """Return the one way to write the URI of an asset of a report, of several that mean it.

    Airflow calls this with each URI of the scheme ``forerun`` in a DAG. Raises :class:`ValueError`,
    which it shows as the import error of the DAG, for one that no report ever updates: what is
    scheduled on it would never run.
    """
    report, slash, part = uri.path.strip("/").partition("/")
    known = {"", _EARLY, _AT_RISK}
    extra = uri.query or uri.fragment
    if uri.netloc.lower() != _HOST or not is_name(report) or slash + part not in known or extra:
        raise ValueError(
            f"{uri.geturl()} is no asset of a report: write {_URI}NAME, {_URI}NAME{_EARLY} or "
            f"{_URI}NAME{_AT_RISK}, as report_asset() and warning_asset() do"
        )
    return SplitResult(_SCHEME, _HOST, f"/{report}{slash}{part}", "", "")


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
