"""The stored plan of a run: all that an application which does the run is told."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.include.state.layout import Generation, generation_of
from forerun.include.state.opening import open_store, split_uri
from forerun.include.state.store import Store
from forerun.planner.contract import Plan, decode_plan


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan, the key that it is stored under, and the generation and store that this key is of."""

    store: Store
    at: Generation
    key: str
    plan: Plan

    @classmethod
    def read(cls, uri: str) -> StoredPlan:
        """Read the plan that a prepared run has named by its URI."""
        root, key = split_uri(uri)
        store = open_store(root)
        return cls(store, generation_of(key), key, decode_plan(store.get(key)))
