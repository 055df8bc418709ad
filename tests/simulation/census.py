"""How often what schedules are to be about does happen in them.

``python -m tests.simulation 0:3000 --count`` prints the table of docs/how/simulation.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.simulation.clock import DAY
from tests.simulation.invariants import READERS_FIND
from tests.simulation.machine import Played
from tests.simulation.scheduler import Event, Outcome, Steps

_OLDER = "an older generation is refused"
WANTED = (
    "clocks apart by more than a day",
    *(outcome.value for outcome in Outcome if outcome is not Outcome.DONE),
    "a call that takes an hour or more",
    "somebody is held while others go on",
    "a task is tried again",
    "generation 2 of a day is opened",
    "generation 3 of a day is opened",
    "a race for a commit is lost",
    "a race for a pin or a manifest is lost",
    "a pointer, a fence or a table has moved before it could be replaced",
    "an early result is published",
    "an early result comes too late",
    "a result is published",
    "a table is written",
    "a table is replaced",
    "there is no result to publish",
    _OLDER,
    "a result is published although its source is not complete",
    "a fence closes generations",
    "a run finds its generation closed",
    "a plan finds its generation closed",
    "a publication finds its generation closed",
    "a run is asked for after a later one",
    "state is deleted",
    "a version is deleted",
    "a pinned file has changed",
    "a record with a bit turned is noticed",
    "lost or changed state is noticed",
    "a stage fails on what is gone",
)
"""What schedules must have, or they prove nothing of it."""

_ENDED = {
    ("plan", "day-closed"): "a run is asked for after a later one",
    ("plan", "generation-closed"): "a plan finds its generation closed",
    ("run", "generation-closed"): "a run finds its generation closed",
    ("publish", "generation-closed"): "a publication finds its generation closed",
    ("publish", "overtaken"): "an early result comes too late",
    ("plan", "source-changed"): "a pinned file has changed",
    ("run", "source-changed"): "a pinned file has changed",
    ("run", "stage"): "a stage fails on what is gone",
}
_BY_DAMAGE = {
    "contract": "a record with a bit turned is noticed",
    "artifact": "lost or changed state is noticed",
}
_DELETED = {"results": ("a version is deleted",), "reports": ("state is deleted",)}


def table(found: Counter[str], schedules: int) -> str:
    """The census as a table in Markdown."""
    rows = [f"| {event} | {found[event]:,} | {found[f'times {event}']:,} |" for event in WANTED]
    head = f"| of {schedules:,} schedules | in how many | how often |"
    return "\n".join([head, "| --- | --: | --: |", *rows])


def census(schedules: Iterable[Played]) -> Counter[str]:
    """In how many schedules each event happens; ``times <event>``: how often in all."""
    found: Counter[str] = Counter()
    for played in schedules:
        times = Counter(events(played))
        found.update(times.keys())
        found.update({f"times {event}": number for event, number in times.items()})
    return found


def events(played: Played) -> Iterator[str]:
    """What happens in a schedule."""
    scenario = played.scenario
    clocks = [scenario.store_skew, *(skew for _, _, skew in scenario.bodies)]
    if max(clocks) - min(clocks) > DAY:
        yield "clocks apart by more than a day"
    for deviation in played.deviations:
        if isinstance(deviation.value, Outcome):
            yield deviation.value.value
        elif isinstance(deviation.value, Steps):
            yield "somebody is held while others go on"
        elif deviation.value >= 3600.0:
            yield "a call that takes an hour or more"
    for event in played.trace:
        yield from _of_task(event.key) if event.op == "---" else _of_call(event)


def _of_task(text: str) -> Iterator[str]:
    """What a line says of a task that begins or has ended, or of what readers find from now on."""
    task, _, code = text.partition(": ")
    code = code.partition(":")[0]
    if task == READERS_FIND:
        yield "an early result is published" if "early" in code else "a result is published"
        if "incomplete" in code:
            yield "a result is published although its source is not complete"
    elif code == "not-published":
        yield _OLDER if text.endswith("is older") else "there is no result to publish"
    elif code:
        name = task.split()[0]
        if found := _ENDED.get((name, code)) or _BY_DAMAGE.get(code):
            yield found
    elif ", try " in task:
        yield "a task is tried again"


def _of_call(event: Event) -> Iterator[str]:
    parts = event.key.split("/")
    if event.op in ("put_if_absent", "put_if_match"):
        yield from _lost(event) if event.result == "no" else _put(event)
    elif event.op == "delete":
        yield from _DELETED.get(parts[1], ())


def _lost(event: Event) -> Iterator[str]:
    if "/commits/" in event.key:
        yield "a race for a commit is lost"
    elif "/pins/" in event.key or "/manifests/" in event.key:
        yield "a race for a pin or a manifest is lost"
    elif event.op == "put_if_match":
        yield "a pointer, a fence or a table has moved before it could be replaced"


def _put(event: Event) -> Iterator[str]:
    *_, folder, name = event.key.split("/")
    if name == "generation.json" and folder in ("2", "3"):
        yield f"generation {folder} of a day is opened"
    elif event.key.startswith("warehouse/"):
        made = event.op == "put_if_absent"
        yield "a table is written" if made else "a table is replaced"
    elif event.key.startswith("store/fences/"):
        yield "a fence closes generations"
