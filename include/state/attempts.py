"""The tokens of attempts: no two are alike, and each says how often its run had been begun.

What an attempt writes is in folders of its token, so that none mixes with what another one writes.
"""

from __future__ import annotations

import re
import uuid

_TOKEN = re.compile(r"t([1-9][0-9]{0,5})-[0-9a-f]{8}")


def attempt_token(tries: int) -> str:
    """Return the token of a new attempt, which is the ``tries``-th one at its run, from 1."""
    return f"t{tries}-{uuid.uuid4().hex[:8]}"


def tries_of(attempt: str) -> int:
    """Return how often a run had been begun with the attempt of this token; 1 for a token that
    somebody else made."""
    found = _TOKEN.fullmatch(attempt)
    return int(found[1]) if found else 1
