"""The query that computes several days at once, version 1.

Each day keeps a plan of its own, under which it is committed. This document says that one query
does the work of them all: the plan of that query, whose result has the number of the day as its
last column (``__day``), and the keys of the plans in the order of their numbers.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass

from forerun.planner.contract.codec import from_json, to_json
from forerun.planner.contract.plan_v1 import Plan, ResultOutput, SourceInput, Stage
from forerun.planner.contract.seal import naming_writer, seal, shown, unseal
from forerun.planner.errors import ContractError

LIFTED_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedQuery:
    """The query for several days. ``daily`` names the sources that have other rows on each day, and
    with them the number of the day as a column; of all others every day has pinned the same files.
    ``days`` are the keys of the plans: rows with the number ``n`` are the result of ``days[n]``."""

    version: int
    plan: Plan
    daily: tuple[str, ...]
    days: tuple[str, ...]

    @property
    def stage(self) -> Stage:
        """The one stage of the query."""
        (stage,) = self.plan.run.stages
        return stage


def encode_lifted(query: LiftedQuery) -> bytes:
    """Return canonical JSON with a checksum."""
    return seal(to_json(query))


def decode_lifted(data: bytes) -> LiftedQuery:
    """Read the query for several days. Raises :class:`forerun.planner.errors.ContractError` for
    anything that this version does not know."""
    with naming_writer(data):
        return _decoded(data)


def _decoded(data: bytes) -> LiftedQuery:
    raw, _ = unseal(data, "the lifted query")
    version = raw.get("version")
    if type(version) is not int or version != LIFTED_VERSION:
        raise ContractError(
            f"the lifted query has version {shown(version)}, this program reads {LIFTED_VERSION}",
            hint="Run the same Forerun version that planned it, or plan the days again.",
        )
    query = typing.cast(LiftedQuery, from_json(LiftedQuery, raw, "lifted query"))
    plan = query.plan
    stages = plan.run.stages if 0 < plan.current <= len(plan.runs) else ()
    if len(stages) != 1 or not _reads_sources(stages[0]):
        raise ContractError(
            "the lifted query is not one stage that gives a result of the sources",
            hint="Plan the days again.",
        )
    return query


def _reads_sources(stage: Stage) -> bool:
    snapshots = all(isinstance(i, SourceInput) and i.version == "snapshot" for i in stage.inputs)
    return isinstance(stage.output, ResultOutput) and snapshots
