"""Names of the views that have the rows of sources (:mod:`forerun.planner.contract.plan_v1`)."""

from __future__ import annotations

from forerun.planner.algebra.relational import Scan, Version
from forerun.planner.contract.plan_v1 import PANE_COLUMN

_SUFFIX = {Version.NEW: "", Version.DELTA: "__delta", Version.OLD: "__old"}
_BY_PANE = "__by_pane"


def view_name(node: Scan) -> str:
    """Return the name of the view that a scan reads."""
    by_pane = _BY_PANE if has_panes(node) else ""
    return f"{node.source}{_SUFFIX[node.version]}{by_pane}"


def has_panes(node: Scan) -> bool:
    """Return whether a scan reads the panes of its rows."""
    return any(column.name == PANE_COLUMN for column in node.scanned)
