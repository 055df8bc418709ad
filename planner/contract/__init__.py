"""The data that cross process borders: the plan as versioned JSON. All that spark_jobs knows of
us."""

from __future__ import annotations

from forerun.planner.contract.codec import decode_plan, encode_plan
from forerun.planner.contract.plan_v1 import (
    CONTRACT_VERSION,
    ArtifactOutput,
    ColumnSpec,
    CommonSubplan,
    Family,
    FamilyInput,
    NamedTable,
    NotIncremental,
    Plan,
    Question,
    ResultOutput,
    Run,
    SourceInput,
    SourceTable,
    Stage,
)

__all__ = [
    "CONTRACT_VERSION",
    "ArtifactOutput",
    "ColumnSpec",
    "CommonSubplan",
    "Family",
    "FamilyInput",
    "NamedTable",
    "NotIncremental",
    "Plan",
    "Question",
    "ResultOutput",
    "Run",
    "SourceInput",
    "SourceTable",
    "Stage",
    "decode_plan",
    "encode_plan",
]
