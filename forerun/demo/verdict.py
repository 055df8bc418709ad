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


def _is_early(day: DayAccount) -> bool:
    return any(not run.skipped for run in day.runs[:-1])


def lead(group: GroupAccount) -> str:
    """Say what happened, in two sentences: who worked early, and when the rest was done."""
    count = len(group.reports)
    early = sum(_is_early(day) for day in group.reports)
    if not early:
        how = "all of them computed in one application at midnight: no early run was opened"
    else:
        who = "all" if early == count else f"{early} of them"
        how = f"{who} computed early, while rows still came in and compute was cheap"
        how += ", and finished at midnight" if early == count else ", and all finished at midnight"
    return f"{count} reports of one night, planned together; {how}. Every figure is from what ran."


def verdict(group: GroupAccount, mode: str) -> tuple[str, ...]:
    """The answer in sentences: what the night cost against what batch would have, what each part of
    that comes from, who worked early and, where that was for the cost to decide (``mode``
    ``replay``), why others did not."""
    count, said = len(group.reports), []
    if group.process_ratio is not None and group.process_ratio_to_together is not None:
        said.append(
            f"By whole processes, starting Spark and compiling included, the night cost "
            f"{group.process_ratio:.2f} of {count} batch applications, and "
            f"{group.process_ratio_to_together:.2f} of one application with all {count} queries. "
            "All check the same expectations."
        )
        said.append(_parts(group))
    early = [day.report for day in group.reports if _is_early(day)]
    late = [day.report for day in group.reports if day.report not in early]
    if early:
        said.append(f"Worked early, when compute was cheap: {_list(early)}.")
    if late and mode == "replay":
        why = "its estimate says" if len(late) == 1 else "their estimates say"
        said.append(f"Not worked early, because {why} that it would not pay: {_list(late)}.")
    said.append("docs/guides/groups.md and docs/lab/benchmarks.md have figures at larger scales.")
    return tuple(said)


def _parts(group: GroupAccount) -> str:
    """Say what the difference to batch consists of. The parts add up: CPU seconds of whole
    processes at the price of midnight."""
    midnight = group.runs[-1].weight
    apart, together = group.batch.process_cpu_s, group.batch_together.process_cpu_s
    used = sum(run.process_cpu_s for run in group.runs)
    cheap = sum((midnight - run.weight) * run.process_cpu_s for run in group.runs) / midnight
    parts = []
    if len(group.reports) > 1:
        parts.append(
            f"one application in place of {len(group.reports)} saved {apart - together:.0f}"
        )
    own = together - used
    parts.append(
        f"plans of our own {'saved' if own >= 0 else 'took'} {abs(own):.0f}{' more' * (own < 0)}"
    )
    parts.append(f"cheaper hours saved {cheap:.0f}")
    return f"In CPU seconds at the price of midnight, of {apart:.0f}: {_list(parts)}."


def _list(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
