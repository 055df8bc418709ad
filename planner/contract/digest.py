"""Digests of contract values: what tells whether two of them say the same."""

from __future__ import annotations

import hashlib
import json

from forerun.planner.contract.codec import to_json


def digest_of(*parts: object) -> str:
    """The SHA-256 of values of the contract, as canonical JSON. Records count with their fields,
    whatever their classes print of themselves."""
    said = json.dumps(to_json(parts, tagged=True), sort_keys=True, allow_nan=False)
    return hashlib.sha256(said.encode()).hexdigest()
