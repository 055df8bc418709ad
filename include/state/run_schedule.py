"""The record of a day's schedule: when its runs are, as it was decided last."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledRun:
    """A slot that a day uses: the number of the ``run``, when it starts, what compute costs then,
    and which fraction of each growing source is forecast to be there, by name."""

    run: int
    at: str
    weight: float
    arrived: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSchedule:
    """The times of a generation's runs: the ``number``-th decision, made at ``decided_at`` before
    slot ``before``. ``runs`` are those that are there, the ones of earlier slots as they were, the
    final run last; a slot that is not named has none. ``forced``: the early runs are there for the
    deadline, whatever they cost. ``missing_s``: by how many seconds it is forecast to be missed all
    the same. ``complete``: all sources were complete then. ``why``: a sentence for people."""

    number: int
    decided_at: str
    before: int
    runs: tuple[ScheduledRun, ...]
    forced: bool
    missing_s: float
    complete: bool
    why: str
