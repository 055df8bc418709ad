"""Every kind of document that the store holds, by the name of its golden file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from include.days.fitted_prices import FittedPrices
from include.state import cluster_report, given_up, ledger_entry, pointers, records, shadow_day
from include.state.records import decode, encode
from planner.contract import Plan, decode_plan, encode_plan

GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
RECORDS: dict[str, type] = {
    "Claim": records.Claim,
    "ClusterReport": cluster_report.ClusterReport,
    "Fence": records.Fence,
    "FittedPrices": FittedPrices,
    "GenerationRecord": records.GenerationRecord,
    "GivenUp": given_up.GivenUp,
    "LedgerEntry": ledger_entry.LedgerEntry,
    "Manifest": records.Manifest,
    "Offer": records.BorrowableViews,
    "Pin": records.Pin,
    "Pointer": pointers.Pointer,
    "RunCommit": records.RunCommit,
    "ShadowDay": shadow_day.ShadowDay,
    "StageRecord": records.StageRecord,
    "Unpublished": pointers.Unpublished,
}
KINDS = (*RECORDS, "Plan")


def read(name: str, data: bytes) -> object:
    """Decode a document of this kind."""
    return decode_plan(data) if name == "Plan" else decode(RECORDS[name], data, name)


def written(document: object) -> bytes:
    """Encode a document."""
    write: Callable[..., bytes] = encode_plan if isinstance(document, Plan) else encode
    return write(document)


def goldens() -> list[tuple[str, str, bytes]]:
    """(form, kind, bytes) of every golden file. Form ``v1`` has no checksum, ``v2`` has one."""
    files = sorted(GOLDENS.glob("v*/*.json"))
    return [(file.parent.name, file.stem, file.read_bytes()) for file in files]
