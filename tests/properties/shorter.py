"""Makes a text shorter for as long as what is wrong with it stays wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

_PART = re.compile(r"\s+|'[^']*'|\"[^\"]*\"|`[^`]*`|[\w.]+|.", re.DOTALL)
_MOST = 400
"""So many shorter texts are tried."""


def shorter(text: str, still: Callable[[str], bool]) -> str:
    """Leave out words and signs in ever smaller pieces while ``still`` says that the text is wrong
    in the same way, at most :data:`_MOST` times."""
    parts, tried = _PART.findall(text), 0
    size = max(1, len(parts) // 2)
    while size and tried < _MOST:
        at, less = 0, False
        while at < len(parts) and tried < _MOST:
            rest = parts[:at] + parts[at + size :]
            tried += 1
            if rest and still("".join(rest)):
                parts, less = rest, True
            else:
                at += size
        size = size if less and size == 1 else size // 2
    return "".join(parts)
