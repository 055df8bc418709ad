"""Say whether the demo's night paid, in the figures of this very demo, both ways."""

from __future__ import annotations

from collections.abc import Sequence

from forerun.simulation.accounts import DayAccount
from forerun.simulation.group_account import GroupAccount


def early_words(day: DayAccount) -> str:
    """The early runs of a report, in words."""
    early = [str(run.index) for run in day.runs[:-1] if not run.skipped]
    if not early:
        return "none"
    return _list(early)


def verdict(group: GroupAccount, mode: str) -> tuple[str, ...]:
    """The answer in sentences: what the night cost against what batch would have, who worked early
    and, where that was for the cost to decide (``mode`` ``replay``), why others did not."""
    count, said = len(group.reports), []
    if group.process_ratio is not None and group.process_ratio_to_together is not None:
        said.append(
            f"By whole processes, starting Spark and compiling included, the night cost "
            f"{group.process_ratio:.2f} of {count} batch applications, and "
            f"{group.process_ratio_to_together:.2f} of one application with all {count} queries. "
            "All check the same expectations."
        )
    early = [day.report for day in group.reports if any(not r.skipped for r in day.runs[:-1])]
    late = [day.report for day in group.reports if day.report not in early]
    if early:
        said.append(f"Worked early, when compute was cheap: {_list(early)}.")
    if late and mode == "replay":
        why = "its estimate says" if len(late) == 1 else "their estimates say"
        said.append(f"Not worked early, because {why} that it would not pay: {_list(late)}.")
    starts = group.batch.process_cpu_s - group.batch_together.process_cpu_s
    if count > 1:
        said.append(
            f"{count} batch applications take {starts:.0f} s of CPU more than one with all {count} "
            "queries: to start Spark, and to compile the same code, again."
        )
    said.append("docs/guides/groups.md and docs/lab/benchmarks.md have figures at larger scales.")
    return tuple(said)


def _list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
