"""What is played: reports, days, who takes part, when they start and how clocks differ."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from forerun.include.reports.spec import (
    MarkerFile,
    PartitionFolder,
    ReportSpec,
    RunPolicy,
    RunTime,
    SourceSpec,
    VersionedFolder,
)
from tests.simulation.actors import Body, Day
from tests.simulation.plans import COLUMNS, SOURCE, Style
from tests.simulation.policies import Rates


@dataclass
class Scenario:
    """Who takes part. ``hostile``: files of sources are changed or taken away; ``cleaned``: there
    is clean-up, so that state of a day may be gone, which must be said. ``floor_hours``: nothing
    younger is deleted; that clean-up is safe must not rest on it, so some scenarios have none.
    ``probed``: the store's conditional puts were proved before. ``calm``: afterwards every day is
    cleared and published once more, and clean-up must leave nothing over."""

    seed: int
    kind: Literal["disk", "s3"]
    tick: float
    store_skew: float
    rates: Rates
    days: list[Day]
    styles: dict[str, Style]
    hostile: bool = False
    cleaned: bool = False
    damaged: bool = False
    floor_hours: float = 24.0
    probed: bool = True
    calm: bool = True
    bodies: list[tuple[str, Body, float]] = field(default_factory=list)


def source_folder(day: dt.date) -> str:
    return f"tables/{SOURCE}/ds={day.isoformat()}"


def make_spec(name: str, runs: int, *, results_at: tuple[int, ...], sink: bool) -> ReportSpec:
    """A report over the one source."""
    orders = SourceSpec(
        name=SOURCE,
        path="s3://sim/tables/" + SOURCE + "/ds={ds}",
        columns=COLUMNS,
        complete_when=MarkerFile(),
    )
    times = tuple(RunTime(at=f"{8 + 4 * i}:00", weight=0.25 + i) for i in range(runs))
    return ReportSpec(
        name=name,
        sources=(orders,),
        policy=RunPolicy(runs=times, results_at=() if sink else results_at),
        sql="SELECT k, sum(v) AS v FROM orders GROUP BY k",
        sink=PartitionFolder(path=f"s3://sim/warehouse/{name}") if sink else VersionedFolder(),
    )
