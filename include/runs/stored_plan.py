"""The stored plan of a run: all that an application which does the run is told."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.include.state.layout import Generation, generation_of
from forerun.include.stores.opening import open_store, split_uri
from forerun.include.stores.store import Store
from forerun.planner.contract import ArtifactOutput, FamilyInput, Plan, decode_plan
from forerun.planner.errors import ContractError


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan, the key that it is stored under, and the generation and store that this key is of."""

    store: Store
    at: Generation
    key: str
    plan: Plan

    @classmethod
    def read(cls, uri: str) -> StoredPlan:
        """Read the plan that a prepared run has named by its URI, to execute it.

        Raises :class:`ContractError` for a plan that cannot be: it is damaged, or a former version
        made it, which read what other reports kept, or computed for it."""
        root, key = split_uri(uri)
        store = open_store(root)
        plan = decode_plan(store.get(key))
        if plan.shared:
            raise ContractError(
                f"{key} reads what report {plan.shared[0].report} kept, as plans of a former "
                "version did",
                hint="Plan the run again (in Airflow this happens by itself).",
            )
        if common := [one.view for stage in plan.run.stages for one in stage.common]:
            raise ContractError(
                f"{key} reads the common sub-plan {common[0]}, as plans of a former version did",
                hint="Plan the run again (in Airflow this happens by itself).",
            )
        return cls(store, generation_of(key), key, plan)

    @property
    def families(self) -> frozenset[str]:
        """Return the families that the plan's run reads, or adds a partition to."""
        stages = self.plan.run.stages
        read = {one.family for s in stages for one in s.inputs if isinstance(one, FamilyInput)}
        return frozenset(
            read | {s.output.family for s in stages if isinstance(s.output, ArtifactOutput)}
        )
