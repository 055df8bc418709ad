"""Choose the engine of early runs: a small one, which starts in a second, where the report asks for
it and what it keeps is what Spark would have kept.

An application of Spark takes its ten seconds however little a run has to do. The final run, and
every other one that readers get a result of, stays the engine's that the day has; it reads what the
small one has kept as plain files. So nothing is kept by a key on such a day. Where that makes the
day dearer by estimate, or the small engine has too much to read, it is Spark's as ever. What the
query does above all that is kept is for the final run, and may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec

from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.engines import EngineSpec, engine_spec
from forerun.include.runs.exact_engines import why_not_as_planned, why_not_on_day
from forerun.include.sources.delivery import read_pin
from forerun.include.state.inherited import read_inherited
from forerun.include.state.records import Pin
from forerun.planner.contract import FamilyInput, Plan
from forerun.planner.request import PlanRequest, Settings
from forerun.planner.result import PlanResult

DEARER = "it is cheaper without, by estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyEngine:
    """The engine that does the early runs of a day that give no result: None where it is that of
    the final run, and ``why`` it is although the report names another one."""

    engine: EngineSpec | None = None
    why: str = ""

    def settings(self, settings: Settings) -> Settings:
        """Return how a day is planned in which this engine takes part."""
        if self.engine is None:
            return settings
        return replace(
            settings,
            prices=replace(settings.prices, buckets=False),
            early_prices=replace(self.engine.apart, buckets=False),
        )

    def does(self, request: PlanRequest) -> bool:
        """Return whether it does the run that is asked for."""
        return self.engine is not None and request.current in request.early_runs


def early_engine_of(day: Day, run: int, pins: Mapping[str, Pin]) -> EarlyEngine:
    """Choose the engine of a day's early runs over these pins, from a run on; where later days go
    on from what the final run keeps, of theirs."""
    policy = day.spec.policy
    named = policy.early_engine
    if not named or (day.is_final(run) and not policy.inherit_days):
        return EarlyEngine()
    engine = engine_spec(named)
    if find_spec(engine.package) is None:
        return EarlyEngine(why=f"{engine.package} is not installed where runs are planned")
    if reasons := why_not_on_day(day, pins):
        return EarlyEngine(why="; ".join(reasons))
    return EarlyEngine(engine=engine)


def why_not_as_early(early: EarlyEngine, day: Day, found: PlanResult) -> str:
    """Say why the early engine is not to execute the run that was planned for it, by what it would
    keep and how much it reads; "" if it is."""
    if early.engine is None:
        return ""
    reasons = why_not_as_planned(early.engine, day, found.plan, sum(_bytes_read(day, found.plan)))
    if early.engine.why_not_exact is not None:
        for relation in found.kept_now:
            reasons += early.engine.why_not_exact(relation, found.request.sources)
    return "; ".join(dict.fromkeys(reasons))


def _bytes_read(day: Day, plan: Plan) -> Iterator[int]:
    """Yield the bytes of what the run of a plan reads, of sources and of what is kept."""
    manifest = read_manifest(day.store, day.at, plan.current)
    inputs = {item for stage in plan.run.stages for item in stage.inputs}
    families = {item.family for item in inputs if isinstance(item, FamilyInput)}
    own = (one for commit in day.chain(tip=manifest.base) for one in commit.artifacts)
    for part in (*read_inherited(day.store, day.at).partitions, *own):
        if part.family in families:
            yield part.bytes
    for item in inputs:
        if isinstance(item, FamilyInput):
            continue
        source = manifest.source(item.source)
        yield read_pin(day.store, source.pin).bytes
        if item.version == "delta" and source.base_pin:
            yield sum(file.size for file in source.withdrawn)
            yield -read_pin(day.store, source.base_pin).bytes
