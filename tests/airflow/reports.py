"""Report specs for tests."""

from __future__ import annotations

from typing import Any

from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.planner.contract.plan_v1 import ColumnSpec

SALES = (
    ColumnSpec(name="item", type="STRING"),
    ColumnSpec(name="amount", type="BIGINT"),
)


def sales_source(data: str, **changes: Any) -> SourceSpec:
    values: dict[str, Any] = {
        "name": "sales",
        "path": f"{data}/sales/{{ds}}",
        "columns": SALES,
        "complete_when": ClockTime(at="24:00"),
        **changes,
    }
    return SourceSpec(**values)


def sales_report(data: str = "/data", store: str = "", **changes: Any) -> ReportSpec:
    """Revenue per item, at 10:00, 16:00 and midnight, due at 06:00."""
    values: dict[str, Any] = {
        "name": "revenue",
        "sql": "SELECT item, sum(amount) AS revenue, count(*) AS n FROM sales GROUP BY item",
        "sources": (sales_source(data),),
        "policy": RunPolicy(
            runs=(
                RunTime(at="10:00", weight=0.25),
                RunTime(at="16:00", weight=0.3),
                RunTime(at="24:00", weight=1.0),
            )
        ),
        "store": store,
        **changes,
    }
    return ReportSpec(**values)
