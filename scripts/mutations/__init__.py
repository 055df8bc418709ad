"""The mutations that the suite must notice, one list for each area."""

from __future__ import annotations

from scripts.mutations.aggregates import AGGREGATES
from scripts.mutations.declarations import DECLARATIONS
from scripts.mutations.early import EARLY
from scripts.mutations.front import FRONT
from scripts.mutations.inheriting import INHERITING
from scripts.mutations.machine import MACHINE
from scripts.mutations.methods import METHODS
from scripts.mutations.planner import PLANNER
from scripts.mutations.repairs import REPAIRS
from scripts.mutations.rules import RULES
from scripts.mutations.sources import SOURCES
from scripts.mutations.stages import STAGES
from scripts.mutations.store import STORE
from scripts.mutations.tables import TABLES

MUTATIONS = (
    *DECLARATIONS,
    *FRONT,
    *RULES,
    *METHODS,
    *AGGREGATES,
    *PLANNER,
    *STAGES,
    *STORE,
    *SOURCES,
    *TABLES,
    *REPAIRS,
    *INHERITING,
    *EARLY,
    *MACHINE,
)
"""Every mutation, in the order in which they are tried."""
