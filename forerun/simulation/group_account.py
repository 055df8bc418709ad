"""The account of a report group's day, beside batch: each query as an application of its own, and
all of them in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forerun.simulation.accounts import DayAccount, RunAccount, ratio, weighted_cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAccount:
    """The day of a report group. ``runs`` are its time points, each with what all its reports have
    used there; ``batch`` is each plain query in an application of its own, ``batch_together`` all
    of them in one. Ratios are as in :class:`forerun.simulation.accounts.DayAccount`: to the
    applications of their own, and those ``to_together`` to the one. ``plan_ms`` is the longest that
    planning a time point took, None where another process planned.
    """

    group: str
    reports: tuple[DayAccount, ...]
    runs: tuple[RunAccount, ...]
    batch: RunAccount
    batch_together: RunAccount
    plan_ms: float | None = None

    @property
    def engine(self) -> str:
        return self.reports[0].engine

    @property
    def equal(self) -> bool:
        """Return whether every result of every report equals the plain query's."""
        return all(day.equal for day in self.reports)

    @property
    def early_work(self) -> bool:
        return any(day.early_work for day in self.reports)

    @property
    def weighted_ratio(self) -> float | None:
        return ratio(weighted_cpu(self.runs), self._last * self.batch.cpu_s)

    @property
    def final_ratio(self) -> float | None:
        return ratio(self.runs[-1].cpu_s, self.batch.cpu_s)

    @property
    def process_ratio(self) -> float | None:
        return ratio(self._processes, self._last * self.batch.process_cpu_s)

    @property
    def weighted_ratio_to_together(self) -> float | None:
        return ratio(weighted_cpu(self.runs), self._last * self.batch_together.cpu_s)

    @property
    def process_ratio_to_together(self) -> float | None:
        return ratio(self._processes, self._last * self.batch_together.process_cpu_s)

    @property
    def _last(self) -> float:
        """The price of compute when the last reports are due, when batch would run."""
        return self.runs[-1].weight

    @property
    def _processes(self) -> float:
        return sum(run.weight * run.process_cpu_s for run in self.runs)

    def as_json(self) -> dict[str, object]:
        """The fields of a single report for the whole, and each report under ``reports``."""
        return {
            "report": self.group,
            "engine": self.engine,
            "equal": self.equal,
            "runs": [run.as_json() for run in self.runs],
            "batch": self.batch.as_json(),
            "batch_together": self.batch_together.as_json(),
            "weighted_ratio": self.weighted_ratio,
            "final_ratio": self.final_ratio,
            "process_ratio": self.process_ratio,
            "weighted_ratio_to_together": self.weighted_ratio_to_together,
            "process_ratio_to_together": self.process_ratio_to_together,
            "early_work": self.early_work,
            "plan_ms": self.plan_ms,
            "reports": [{"name": day.report, **day.as_json()} for day in self.reports],
        }


def in_sum(runs: Sequence[RunAccount], process_cpu_s: float | None = None) -> RunAccount:
    """One account of the runs that several reports have made at one time point. ``process_cpu_s``:
    what their application took, where that was measured from outside. What each stage did is in
    the accounts of the reports."""
    first = runs[0]
    return RunAccount(
        index=first.index,
        weight=first.weight,
        arrived=first.arrived,
        estimated_cost=sum(run.estimated_cost for run in runs),
        cpu_s=sum(run.cpu_s for run in runs),
        process_cpu_s=process_cpu_s or sum(run.process_cpu_s for run in runs),
        wall_s=sum(run.wall_s for run in runs),
        rows_read=sum(run.rows_read for run in runs),
        state_rows_read=sum(run.state_rows_read for run in runs),
        bytes_read=sum(run.bytes_read for run in runs),
        state_bytes=sum(run.state_bytes for run in runs),
        skipped=all(run.skipped for run in runs),
        engine=" and ".join(dict.fromkeys(run.engine for run in runs if run.engine)),
    )
