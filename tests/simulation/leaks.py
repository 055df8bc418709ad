"""What clean-up must not leave behind for ever."""

from __future__ import annotations

from tests.simulation.invariants import STORE, Invariants, pointed


def leaks(watch: Invariants, report: str) -> list[str]:
    """Keys of a report that nothing names after a clean-up that keeps the newest day, one
    generation of it and one version of every day."""
    objects = watch.bucket.objects
    days: dict[str, set[int]] = {}
    for key in objects:
        parts = key.split("/")
        if parts[1] == "reports" and parts[2] == report:
            days.setdefault(parts[3], set()).add(int(parts[4]))
    newest = max(days, default="")
    left = []
    for day, generations in days.items():
        gone = generations if day != newest else generations - {max(generations)}
        for number in gone:
            left += watch.bucket.below(f"{STORE}reports/{report}/{day}/{number}")
    for key in watch.bucket.below(f"{STORE}reports/{report}/{newest}"):
        if "/artifacts/" not in key or key in watch.named or _of_stage(watch, key):
            continue
        # Attempts at a run without a commit go with their generation.
        if watch.is_of_committed_run(key.removeprefix(STORE)):
            left.append(key)
    named = {name for pointer in watch.pointers.values() for name in pointed(pointer)}
    for key in watch.bucket.below(f"{STORE}results/{report}"):
        if key not in named and not key.endswith("/pointer.json"):
            left.append(key)
    return left


def _of_stage(watch: Invariants, key: str) -> bool:
    """Whether a record of a finished stage names the folder: it is kept as long as the record."""
    folder = key.removeprefix(STORE).rpartition("/")[0]
    stages = (k for k in watch.bucket.objects if "/stages/" in k)
    return any(folder.encode() in watch.bucket.objects[k].data for k in stages)
