"""The value that everything which is done in one run shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from forerun.include.machine.wall_clock import utc_now
from forerun.include.stores.store import Store
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt at one run. ``attempt`` names the folders that it alone writes; ``clock`` dates
    what it commits."""

    engine: Engine
    store: Store
    inputs: Inputs
    attempt: str
    clock: Callable[[], datetime] = utc_now

    def label(self, stage: str) -> str:
        """The name under which the engine counts a stage; a session may see many days."""
        at = f"{self.store.root}/{self.inputs.at.folder}"
        return f"{at}/{self.inputs.plan.run.index}-{self.attempt}/{stage}"
