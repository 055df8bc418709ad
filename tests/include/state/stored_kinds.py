"""Every kind of document that the store holds, by the name of its golden file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forerun.include.runs.fitted_prices import FittedPrices
from forerun.include.state import (
    check_figures,
    cluster_report,
    failure,
    fence,
    given_up,
    inherited,
    ledger_entry,
    pointers,
    records,
    shadow_day,
)
from forerun.include.state.records import decode, encode
from forerun.planner.contract import Plan, decode_plan, encode_plan
from forerun.planner.contract.lifted_v1 import LiftedQuery, decode_lifted, encode_lifted

GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
RECORDS: dict[str, type] = {
    "CheckFigures": check_figures.CheckFigures,
    "Claim": records.Claim,
    "ClusterReport": cluster_report.ClusterReport,
    "Failure": failure.Failure,
    "Fence": fence.Fence,
    "FittedPrices": FittedPrices,
    "GenerationRecord": records.GenerationRecord,
    "GivenUp": given_up.GivenUp,
    "Inherited": inherited.Inherited,
    "LedgerEntry": ledger_entry.LedgerEntry,
    "Manifest": records.Manifest,
    "Pin": records.Pin,
    "Pointer": pointers.Pointer,
    "RunCommit": records.RunCommit,
    "ShadowDay": shadow_day.ShadowDay,
    "StageRecord": records.StageRecord,
    "Unpublished": pointers.Unpublished,
}
CONTRACTS: dict[str, tuple[type, Callable[[bytes], object], Callable[..., bytes]]] = {
    "LiftedQuery": (LiftedQuery, decode_lifted, encode_lifted),
    "Plan": (Plan, decode_plan, encode_plan),
}
"""Documents of the plan contract, each with what reads and what writes it."""
KINDS = (*RECORDS, *CONTRACTS)


def read(name: str, data: bytes) -> object:
    """Decode a document of this kind."""
    if name in CONTRACTS:
        return CONTRACTS[name][1](data)
    return decode(RECORDS[name], data, name)


def written(document: object) -> bytes:
    """Encode a document."""
    for kind, _, write in CONTRACTS.values():
        if isinstance(document, kind):
            return write(document)
    return encode(document)


def goldens() -> list[tuple[str, str, bytes]]:
    """(form, kind, bytes) of every golden file. Form ``v1`` has no checksum, ``v2`` has one."""
    files = sorted(GOLDENS.glob("v*/*.json"))
    return [(file.parent.name, file.stem, file.read_bytes()) for file in files]
